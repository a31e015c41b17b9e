package fault

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"
)

const (
	healWithin = 2 * time.Minute
	// lastLookWithin bounds the last look for a fault's effect.
	lastLookWithin = time.Minute
	// primaryWait is how long a fault on the primary waits for one.
	primaryWait = 30 * time.Second
	// primaryLook is how long other faults may take to find the primary.
	primaryLook = 2 * time.Second
	// primaryGrace is how long after healing a new primary is awaited.
	primaryGrace = 30 * time.Second
	// longestWork is the assumed length of unknown work. A fault ends by itself after that if assay
	// is killed.
	longestWork = 24 * time.Hour
	mostAtOnce  = 64
)

// Run injects the faults when they are due and heals them, until the plan's duration is over, ctx
// ends, or none is left. It then heals the rest at once, the latest first, by contexts that do not
// end with ctx. It returns all injections in due order when everything is healed or cannot be. The
// error joins what went wrong with the faults themselves. The end of ctx, and faults that were
// skipped or not proven, are not errors: the injections report them.
func Run(ctx context.Context, s System, faults []Fault, plan Plan, to Recorder) ([]Injection, error) {
	r := &runner{system: s, faults: faults, plan: plan, recorder: to}
	return r.run(ctx)
}

// System is the nodes that faults are done to.
type System interface {
	// members are the present nodes; with an error, those last seen.
	members(ctx context.Context) ([]member, error)
	// primaries returns the node that takes writes as soon as there is one, and then those of other
	// shards.
	primaries(ctx context.Context) ([]string, error)
	running(name string) bool
	// prepare returns the fault's injector, which has done nothing yet. Before the injector starts
	// a server that it has not ended, it calls acquire.
	prepare(f Fault, c choice, acquire acquirer) (injector, error)
	check(ctx context.Context, f Fault) error
}

// holding is a System whose servers may be started for the sake of others, unless a fault holds them.
type holding interface {
	hold(name string) (release func())
}

// forcing is a System that knows when a server had to be killed that was to end in order; nil for
// never.
type forcing interface {
	forced(name string) *time.Time
}

// acquirer reserves a node's server for the caller until release; free is false if another fault
// has it.
type acquirer func(node string) (release func(), free bool)

// injector brings about a fault and ends it. Its methods are called in this order, never at once,
// and once; but verify several times, and undo again after an error.
type injector interface {
	// inject brings the fault about. After an error, undo and restore are still called: part of it
	// may have happened.
	inject(ctx context.Context) error
	// verify looks for the effect, after inject and, as the last look, before undo. Only the last
	// look may cause what it looks for.
	verify(ctx context.Context, last bool) (observation, error)
	// undo takes the fault back, if that is quick. It starts no servers. A call after an error does
	// what is left to do.
	undo(ctx context.Context) error
	// restore starts ended servers, waits until the nodes are back, and describes how that was
	// seen.
	restore(ctx context.Context) (string, error)
}

type teller interface{ tell(i *Injection) }

type observation struct {
	proven bool
	text   string
}

type runner struct {
	system   System
	faults   []Fault
	plan     Plan
	recorder Recorder

	mu     sync.Mutex
	inUse  map[resource]*injecting
	acting []*injecting // in the order of their numbers
	// waiting has the index of each fault that waits: true until its event comes, false until it is
	// due after that.
	waiting map[int]bool
	looking sync.WaitGroup // for events
	done    []Injection
	failed  []error
}

// resource is a part of a node that one fault at a time may use.
type resource struct {
	node string
	part part
}

// injecting is one occurrence under way.
type injecting struct {
	Injection
	about      Action
	occurrence Occurrence
	choice     choice
	primaries  []string // when it was selected
	injector   injector
	over       <-chan struct{} // closed when the work that it may last for has ended
	undone     chan struct{}   // closed when undo has returned for the first time
	// selected is closed when the nodes are chosen and claimed. previous is the channel of the
	// fault before it in the list that is due at the same time; nil for none.
	selected chan struct{}
	previous <-chan struct{}
	dropped  bool // it is not reported
	held     []func()
	errors   []error
}

func (r *runner) run(ctx context.Context) ([]Injection, error) {
	r.inUse, r.waiting = map[resource]*injecting{}, map[int]bool{}
	if r.plan.Start.IsZero() {
		r.plan.Start = time.Now()
	}
	if r.plan.HealWithin == 0 {
		r.plan.HealWithin = healWithin
	}
	var under sync.WaitGroup
	defer under.Wait()
	work, cancel := context.WithCancel(ctx)
	defer cancel() // before waiting, so that even a panic heals
	ctx = work     // of the measured part
	if r.plan.Duration > 0 {
		ctx, cancel = context.WithDeadline(work, r.plan.Start.Add(r.plan.Duration))
		defer cancel()
	}
	free := make(chan struct{}, mostAtOnce)
	number := 0
	var last *injecting
	for o, due := range r.due(ctx) {
		number++
		i := &injecting{occurrence: o, undone: make(chan struct{}), selected: make(chan struct{})}
		if last != nil && last.occurrence.At == o.At {
			i.previous = last.selected
		}
		last = i
		i.Injection = Injection{Number: number, Fault: r.faults[o.Fault], Due: due}
		i.about, _ = Lookup(i.Fault.Action)
		acts := ctx
		if o.For == Ever {
			acts = work
		}
		i.over = acts.Done()
		select {
		case free <- struct{}{}:
			under.Go(func() {
				defer func() { <-free }()
				r.one(acts, i)
			})
		default:
			i.skip(fmt.Sprintf("%d faults act already", mostAtOnce))
			close(i.selected)
			r.keep(i)
		}
	}
	under.Wait()
	r.keepUnfired(number)
	slices.SortFunc(r.done, func(a, b Injection) int { return a.Number - b.Number })
	return r.done, errors.Join(r.failed...)
}

func sleepUntil(ctx context.Context, t time.Time) bool {
	timer := time.NewTimer(time.Until(t))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return ctx.Err() == nil
	}
}

// guard turns a panic into an error: one fault's defect must not prevent healing the others.
func guard(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return do()
}

func (i *injecting) skip(why string) {
	i.Skipped = true
	i.Problem = "skipped: " + why
}

func (i *injecting) problem(err error) {
	if err != nil {
		i.errors = append(i.errors, err)
	}
}

func (r *runner) keep(i *injecting) {
	if err := errors.Join(i.errors...); err != nil {
		i.Problem = err.Error()
		err = fmt.Errorf("fault %d, %s: %w", i.Number, i.Fault, err)
		r.mu.Lock()
		r.failed = append(r.failed, err)
		r.mu.Unlock()
	}
	if i.dropped {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done = append(r.done, i.Injection)
}

// one goes through one occurrence, from the choice to the end of its watch for a new primary.
func (r *runner) one(ctx context.Context, i *injecting) {
	defer r.keep(i)
	i.problem(guard(func() error {
		if !r.selectNodes(ctx, i) {
			return nil
		}
		r.inject(ctx, i).end(i)
		return nil
	}))
}

// selectNodes chooses and claims the nodes; false if there is nothing to do.
func (r *runner) selectNodes(ctx context.Context, i *injecting) bool {
	defer close(i.selected)
	if i.previous != nil {
		<-i.previous
	}
	primaries, err := r.findPrimaries(ctx, i.Fault)
	if ctx.Err() != nil {
		i.dropped = true
		return false
	}
	if err == nil {
		random := randomness(r.plan.Seed, i.occurrence)
		members, _ := r.system.members(ctx)
		i.choice, err = choose(i.Fault, marked(members, primaries), first(primaries), random)
		i.choice.seed, i.choice.start = random.Uint64(), r.plan.Start
	}
	if err != nil {
		i.skip(err.Error())
		return false
	}
	hit := slices.DeleteFunc(slices.Clone(primaries), func(name string) bool { return !slices.Contains(i.choice.affected(), name) })
	i.primaries, i.Primary = primaries, cmp.Or(first(hit), first(primaries))
	return r.claim(ctx, i)
}

func first(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return names[0]
}

// findPrimaries returns the nodes that take writes; none if there are none and the fault does not
// need one.
func (r *runner) findPrimaries(ctx context.Context, f Fault) ([]string, error) {
	needed := f.needsPrimary()
	bound := primaryLook
	if needed {
		bound = primaryWait
	}
	asking, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	primaries, err := r.system.primaries(asking)
	if err != nil && needed {
		return nil, fmt.Errorf("no primary: %w", err)
	}
	if err != nil {
		return nil, nil
	}
	return primaries, nil
}
