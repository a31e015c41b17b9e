package cassandra

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"assay/workload"
)

// leaseTable holds the lease, its only row, beside the mark. It is changed by
// lightweight transactions alone, of which one of several at the same time
// succeeds (Cassandra documentation, "Lightweight transactions"), and it expires
// by the time to live of its cells: an expired lease is not there any more.
const leaseTable = "assay_lease"

// leaseTries bounds how often a lightweight transaction is tried that ended
// without an answer, or met another's.
const leaseTries = 10

// leaseThere reports whether there is a table for the lease.
func (k *keyspace) leaseThere(ctx context.Context) (there bool, err error) {
	var name string
	err = k.rowsOf(ctx, "look for a lease", "SELECT table_name FROM system_schema.tables WHERE keyspace_name = ? AND table_name = ?",
		[]any{k.name, leaseTable}, []any{&name}, func() { there = true })
	return there, err
}

// Lease reads the row, after all that was begun before has ended (SERIAL).
func (k *keyspace) Lease(ctx context.Context) (*workload.Lease, error) {
	if there, err := k.leaseThere(ctx); err != nil || !there {
		return nil, err
	}
	var token, holder string
	var since time.Time
	var seconds int
	err := k.repeat(ctx, func() error {
		return k.session.Query(fmt.Sprintf("SELECT owner, holder, since, TTL(owner) FROM %s WHERE id = 1", k.full(leaseTable))).
			Consistency(gocql.Serial).ScanContext(ctx, &token, &holder, &since, &seconds)
	})
	switch {
	case err == gocql.ErrNotFound:
		return nil, nil
	case err != nil:
		return nil, failed("look for a lease", err)
	}
	// A row that is there has not expired; its last second counts as one.
	return workload.NewLease(token, []byte(holder), since, time.Duration(max(seconds, 1))*time.Second), nil
}

// admit gives *workload.HeldError if another holds the lease.
func (k *keyspace) admit(ctx context.Context) error {
	l, err := k.Lease(ctx)
	if err == nil && l.Excludes(k.taken.Holder().Token) {
		err = k.held(l)
	}
	return err
}

func (k *keyspace) held(l *workload.Lease) error {
	return &workload.HeldError{Name: "keyspace " + k.name, Lease: *l}
}

// repeat does a lightweight transaction, again if its end is not known: each has
// the same effect however often it is done.
func (k *keyspace) repeat(ctx context.Context, do func() error) error {
	for try := 1; ; try++ {
		err := do()
		if class := classOf(err); class != classWriteTimeout && class != classReadTimeout || try == leaseTries {
			return err
		}
		if stopped := pause(ctx, time.Duration(try)*20*time.Millisecond); stopped != nil {
			return stopped
		}
	}
}

// conditional does a lightweight transaction and reports whether it was applied
// and, if not, whose token the row has; empty if there is no row.
func (k *keyspace) conditional(ctx context.Context, statement string, values ...any) (applied bool, token string, err error) {
	err = k.repeat(ctx, func() (err error) {
		row := map[string]any{}
		applied, err = k.session.Query(statement, values...).Consistency(gocql.Quorum).SerialConsistency(gocql.Serial).MapScanCASContext(ctx, row)
		token, _ = row["owner"].(string)
		return err
	})
	return applied, token, err
}

// secondsOf is a time to live, at least one second.
func secondsOf(ttl time.Duration) int {
	return int(max(ttl+time.Second-1, time.Second) / time.Second)
}

// insertLease makes the row if there is none.
func (k *keyspace) insertLease(ctx context.Context, holder workload.Holder, ttl time.Duration) (applied bool, token string, err error) {
	text, err := json.Marshal(holder)
	if err != nil {
		return false, "", err
	}
	return k.conditional(ctx, fmt.Sprintf("INSERT INTO %s (id, owner, holder, since) VALUES (1, ?, ?, toTimestamp(now())) IF NOT EXISTS USING TTL %d",
		k.full(leaseTable), secondsOf(ttl)), holder.Token, string(text))
}

// replaceLease rewrites the row of this token, so that all of it lives as long.
func (k *keyspace) replaceLease(ctx context.Context, from, to, holder string, since time.Time, ttl time.Duration) (applied bool, token string, err error) {
	return k.conditional(ctx, fmt.Sprintf("UPDATE %s USING TTL %d SET owner = ?, holder = ?, since = ? WHERE id = 1 IF owner = ?",
		k.full(leaseTable), secondsOf(ttl)), to, holder, since, from)
}

// TakeLease makes the row if there is none, or replaces that of the same holder or
// of one that is gone.
func (k *keyspace) TakeLease(ctx context.Context, holder workload.Holder, ttl time.Duration, gone string) error {
	if _, err := k.mark(ctx); err != nil {
		return err
	}
	text, err := json.Marshal(holder)
	if err != nil {
		return failed("take the lease", err)
	}
	if err := k.makeLeaseTable(ctx); err != nil {
		return err
	}
	for range leaseTries {
		applied, token, err := k.insertLease(ctx, holder, ttl)
		if err == nil && !applied && (token == holder.Token || token == gone) {
			applied, _, err = k.replaceLease(ctx, token, holder.Token, string(text), time.Now(), ttl)
		}
		if err != nil {
			return failed("take the lease", err)
		}
		if applied {
			k.taken.Set(holder)
			return nil
		}
		if l, err := k.Lease(ctx); err != nil || l.Excludes(holder.Token) && l.Token != gone {
			if err == nil {
				err = k.held(l)
			}
			return err
		}
	}
	return failed("take the lease", fmt.Errorf("it changed hands %d times meanwhile", leaseTries))
}

// makeLeaseTable makes the keyspace and the table where they are missing.
func (k *keyspace) makeLeaseTable(ctx context.Context) error {
	there, err := k.leaseThere(ctx)
	if err != nil || there {
		return err
	}
	marked, err := k.mark(ctx)
	if err != nil {
		return err
	}
	if marked == nil {
		if err := k.makeKeyspace(ctx); err != nil {
			return err
		}
	}
	if err := k.run(ctx, "make the lease's table", fmt.Sprintf(
		"CREATE TABLE IF NOT EXISTS %s (id int PRIMARY KEY, owner text, holder text, since timestamp)", k.full(leaseTable))); err != nil {
		return err
	}
	return k.agree(ctx)
}

// RenewLease rewrites the row with a new time to live, or, if it has expired, the
// one that this Store had taken.
func (k *keyspace) RenewLease(ctx context.Context, token string, ttl time.Duration) error {
	for range leaseTries {
		l, err := k.Lease(ctx)
		if err != nil {
			return err
		}
		if l.Excludes(token) {
			return k.held(l)
		}
		var applied bool
		switch holder := k.taken.Holder(); {
		case l != nil:
			text, failure := json.Marshal(l.Holder)
			if failure != nil {
				return failed("renew the lease", failure)
			}
			applied, _, err = k.replaceLease(ctx, token, token, string(text), l.Since, ttl)
		case holder.Token != token:
			return &workload.NoSchemaError{Name: "keyspace " + k.name}
		default:
			if there, err := k.leaseThere(ctx); err != nil || !there {
				return errorsOr(err, &workload.NoSchemaError{Name: "keyspace " + k.name})
			}
			applied, _, err = k.insertLease(ctx, holder, ttl)
		}
		if err != nil {
			return failed("renew the lease", err)
		}
		if applied {
			return nil
		}
	}
	return failed("renew the lease", fmt.Errorf("it changed hands %d times meanwhile", leaseTries))
}

// errorsOr is err, or the other where there is none.
func errorsOr(err, other error) error {
	if err != nil {
		return err
	}
	return other
}

// ReleaseLease deletes the row.
func (k *keyspace) ReleaseLease(ctx context.Context, token string) error {
	if k.taken.Holder().Token == token {
		k.taken.Set(workload.Holder{}) // it is not to be renewed any more
	}
	there, err := k.leaseThere(ctx)
	if err != nil || !there {
		return err
	}
	if _, _, err := k.conditional(ctx, fmt.Sprintf("DELETE FROM %s WHERE id = 1 IF owner = ?", k.full(leaseTable)), token); err != nil {
		return failed("release the lease", err)
	}
	return nil
}
