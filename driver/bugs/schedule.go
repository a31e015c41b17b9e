package bugs

import (
	"context"
	"fmt"
	"slices"
	"time"

	"assay/history"
	"assay/internal/eventloop"
	"assay/store"
	"assay/store/bug"
)

const (
	// maxDifferences bounds how many differences from the database are kept.
	maxDifferences = 1 << 18
	// maxLog bounds how many commits are remembered, and so how old a state can
	// be that a bug brings back.
	maxLog = 256
	// maxLate bounds how many calls later something is done, and so how much can
	// be waiting.
	maxLate = 64
	// repairTimeout bounds a request of the wrapper's own.
	repairTimeout = 30 * time.Second
)

// active is a bug switched on.
type active struct {
	bug.Bug
	probability float64
	// strikes counts since Create how often the bug has broken a promise.
	strikes int64
}

// delayed is to be done at the call numbered due.
type delayed struct {
	due uint64
	do  func(context.Context)
}

// take waits for the turn; done passes it on.
func (d *database) take(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("bugs: wait for the turn: %w", err)
	}
	eventloop.Leave(ctx) // whoever has the turn may need the loop
	select {
	case d.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("bugs: wait for the turn: %w", ctx.Err())
	}
}

func (d *database) done() { <-d.turn }

// begin waits for the turn and does what is due. The caller is done after.
func (d *database) begin(ctx context.Context) error {
	if err := d.take(ctx); err != nil {
		return err
	}
	d.calls++
	d.catchUp(ctx, d.calls)
	return nil
}

// postpone has something done at a call to come, at most within calls from now,
// and at the latest before Settle returns.
func (d *database) postpone(within uint64, do func(context.Context)) {
	d.late = append(d.late, delayed{d.calls + 1 + d.chance.Uint64N(within), do})
}

// catchUp does what is due up to a call.
func (d *database) catchUp(ctx context.Context, call uint64) {
	if len(d.late) == 0 {
		return
	}
	ctx, cancel := own(ctx)
	defer cancel()
	d.late = slices.DeleteFunc(d.late, func(l delayed) bool {
		if l.due <= call {
			l.do(ctx)
		}
		return l.due <= call
	})
}

// unsent is the reply to what was not sent, as its context ended before.
func unsent(err error) store.Reply {
	return store.Reply{Outcome: history.Failed, Class: store.ClassTimeout, Err: err}
}

// failed is the reply to what a bug makes fail, or says has failed.
func failed() store.Reply {
	return store.Reply{Outcome: history.Failed, Class: store.ClassSerialization}
}

func committed() store.Reply { return store.Reply{Outcome: history.Committed} }

// draw returns the bug that takes effect: the first of those that suit which the
// chance hits; nil if none does.
func (d *database) draw(suits func(*bug.Act) bool) *active {
	for _, b := range d.active {
		if suits(&b.Act) && d.differences < maxDifferences && d.chance.Float64() < b.probability {
			return b
		}
	}
	return nil
}

// coin draws one of two.
func (d *database) coin() bool { return d.chance.Uint64()&1 == 0 }

// fewer draws how many of n rows a read that ends early gives: not all, and not
// none if there are two, since a database that is empty is told from one that has
// lost rows.
func (d *database) fewer(n int64) int64 {
	if n < 2 {
		return 0
	}
	return 1 + d.chance.Int64N(n-1)
}

// own is the context of a request of the wrapper's own, which an operation that
// was cut short must not leave half done.
func own(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), repairTimeout)
}
