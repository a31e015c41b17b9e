package fault

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"assay/cluster"
)

// Bounds of a run.
const (
	// healWithin is what is taken for Plan.HealWithin.
	healWithin = 2 * time.Minute
	// primaryWait is how long a fault on the primary waits for there being one.
	primaryWait = 30 * time.Second
	// primaryLook is how long any other fault takes to find out who it is.
	primaryLook = 2 * time.Second
	// primaryGrace is how long after healing a new primary is waited for.
	primaryGrace = 30 * time.Second
	// mostAtOnce is how many faults may act at the same time; more are skipped.
	mostAtOnce = 64
)

// Run injects the faults when they are due and heals them, until the plan's
// duration is over, ctx ends, or no more is due. What still acts then is healed
// at once, the latest first, by contexts that do not end with ctx. It returns
// when all is healed or cannot be: every injection in the order in which they
// were due, and what went wrong with the faults themselves, joined. That ctx has
// ended, that a fault was skipped, and that one was not proven are not errors;
// the injections tell.
func Run(ctx context.Context, c *cluster.Cluster, faults []Fault, plan Plan, to Recorder) ([]Injection, error) {
	r := &runner{stage: servers{c}, faults: faults, plan: plan, recorder: to}
	return r.run(ctx)
}

// stage is what the runner needs of a cluster.
type stage interface {
	members() []member
	// primary returns the name of the node that takes writes as soon as there
	// is one.
	primary(ctx context.Context) (string, error)
	// running reports whether the node's server has not ended.
	running(name string) bool
	// prepare returns the fault's deed without doing it. Before the deed starts
	// a server that it has not ended, it asks take.
	prepare(f Fault, c choice, take taker) (deed, error)
}

// taker takes hold of a node's server until release is called; free is false if
// another fault has it.
type taker func(node string) (release func(), free bool)

// deed is what a fault does to nodes. Its methods are called in this order,
// each once but for proof.
type deed interface {
	// act brings it about. After an error, undo and confirm are called all the
	// same: a part of it may have happened.
	act(ctx context.Context) error
	// proof looks whether it has taken effect. It is called after act and once
	// more, last, before undo; only then may it bring about what it looks for.
	proof(ctx context.Context, last bool) (sight, error)
	// undo takes it back if that is quick. Starting servers is not.
	undo(ctx context.Context) error
	// confirm waits until the nodes are back, having started the servers that
	// were ended, and says how that was seen.
	confirm(ctx context.Context) (string, error)
}

// sight is what a look at a fault has shown.
type sight struct {
	proven bool
	text   string
}

type runner struct {
	stage    stage
	faults   []Fault
	plan     Plan
	recorder Recorder

	mu     sync.Mutex
	held   map[hold]*injecting
	acting []*injecting // in the order of their numbers
	done   []Injection
	failed []error
}

// hold is a part of a node.
type hold struct {
	node string
	part part
}

// injecting is one occurrence under way.
type injecting struct {
	Injection
	about      Description
	occurrence Occurrence
	choice     choice
	deed       deed
	undone     chan struct{} // closed when undo has returned
	// aimed is closed when the nodes are chosen and taken, before is that of
	// the one due at the same time and first in the list; nil if there is none.
	aimed  chan struct{}
	before <-chan struct{}
	left   bool // nothing is to be kept of it
	errors []error
}

func (r *runner) run(ctx context.Context) ([]Injection, error) {
	r.held = map[hold]*injecting{}
	if r.plan.Start.IsZero() {
		r.plan.Start = time.Now()
	}
	if r.plan.HealWithin == 0 {
		r.plan.HealWithin = healWithin
	}
	var under sync.WaitGroup
	defer under.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // before waiting, so that even a panic heals
	if r.plan.Duration > 0 {
		ctx, cancel = context.WithDeadline(ctx, r.plan.Start.Add(r.plan.Duration))
		defer cancel()
	}
	free := make(chan struct{}, mostAtOnce)
	number := 0
	var last *injecting
	for o := range Schedule(r.faults, r.plan.Duration) {
		due := r.plan.Start.Add(o.At)
		if !sleepUntil(ctx, due) {
			break
		}
		number++
		i := &injecting{occurrence: o, undone: make(chan struct{}), aimed: make(chan struct{})}
		if last != nil && last.occurrence.At == o.At {
			i.before = last.aimed
		}
		last = i
		i.Injection = Injection{Number: number, Fault: r.faults[o.Fault], Due: due}
		i.about, _ = describe(i.Fault.Action)
		select {
		case free <- struct{}{}:
			under.Go(func() {
				defer func() { <-free }()
				r.one(ctx, i)
			})
		default:
			i.skip(fmt.Sprintf("%d faults act already", mostAtOnce))
			close(i.aimed)
			r.keep(i)
		}
	}
	under.Wait()
	slices.SortFunc(r.done, func(a, b Injection) int { return a.Number - b.Number })
	return r.done, errors.Join(r.failed...)
}

// sleepUntil returns false if ctx ends first.
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

// guard turns a panic into an error: one fault's defect must not keep the
// others from being healed.
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

// keep puts the injection into the list.
func (r *runner) keep(i *injecting) {
	if err := errors.Join(i.errors...); err != nil {
		i.Problem = err.Error()
		err = fmt.Errorf("fault %d, %s: %w", i.Number, i.Fault, err)
		r.mu.Lock()
		r.failed = append(r.failed, err)
		r.mu.Unlock()
	}
	if i.left {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done = append(r.done, i.Injection)
}

// one goes through one occurrence from the choice to the end of its watch for
// a new primary.
func (r *runner) one(ctx context.Context, i *injecting) {
	defer r.keep(i)
	i.problem(guard(func() error {
		if !r.aim(ctx, i) {
			return nil
		}
		r.hurt(ctx, i).end(i)
		return nil
	}))
}

// hurt injects and heals; the nodes are free for other faults afterwards, even
// if a new primary is still waited for.
func (r *runner) hurt(ctx context.Context, i *injecting) *watch {
	defer r.release(i)
	return r.inject(ctx, i)
}

// aim chooses the nodes and takes hold of them; false if nothing is to be done.
func (r *runner) aim(ctx context.Context, i *injecting) bool {
	defer close(i.aimed)
	if i.before != nil {
		<-i.before
	}
	primary, err := r.findPrimary(ctx, i.Fault)
	if ctx.Err() != nil {
		i.left = true
		return false
	}
	if err == nil {
		i.choice, err = choose(i.Fault, r.stage.members(), primary, randomness(r.plan.Seed, i.occurrence))
	}
	if err != nil {
		i.skip(err.Error())
		return false
	}
	i.Primary = primary
	return r.claim(ctx, i)
}

// findPrimary returns the primary's name, empty if there is none and the fault
// can do without.
func (r *runner) findPrimary(ctx context.Context, f Fault) (string, error) {
	needed := f.Target == TargetPrimary || f.Target == TargetSecondary
	bound := primaryLook
	if needed {
		bound = primaryWait
	}
	asking, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	primary, err := r.stage.primary(asking)
	if err != nil && needed {
		return "", fmt.Errorf("no primary: %w", err)
	}
	return primary, nil
}

// claim takes hold of the nodes. Of all nodes, those that cannot be had are
// left out; any other fault is skipped.
func (r *runner) claim(ctx context.Context, i *injecting) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if ctx.Err() != nil {
		i.left = true
		return false
	}
	var free, taken []string
	for _, name := range i.choice.concerned() {
		if why := r.unavailable(name, i.about); why != "" {
			taken = append(taken, why)
		} else {
			free = append(free, name)
		}
	}
	if len(taken) > 0 && (len(free) == 0 || i.Fault.Target != TargetAll) {
		i.Nodes = i.choice.nodes
		i.skip(joined(taken))
		return false
	}
	if len(taken) > 0 {
		i.choice.nodes, i.choice.detail = free, "left out: "+joined(taken)
	}
	i.Nodes, i.Detail = i.choice.nodes, i.choice.detail
	for _, name := range i.choice.concerned() {
		r.held[hold{name, i.about.part}] = i
	}
	at, _ := slices.BinarySearchFunc(r.acting, i.Number, func(a *injecting, n int) int { return a.Number - n })
	r.acting = slices.Insert(r.acting, at, i)
	return true
}

// unavailable says why a fault cannot be done to the node, empty if it can.
func (r *runner) unavailable(name string, about Description) string {
	if holder := r.held[hold{name, about.part}]; holder != nil {
		return name + " is " + holder.about.state + " already"
	}
	if about.part == partProcess && !r.stage.running(name) {
		return name + " is down already"
	}
	return ""
}

// taker lets an injection take hold of a server that has ended under it.
func (r *runner) taker(i *injecting) taker {
	return func(node string) (release func(), free bool) {
		r.mu.Lock()
		defer r.mu.Unlock()
		server := hold{node, partProcess}
		switch r.held[server] {
		case i:
			return func() {}, true
		case nil:
			r.held[server] = i
			return func() {
				r.mu.Lock()
				defer r.mu.Unlock()
				delete(r.held, server)
			}, true
		}
		return nil, false
	}
}

func (r *runner) release(i *injecting) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range i.choice.concerned() {
		delete(r.held, hold{name, i.about.part})
	}
	r.acting = slices.DeleteFunc(r.acting, func(a *injecting) bool { return a == i })
}

// turn waits until all later injections are undone.
func (r *runner) turn(i *injecting) {
	r.mu.Lock()
	var later []*injecting
	for _, a := range r.acting {
		if a.Number > i.Number {
			later = append(later, a)
		}
	}
	r.mu.Unlock()
	for _, a := range later {
		<-a.undone
	}
}
