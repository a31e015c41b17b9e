package bugs

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"assay/history"
	"assay/workload"
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

// bugOf is a bug and how it acts on the calls of a workload.
type bugOf[A any] struct {
	Bug
	acts A
}

// active is a bug switched on.
type active[A any] struct {
	bugOf[A]
	probability float64
	// strikes counts since Create how often the bug has broken a promise.
	strikes int64
}

// trial is what the wrappers of all workloads have in common: the bugs that are
// switched on, whose turn it is, the chance, and what is to be done later. It
// implements workload.Store on the Store of the database.
type trial[A any] struct {
	workload.Store
	active []*active[A]
	// turn holds a token while somebody has the turn, which is needed for all
	// below.
	turn   chan struct{}
	chance *rand.Rand
	// calls counts since Create, for what is to happen later.
	calls uint64
	late  []delayed
	// differences counts those that are kept.
	differences int
	// create is the Store's Create, whose parameters differ.
	create func(context.Context, workload.Marker) error
	// reset forgets everything that a workload's wrapper knows of the data.
	reset func()
}

// delayed is to be done at the call numbered due.
type delayed struct {
	due uint64
	do  func(context.Context)
}

func newTrial[A any](store workload.Store, create func(context.Context, workload.Marker) error, all []bugOf[A], seeded []Seeded, seed uint64) *trial[A] {
	t := &trial[A]{Store: store, create: create, turn: make(chan struct{}, 1), chance: rand.New(rand.NewPCG(seed, 0x6173736179))}
	for _, d := range all {
		for _, s := range seeded {
			if s.Name == d.Name && s.Probability > 0 {
				t.active = append(t.active, &active[A]{bugOf: d, probability: s.Probability})
			}
		}
	}
	return t
}

// take waits for the turn; done passes it on.
func (t *trial[A]) take(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("bugs: wait for the turn: %w", err)
	}
	select {
	case t.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("bugs: wait for the turn: %w", ctx.Err())
	}
}

func (t *trial[A]) done() { <-t.turn }

// begin waits for the turn and does what is due. The caller is done after.
func (t *trial[A]) begin(ctx context.Context) error {
	if err := t.take(ctx); err != nil {
		return err
	}
	t.calls++
	t.catchUp(ctx, t.calls)
	return nil
}

// postpone has something done at a call to come, at most within calls from now,
// and at the latest before Settle returns.
func (t *trial[A]) postpone(within uint64, do func(context.Context)) {
	t.late = append(t.late, delayed{t.calls + 1 + t.chance.Uint64N(within), do})
}

// catchUp does what is due up to a call.
func (t *trial[A]) catchUp(ctx context.Context, call uint64) {
	if len(t.late) == 0 {
		return
	}
	ctx, cancel := own(ctx)
	defer cancel()
	t.late = slices.DeleteFunc(t.late, func(l delayed) bool {
		if l.due <= call {
			l.do(ctx)
		}
		return l.due <= call
	})
}

// Settle implements workload.Store: what was to happen later happens before.
func (t *trial[A]) Settle(ctx context.Context) error {
	if err := t.take(ctx); err != nil {
		return err
	}
	defer t.done()
	t.catchUp(ctx, t.calls+maxLate)
	return t.Store.Settle(ctx)
}

// unsent is the reply to what was not sent, as its context ended before.
func unsent(err error) workload.Reply {
	return workload.Reply{Outcome: history.Failed, Class: workload.ClassTimeout, Err: err}
}

// failed is the reply to what a bug makes fail, or says has failed.
func failed() workload.Reply {
	return workload.Reply{Outcome: history.Failed, Class: workload.ClassSerialization}
}

func committed() workload.Reply { return workload.Reply{Outcome: history.Committed} }

// unknown is the reply to what is done later.
func unknown() workload.Reply { return workload.Reply{Class: workload.ClassTimeout} }

// through sends something through a session of its own.
func through[N interface{ Close() }](ctx context.Context, open func(context.Context) (N, error), send func(N)) {
	if session, err := open(ctx); err == nil { // else it is as if the database had not done it
		defer session.Close()
		send(session)
	}
}

// draw returns the bug that takes effect: the first of those that suit which the
// chance hits; nil if none does.
func (t *trial[A]) draw(suits func(A) bool) *active[A] {
	for _, b := range t.active {
		if suits(b.acts) && t.differences < maxDifferences && t.chance.Float64() < b.probability {
			return b
		}
	}
	return nil
}

// coin draws one of two.
func (t *trial[A]) coin() bool { return t.chance.Uint64()&1 == 0 }

// fewer draws how many of n rows a read that ends early gives: not all, and not
// none if there are two, since a database that is empty is told from one that has
// lost rows.
func (t *trial[A]) fewer(n int64) int64 {
	if n < 2 {
		return 0
	}
	return 1 + t.chance.Int64N(n-1)
}

// own is the context of a request of the wrapper's own, which an operation that
// was cut short must not leave half done.
func own(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), repairTimeout)
}

// Describe implements workload.Store: whoever reads of this database reads of the
// bugs.
func (t *trial[A]) Describe(ctx context.Context) (workload.Product, error) {
	p, err := t.Store.Describe(ctx)
	if err != nil || len(t.active) == 0 {
		return p, err
	}
	var names []string
	for _, b := range t.active {
		names = append(names, Seeded{b.Name, b.probability}.String())
	}
	list := strings.Join(names, ", ")
	p.Version = strings.TrimSpace(p.Version + " with seeded bugs (" + list + ")")
	p.Settings = append(p.Settings, workload.Setting{Name: workload.SettingBugs, Value: list})
	return p, nil
}

// Size implements workload.Store. The rows have how often each bug has taken
// effect, as if it were a table.
func (t *trial[A]) Size(ctx context.Context) (workload.Size, error) {
	size, err := t.Store.Size(ctx)
	return t.withStrikes(ctx, size, err)
}

// withStrikes is a size with the strikes.
func (t *trial[A]) withStrikes(ctx context.Context, size workload.Size, err error) (workload.Size, error) {
	if err != nil {
		return size, err
	}
	if err := t.take(ctx); err != nil {
		return size, err
	}
	defer t.done()
	if size.Rows == nil {
		size.Rows = map[string]int64{}
	}
	for _, b := range t.active {
		size.Rows[StrikesOf(b.Name)] = b.strikes
	}
	return size, nil
}

// StrikesOf is the name under which workload.Size has how often a bug has taken
// effect since Create. It is there while the bug is switched on.
func StrikesOf(bug string) string { return workload.StrikesPrefix + bug }

func (t *trial[A]) Create(ctx context.Context, marker workload.Marker) error {
	return t.anew(ctx, func() error { return t.create(ctx, marker) })
}

func (t *trial[A]) Drop(ctx context.Context) error {
	return t.anew(ctx, func() error { return t.Store.Drop(ctx) })
}

// anew forgets everything once the database has.
func (t *trial[A]) anew(ctx context.Context, do func() error) error {
	if err := t.take(ctx); err != nil {
		return err
	}
	defer t.done()
	if err := do(); err != nil {
		return err
	}
	t.calls, t.differences, t.late = 0, 0, nil
	for _, b := range t.active {
		b.strikes = 0
	}
	t.reset()
	return nil
}
