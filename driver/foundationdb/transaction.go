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

// transaction is one transaction that ends with its context. It is made by
// begin and given back with end, and is never repeated: the binding's Transact
// would do so without telling.
type transaction struct {
	fdb.Transaction
	ctx  context.Context
	stop func() bool
	// committing is true once the commit was asked for.
	committing bool
}

// begin creates a transaction. A call of the C library knows no context: when
// this one ends the transaction is cancelled, upon which everything that waits
// for it returns. Its deadline is also the transaction's own time limit, in
// case nobody gets round to the cancelling. Without a deadline that limit is
// patience, since the library waits for servers without end.
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

// operate is begin for an operation of a session, in the way that the address
// asks for. What prepares a run, settles it or reads everything back never comes
// here.
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

// end gives the transaction back. It also keeps the binding from freeing it
// before this moment, which would cancel what is in flight: the binding's
// futures do not hold on to their transaction.
func (t *transaction) end() {
	t.stop()
	runtime.KeepAlive(t.Transaction)
}

// commit asks for the commit, once. After an error the client does nothing more
// for it: what it has sent may still be in flight, but nothing will be sent.
func (t *transaction) commit() error {
	if err := t.ctx.Err(); err != nil {
		return err // before anything was sent
	}
	t.committing = true
	err := t.Commit().Get()
	if err != nil {
		// A time limit that fires in one layer of the client may not have
		// reached the one below.
		t.Cancel()
	}
	return err
}

// guard makes the commit of this transaction fail if the mark is written, or a
// barrier is committed (database.Settle), between its read version and its commit.
func (t *transaction) guard(mark []byte) error {
	return t.AddReadConflictKey(fdb.Key(mark))
}

// committed is the reply to what was done, once it is committed, and refused to what cannot
// be done.
func committed() store.Reply { return store.Reply{Outcome: history.Committed} }

func refused(class, doing string, err error) store.Reply {
	return store.Reply{Outcome: history.Failed, Class: class, Err: fmt.Errorf("foundationdb: %s: %w", doing, err)}
}

// failure judges an error of this transaction.
func (t *transaction) failure(doing string, err error) store.Reply {
	outcome, class := judge(codeOf(err), t.committing)
	if codeOf(err) == 0 && t.ctx.Err() != nil {
		class = classOf(codeCancelled)
	}
	return store.Reply{Outcome: outcome, Class: class, Err: explain(t.ctx, doing, err)}
}

// notBegun is the end of a transaction that could not be created.
func notBegun(ctx context.Context, err error) store.Reply {
	r := store.Reply{Outcome: history.Failed, Class: classOf(codeOf(err)), Err: explain(ctx, "begin a transaction", err)}
	if ctx.Err() != nil {
		r.Class = classOf(codeCancelled)
	}
	return r
}

// explain wraps an error with what was being done, and with why the time was
// over if that was the cause, unless it explains itself.
func explain(ctx context.Context, doing string, err error) error {
	if ownership.Explained(err) {
		return err
	}
	if over := overdue(ctx, codeOf(err)); over != nil {
		return fmt.Errorf("foundationdb: %s: %w (%v)", doing, over, err)
	}
	return fmt.Errorf("foundationdb: %s: %w", doing, err)
}

// milliseconds rounds up: 0 would mean no limit, and a limit that comes before
// the context's end would be of nobody's asking.
func milliseconds(left time.Duration) int64 {
	return min(max(left.Milliseconds()+1, 1), math.MaxInt32)
}
