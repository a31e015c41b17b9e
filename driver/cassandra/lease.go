package cassandra

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"assay/internal/wait"
	"assay/store"
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
func (k *database) leaseThere(ctx context.Context) (there bool, err error) {
	var name string
	err = k.rowsOf(ctx, "look for a lease", "SELECT table_name FROM system_schema.tables WHERE keyspace_name = ? AND table_name = ?",
		[]any{k.keyspace, leaseTable}, []any{&name}, func() { there = true })
	return there, err
}

// Lease reads the row, after all that was begun before has ended (SERIAL).
func (k *database) Lease(ctx context.Context) (*store.Lease, error) {
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
	case errors.Is(err, gocql.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, failed("look for a lease", err)
	}
	// A row that is there has not expired; its last second counts as one.
	return store.NewLease(token, []byte(holder), since, time.Duration(max(seconds, 1))*time.Second), nil
}

// admit gives *store.HeldError if another holds the lease.
func (k *database) admit(ctx context.Context) error {
	l, err := k.Lease(ctx)
	if err != nil {
		return err
	}
	return l.Admit(k.title(), k.taken.Holder().Token)
}

// title is what the keyspace is called in errors.
func (k *database) title() string { return "keyspace " + k.keyspace }

// schemaLag bounds how long a table that one node has made may be missing at
// another that answers. Nodes agree on a schema within a second or so, and a
// statement may go to any of them before.
const schemaLag = 10 * time.Second

// repeat does a lightweight transaction on the lease's table, which is known to
// be there. It does it again if its end is not known, since each has the same
// effect however often it is done, and if the node that it went to does not have
// the table yet.
func (k *database) repeat(ctx context.Context, do func() error) error {
	began := time.Now()
	for try := 1; ; try++ {
		err := do()
		switch class := classOf(err); {
		case isUnknownTable(err) && time.Since(began) < schemaLag:
		case (class == classWriteTimeout || class == classReadTimeout) && try < leaseTries:
		default:
			return err
		}
		if stopped := wait.Pause(ctx, time.Duration(min(try, leaseTries))*20*time.Millisecond); stopped != nil {
			return stopped
		}
	}
}

// conditional does a lightweight transaction and reports whether it was applied
// and, if not, which owner the row has; empty if there is no row.
func (k *database) conditional(ctx context.Context, statement string, values ...any) (applied bool, owner string, err error) {
	err = k.repeat(ctx, func() (err error) {
		row := map[string]any{}
		applied, err = k.session.Query(statement, values...).Consistency(gocql.Quorum).SerialConsistency(gocql.Serial).MapScanCASContext(ctx, row)
		owner, _ = row["owner"].(string)
		return err
	})
	return applied, owner, err
}

// secondsOf is a time to live, at least one second.
func secondsOf(ttl time.Duration) int {
	return int(max(ttl+time.Second-1, time.Second) / time.Second)
}

// giveLease writes the whole row for a holder, if it has this owner now (nil for
// none), so that all of it lives as long; since is zero for now. It is an UPDATE in
// all cases, since an INSERT would make a row that outlives its columns.
func (k *database) giveLease(ctx context.Context, from any, holder store.Holder, since time.Time, ttl time.Duration) (applied bool, owner string, err error) {
	text, err := json.Marshal(holder)
	if err != nil {
		return false, "", err
	}
	moment := "toTimestamp(now())" // the coordinator's clock
	if !since.IsZero() {
		moment = strconv.FormatInt(since.UnixMilli(), 10)
	}
	return k.conditional(ctx, fmt.Sprintf("UPDATE %s USING TTL %d SET owner = ?, holder = ?, since = %s WHERE id = 1 IF owner = ?",
		k.full(leaseTable), secondsOf(ttl), moment), holder.Token, string(text), from)
}

// TakeLease makes the row if there is none, or replaces that of the same holder or
// of one that is gone.
func (k *database) TakeLease(ctx context.Context, holder store.Holder, ttl time.Duration, gone string) error {
	if _, err := k.Marker(ctx); err != nil {
		return err
	}
	if err := k.makeLeaseTable(ctx); err != nil {
		return err
	}
	for range leaseTries {
		applied, owner, err := k.giveLease(ctx, nil, holder, time.Time{}, ttl)
		if err == nil && !applied && (owner == holder.Token || owner == gone) {
			applied, _, err = k.giveLease(ctx, owner, holder, time.Time{}, ttl)
		}
		if err != nil {
			return failed("take the lease", err)
		}
		if applied {
			k.taken.Set(holder)
			return nil
		}
		l, err := k.Lease(ctx)
		if err == nil {
			err = l.MayTake(k.title(), holder, gone)
		}
		if err != nil {
			return err
		}
	}
	return failed("take the lease", fmt.Errorf("it changed hands %d times meanwhile", leaseTries))
}

// makeLeaseTable makes the keyspace and the table where they are missing.
func (k *database) makeLeaseTable(ctx context.Context) error {
	there, err := k.leaseThere(ctx)
	if err != nil || there {
		return err
	}
	marked, err := k.Marker(ctx)
	if err != nil {
		return err
	}
	if marked == nil {
		if err := k.makeKeyspace(ctx); err != nil {
			return err
		}
		// Another may have made it just now, and the next statement may go to a node
		// that has not heard of it.
		if err := k.agree(ctx); err != nil {
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
func (k *database) RenewLease(ctx context.Context, token string, ttl time.Duration) error {
	for range leaseTries {
		l, err := k.Lease(ctx)
		if err == nil {
			err = l.Admit(k.title(), token)
		}
		if err != nil {
			return err
		}
		var applied bool
		switch holder := k.taken.Holder(); {
		case l != nil:
			applied, _, err = k.giveLease(ctx, token, l.Holder, l.Since, ttl)
		case holder.Token != token:
			return &store.NoSchemaError{Name: k.title()}
		default:
			there, unknown := k.leaseThere(ctx)
			if unknown != nil {
				return unknown
			}
			if !there {
				return &store.NoSchemaError{Name: k.title()}
			}
			applied, _, err = k.giveLease(ctx, nil, holder, time.Time{}, ttl)
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

// ReleaseLease deletes the row.
func (k *database) ReleaseLease(ctx context.Context, token string) error {
	if k.taken.Holder().Token == token {
		k.taken.Set(store.Holder{}) // it is not to be renewed any more
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
