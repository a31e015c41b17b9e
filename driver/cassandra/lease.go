package cassandra

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"assay/driver/ownership"
	"assay/internal/wait"
	"assay/store"
)

// leaseTable has the lease as its only row. Only lightweight transactions change it; of concurrent
// ones one succeeds (Cassandra documentation, "Lightweight transactions"). It expires by its cells'
// time to live, and is then gone.
const leaseTable = "assay_lease"

// leaseTries bounds the attempts of a lightweight transaction that got no answer or met another.
const leaseTries = 10

func (k *database) leaseThere(ctx context.Context) (there bool, err error) {
	var name string
	err = k.rowsOf(ctx, "look for a lease", "SELECT table_name FROM system_schema.tables WHERE keyspace_name = ? AND table_name = ?",
		[]any{k.keyspace, leaseTable}, []any{&name}, func() { there = true })
	return there, err
}

// ReadLease implements ownership.Place by a SERIAL read, after all earlier changes have ended. If
// this database's own lease is gone, it has expired.
func (k *database) ReadLease(ctx context.Context, _ ownership.Direct) (*ownership.Row, error) {
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
	case errors.Is(err, gocql.ErrNotFound) && k.Taken().Token != "":
		return &ownership.Row{Lease: store.Lease{Holder: k.Taken()}, End: expired}, nil
	case errors.Is(err, gocql.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, failed("look for a lease", err)
	}
	// A row that is there has not expired; its last second counts as one.
	return &ownership.Row{Lease: *store.NewLease(token, []byte(holder), since, time.Duration(max(seconds, 1))*time.Second)}, nil
}

const expired = -1

// schemaLag bounds how long a new table may be missing at another node. Nodes agree within a second
// or so, and a statement may go to any of them before.
const schemaLag = 10 * time.Second

// repeat does a lightweight transaction on the lease's table. It repeats it if the end is not
// known, since it is idempotent, or if the node does not have the table yet.
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

// secondsOf is a time to live of at least one second.
func secondsOf(ttl time.Duration) int {
	return int(max(ttl+time.Second-1, time.Second) / time.Second)
}

// WriteLease implements ownership.Place by a lightweight transaction. It writes the whole row, so
// that all columns expire together. It always uses UPDATE: an INSERT would make a row that outlives
// its columns.
func (k *database) WriteLease(ctx context.Context, _ ownership.Direct, was *ownership.Row, is *store.Lease) (applied bool, err error) {
	var owner any // null if there is no row
	if was != nil && was.End != expired {
		owner = was.Token
	}
	statement, values := fmt.Sprintf("DELETE FROM %s WHERE id = 1 IF owner = ?", k.full(leaseTable)), []any{owner}
	switch {
	case is == nil && owner == nil:
		return true, nil
	case was == nil:
		if err := k.makeLeaseTable(ctx); err != nil {
			return false, err
		}
	}
	if is != nil {
		holder, err := json.Marshal(is.Holder)
		if err != nil {
			return false, failed("write the lease", err)
		}
		since := "toTimestamp(now())" // the coordinator's clock
		if !is.Since.IsZero() {
			since = strconv.FormatInt(is.Since.UnixMilli(), 10)
		}
		statement = fmt.Sprintf("UPDATE %s USING TTL %d SET owner = ?, holder = ?, since = %s WHERE id = 1 IF owner = ?", k.full(leaseTable), secondsOf(is.Remaining), since)
		values = []any{is.Token, string(holder), owner}
	}
	err = k.repeat(ctx, func() (err error) {
		applied, err = k.session.Query(statement, values...).Consistency(gocql.Quorum).SerialConsistency(gocql.Serial).MapScanCASContext(ctx, map[string]any{})
		return err
	})
	if err != nil {
		return false, failed("write the lease", err)
	}
	return applied, nil
}

func (k *database) makeLeaseTable(ctx context.Context) error {
	there, err := k.leaseThere(ctx)
	if err != nil || there {
		return err
	}
	marked, err := k.ReadMark(ctx, ownership.Direct{})
	if err != nil {
		return err
	}
	if marked == nil {
		if err := k.makeKeyspace(ctx); err != nil {
			return err
		}
		// Another run may have made it just now, and the next node may not know it yet.
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
