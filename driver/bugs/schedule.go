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
	maxDifferences = 1 << 18
	// maxLog bounds the remembered commits, and so the age of a state that a bug shows.
	maxLog = 256
	// maxLate bounds the calls by which an operation is postponed, and so the waiting ones.
	maxLate       = 64
	repairTimeout = 30 * time.Second
)

type active struct {
	bug.Bug
	probability float64
	// strikes counts the broken promises since Create.
	strikes int64
}

type delayed struct {
	due uint64
	do  func(context.Context)
}

// take waits for the turn, and done passes it on.
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

// begin waits for the turn and does what is due. The caller must call done.
func (d *database) begin(ctx context.Context) error {
	if err := d.take(ctx); err != nil {
		return err
	}
	d.calls++
	d.catchUp(ctx, d.calls)
	return nil
}

// postpone schedules an operation for one of the next calls, at most within calls from now. Settle
// does it at the latest.
func (d *database) postpone(within uint64, do func(context.Context)) {
	d.late = append(d.late, delayed{d.calls + 1 + d.chance.Uint64N(within), do})
}

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

func unsent(err error) store.Reply {
	return store.Reply{Outcome: history.Failed, Class: store.ClassTimeout, Err: err}
}

func failed() store.Reply {
	return store.Reply{Outcome: history.Failed, Class: store.ClassSerialization}
}

func committed() store.Reply { return store.Reply{Outcome: history.Committed} }

// draw returns the first suitable bug that chance selects, or nil.
func (d *database) draw(suits func(*bug.Act) bool) *active {
	for _, b := range d.active {
		if suits(&b.Act) && d.differences < maxDifferences && d.chance.Float64() < b.probability {
			return b
		}
	}
	return nil
}

func (d *database) coin() bool { return d.chance.Uint64()&1 == 0 }

// fewer draws how many of n rows a shortened read gives. It gives one at least if n is two or more,
// since an empty database differs from one that lost rows.
func (d *database) fewer(n int64) int64 {
	if n < 2 {
		return 0
	}
	return 1 + d.chance.Int64N(n-1)
}

// own is the context of the wrapper's own requests, which must not stop halfway.
func own(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), repairTimeout)
}
