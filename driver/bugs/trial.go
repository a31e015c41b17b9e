package bugs

import (
	"context"
	"fmt"
	"math/rand/v2"
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
	// maxLoss bounds how many calls after its commit something is lost.
	maxLoss = 8
	// repairTimeout bounds a request of the wrapper's own.
	repairTimeout = 30 * time.Second
)

// definition is a bug and how it acts on a workload.
type definition[A any] struct {
	Bug
	acts A
}

func described[A any](all []definition[A]) (bugs []Bug) {
	for _, d := range all {
		bugs = append(bugs, d.Bug)
	}
	return bugs
}

// active is a bug switched on.
type active[A any] struct {
	definition[A]
	probability float64
	// strikes counts since Create how often the bug has broken a promise.
	strikes int64
}

// trial is what the wrappers of all workloads have in common: the bugs that are
// switched on, whose turn it is, and the chance. It implements workload.Store but
// for Settle, on the Store of the database.
type trial[A any] struct {
	workload.Store
	active []*active[A]
	// turn holds a token while somebody has the turn, which is needed for all
	// below.
	turn   chan struct{}
	chance *rand.Rand
	// calls counts since Create, for what is to happen later.
	calls uint64
	// differences counts those that are kept.
	differences int
	// reset forgets everything that a workload's wrapper knows of the data.
	reset func()
}

func newTrial[A any](store workload.Store, all []definition[A], seeded []Seeded, seed uint64) *trial[A] {
	t := &trial[A]{Store: store, turn: make(chan struct{}, 1), chance: rand.New(rand.NewPCG(seed, 0x6173736179))}
	for _, d := range all {
		for _, s := range seeded {
			if s.Name == d.Name && s.Probability > 0 {
				t.active = append(t.active, &active[A]{definition: d, probability: s.Probability})
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

// unsent is the reply to what was not sent, as its context ended before.
func unsent(err error) workload.Reply {
	return workload.Reply{Outcome: history.Failed, Class: workload.ClassTimeout, Err: err}
}

// made is the reply to what a bug makes fail.
func made() workload.Reply {
	return workload.Reply{Outcome: history.Failed, Class: workload.ClassSerialization}
}

// hits draws once.
func (t *trial[A]) hits(b *active[A]) bool {
	return t.differences < maxDifferences && t.chance.Float64() < b.probability
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

// later draws a call to come, at most within calls from now.
func (t *trial[A]) later(within uint64) uint64 { return t.calls + 1 + t.chance.Uint64N(within) }

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
func StrikesOf(bug string) string { return "strikes of " + bug }

// Drop implements workload.Store.
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
	t.calls, t.differences = 0, 0
	for _, b := range t.active {
		b.strikes = 0
	}
	t.reset()
	return nil
}
