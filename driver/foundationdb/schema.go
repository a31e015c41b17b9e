//go:build foundationdb

package foundationdb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/apple/foundationdb/bindings/go/src/fdb"

	"assay/internal/wait"
	"assay/store"
)

func keyRange(begin, end []byte) fdb.KeyRange {
	return fdb.KeyRange{Begin: fdb.Key(begin), End: fdb.Key(end)}
}

type owned struct {
	inTransaction
	t  *transaction
	of *database
}

func (p *database) owned(t *transaction) owned {
	return owned{inTransaction{t.Transaction, t.Transaction}, t, p}
}

// ClearRange implements ordered.Transaction. Its cost does not depend on the range.
func (o owned) ClearRange(begin, end []byte) { o.write.ClearRange(keyRange(begin, end)) }

// Count implements ordered.Transaction, in transactions of its own.
func (o owned) Count(begin, end []byte) (int64, error) {
	rows, _, err := o.of.count(o.t.ctx, begin, end)
	return rows, err
}

func (p *database) Change(ctx context.Context, doing string, work func(owned) error) error {
	_, err := p.change(ctx, doing, func(t *transaction) error { return work(p.owned(t)) })
	return err
}

// Look implements ordered.Database, in a transaction of its own.
func (p *database) Look(ctx context.Context, doing string, work func(owned) error) error {
	t, err := begin(ctx, p.db)
	if err == nil {
		defer t.end()
		err = work(p.owned(t))
	}
	if err != nil {
		return explain(ctx, doing, err)
	}
	return nil
}

// versionsPerSecond is how fast the database's version advances (manual, "Developer Guide",
// "Versionstamps"). The version is the only clock that all clients share; leases expire by it.
// After a recovery it jumps by more than a lease's time. Every lease then counts as expired until
// its holder renews it some seconds later. Therefore renewals go on, and the mark is compared
// before the data are judged.
const versionsPerSecond = 1_000_000

// Ends implements ordered.Database. The end of a lease is a version.
func (p *database) Ends(o owned, ttl time.Duration) (int64, error) {
	now, err := o.t.GetReadVersion().Get()
	return now + int64(ttl/(time.Second/versionsPerSecond)), err
}

func (p *database) Left(o owned, end int64) (time.Duration, error) {
	now, err := o.t.GetReadVersion().Get()
	return time.Duration(end-now) * (time.Second / versionsPerSecond), err
}

// Blocked implements store.Administration. Transactions do not wait.
func (p *database) Blocked(context.Context) (string, error) { return "", nil }

// Pauses between attempts to prepare or to settle.
const (
	firstPause = 10 * time.Millisecond
	lastPause  = time.Second
)

// change repeats work and its commit until one has certainly succeeded, ctx ends, or an error is
// permanent. It returns the commit's version. work must be idempotent. Measured transactions never
// come here.
//
// After commit_unknown_result the transaction is not in flight any more (manual, "Developer Guide",
// "The commit_unknown_result Error"). After cluster_version_changed it may be. But all work here
// has read the mark's key, which Create, FinishLoad and Drop write and a barrier conflicts with. So
// a late commit is refused before the first session is opened.
func (p *database) change(ctx context.Context, doing string, work func(t *transaction) error) (int64, error) {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		version, err := p.attempt(ctx, work)
		if err == nil {
			return version, nil
		}
		if !repeatable(codeOf(err)) {
			return 0, explain(ctx, doing, err)
		}
		if err := wait.Pause(ctx, pause); err != nil {
			return 0, explain(ctx, doing, err)
		}
	}
}

func (p *database) attempt(ctx context.Context, work func(t *transaction) error) (int64, error) {
	t, err := begin(ctx, p.db)
	if err != nil {
		return 0, err
	}
	defer t.end()
	if err := work(t); err != nil {
		return 0, err
	}
	if err := t.commit(); err != nil {
		return 0, err
	}
	return t.GetCommittedVersion()
}

// Settle commits a barrier: a transaction that writes nothing and conflicts with the mark's key,
// which every session's transaction declares to have read (transaction.guard).
//
// After the barrier no transaction of ours takes effect. An abandoned commit has an older read
// version: it was cancelled before the barrier began (transaction.commit), and the client works in
// the order of calls; a dead process's commits are older still. A commit that arrives before the
// barrier is seen by all later reads. A later one is refused as a conflict or, after the five
// seconds for which conflicts are remembered, as too old (manual, "Developer Guide", "Conflict
// Detection"). So waiting five seconds would gain nothing. The client library uses the same means
// for commit_unknown_result (NativeAPI.actor.cpp, tryCommit and commitDummyTransaction).
func (p *database) Settle(ctx context.Context) error {
	version, err := p.change(ctx, "settle", func(t *transaction) error {
		return t.AddWriteConflictKey(fdb.Key(p.Layout.Mark()))
	})
	if err != nil {
		return fmt.Errorf("a commit that was abandoned may still be in flight: %w", err)
	}
	if version <= 0 {
		return errors.New("foundationdb: settle: the barrier was taken for a transaction that only reads, and proves nothing")
	}
	return nil
}

// statusKey is the special key of the machine-readable status (manual, "Developer Guide", "Special
// keys").
const statusKey = "\xff\xff/status/json"

// Describe reads the machine-readable status.
func (p *database) Describe(ctx context.Context) (store.Product, error) {
	t, err := begin(ctx, p.db)
	if err != nil {
		return store.Product{}, explain(ctx, "describe", err)
	}
	defer t.end()
	text, err := t.Get(fdb.Key(statusKey)).Get()
	if err != nil {
		return store.Product{}, explain(ctx, "describe", err)
	}
	found, err := product(text)
	if err != nil {
		return store.Product{}, fmt.Errorf("foundationdb: describe: %w", err)
	}
	if p.riskyReads {
		found = withRiskyReads(found)
	}
	return found, nil
}

const measured = "keys and values of one copy, without the storage engine's own use of the disk"

// Size counts rows and the bytes of keys and values. FoundationDB's estimate of a range is some
// tenth too high, and is no use of a disk either.
func (p *database) Size(ctx context.Context) (store.Size, error) {
	if err := p.MustBeOurs(ctx, "size"); err != nil {
		return store.Size{}, err
	}
	// An empty schema is not free.
	size := store.Size{Rows: map[string]int64{}, Measured: measured, Bytes: int64(len(p.Layout.Mark()))}
	for i, table := range p.Tables {
		begin, end := p.Layout.Rows(table)
		rows, bytes, err := p.count(ctx, begin, end)
		if err != nil {
			return store.Size{}, explain(ctx, "size", err)
		}
		size.Rows[table] = rows
		size.Bytes += bytes
		switch {
		case len(p.Tables) == len(p.Of.Tables): // no index
		case i >= len(p.Of.Tables):
			size.Indexes += bytes
		default:
			size.Tables += bytes
		}
	}
	if len(p.Tables) > len(p.Of.Tables) {
		size.Bytes = size.Tables + size.Indexes
	}
	return size, nil
}

// Close closes nothing: the connection is the process's (connect).
func (p *database) Close() error { return nil }
