//go:build foundationdb

package foundationdb

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"time"

	"github.com/apple/foundationdb/bindings/go/src/fdb"

	"assay/driver/ownership"
	"assay/history"
	"assay/store"
)

// transaction ends with its context. begin makes it and end gives it back. It is never repeated;
// the binding's Transact would do that silently.
type transaction struct {
	fdb.Transaction
	ctx        context.Context
	stop       func() bool
	committing bool
}

// begin creates a transaction. The C library knows no contexts, so the end of ctx cancels the
// transaction, and all waiting calls return. The deadline is also the transaction's own time limit,
// in case the cancelling is late. Without a deadline the limit is patience, as the library waits
// forever.
func begin(ctx context.Context, db fdb.Database) (*transaction, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	tr, err := db.CreateTransaction()
	if err != nil {
		return nil, err
	}
	if err := tr.Options().SetTimeout(milliseconds(timeLimit(ctx))); err != nil {
		return nil, err
	}
	return &transaction{Transaction: tr, ctx: ctx, stop: context.AfterFunc(ctx, tr.Cancel)}, nil
}

// operate is begin with the address's options, for sessions' operations only.
func (p *database) operate(ctx context.Context) (*transaction, error) {
	t, err := begin(ctx, p.db)
	if err != nil || !p.riskyReads {
		return t, err
	}
	if err := t.Options().SetCausalReadRisky(); err != nil {
		t.end()
		return nil, err
	}
	return t, nil
}

// end gives the transaction back. It also keeps the binding from freeing it earlier, which would
// cancel what is in flight: the binding's futures do not reference their transaction.
func (t *transaction) end() {
	t.stop()
	runtime.KeepAlive(t.Transaction)
}

// commit asks for the commit, once. After an error a sent commit may still be in flight, but
// nothing more is sent.
func (t *transaction) commit() error {
	if err := t.ctx.Err(); err != nil {
		return err // before anything was sent
	}
	t.committing = true
	err := t.Commit().Get()
	if err != nil {
		// A time limit in one layer of the client may not have reached the layer below.
		t.Cancel()
	}
	return err
}

// guard makes the commit fail if, since the read version, the mark was written or a barrier
// committed (database.Settle).
func (t *transaction) guard(mark []byte) error {
	return t.AddReadConflictKey(fdb.Key(mark))
}

func committed() store.Reply { return store.Reply{Outcome: history.Committed} }

func (t *transaction) failure(doing string, err error) store.Reply {
	outcome, class := judge(codeOf(err), t.committing)
	if codeOf(err) == 0 && t.ctx.Err() != nil {
		class = classOf(codeCancelled)
	}
	return store.Reply{Outcome: outcome, Class: class, Err: explain(t.ctx, doing, err)}
}

func notBegun(ctx context.Context, err error) store.Reply {
	r := store.Reply{Outcome: history.Failed, Class: classOf(codeOf(err)), Err: explain(ctx, "begin a transaction", err)}
	if ctx.Err() != nil {
		r.Class = classOf(codeCancelled)
	}
	return r
}

// explain wraps an error with the operation, and with the reason if time was over, unless the error
// explains itself.
func explain(ctx context.Context, doing string, err error) error {
	if ownership.Explained(err) {
		return err
	}
	if over := overdue(ctx, codeOf(err)); over != nil {
		return fmt.Errorf("foundationdb: %s: %w (%v)", doing, over, err)
	}
	return fmt.Errorf("foundationdb: %s: %w", doing, err)
}

// milliseconds rounds up: 0 would mean no limit, and an early limit was not asked for.
func milliseconds(left time.Duration) int64 {
	return min(max(left.Milliseconds()+1, 1), math.MaxInt32)
}
