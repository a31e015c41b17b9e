package bugs

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"assay/history"
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

// Settle implements store.Administration: what was to happen later happens before.
func (d *database) Settle(ctx context.Context) error {
	if err := d.take(ctx); err != nil {
		return err
	}
	defer d.done()
	d.catchUp(ctx, d.calls+maxLate)
	return d.Database.Settle(ctx)
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

// unknown is the reply to what is done later.
func unknown() store.Reply { return store.Reply{Class: store.ClassTimeout} }

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

// Describe implements store.Administration: whoever reads of this database reads of the
// bugs.
func (d *database) Describe(ctx context.Context) (store.Product, error) {
	p, err := d.Database.Describe(ctx)
	if err != nil || len(d.active) == 0 {
		return p, err
	}
	var names []string
	for _, b := range d.active {
		names = append(names, Seeded{b.Name, b.probability}.String())
	}
	list := strings.Join(names, ", ")
	p.Version = strings.TrimSpace(p.Version + " with seeded bugs (" + list + ")")
	p.Settings = append(p.Settings, store.Setting{Name: store.SettingBugs, Value: list})
	return p, nil
}

// Size implements store.Administration. The rows have how often each bug has taken
// effect, as if it were a table.
func (d *database) Size(ctx context.Context) (store.Size, error) {
	size, err := d.Database.Size(ctx)
	return d.withStrikes(ctx, size, err)
}

// withStrikes is a size with the strikes.
func (d *database) withStrikes(ctx context.Context, size store.Size, err error) (store.Size, error) {
	if err != nil {
		return size, err
	}
	if err := d.take(ctx); err != nil {
		return size, err
	}
	defer d.done()
	if size.Rows == nil {
		size.Rows = map[string]int64{}
	}
	for _, b := range d.active {
		size.Rows[StrikesOf(b.Name)] = b.strikes
	}
	return size, nil
}

// StrikesOf is the name under which store.Size has how often a bug has taken
// effect since Create. It is there while the bug is switched on.
func StrikesOf(bug string) string { return store.StrikesPrefix + bug }

func (d *database) Create(ctx context.Context, marker store.Marker) error {
	return d.anew(ctx, func() error { return d.Database.Create(ctx, marker) })
}

func (d *database) Drop(ctx context.Context) error {
	return d.anew(ctx, func() error { return d.Database.Drop(ctx) })
}

// anew forgets everything once the database has.
func (d *database) anew(ctx context.Context, do func() error) error {
	if err := d.take(ctx); err != nil {
		return err
	}
	defer d.done()
	if err := do(); err != nil {
		return err
	}
	d.calls, d.differences, d.late = 0, 0, nil
	d.shown, d.others = newOverlay(), newOverlay()
	d.log, d.ghosts, d.losing, d.audited = versions{}, nil, false, 0
	for _, b := range d.active {
		b.strikes = 0
	}
	return nil
}
