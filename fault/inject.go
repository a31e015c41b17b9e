package fault

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"assay/cluster"
	"assay/cluster/server"
)

// inject brings the fault about, lets it last, heals it, and releases its nodes. The caller must end
// the watch, which may still await a new primary.
func (r *runner) inject(ctx context.Context, i *injecting) *watch {
	defer r.release(i)
	lasting := i.Fault
	if lasting.For == Ever {
		lasting.For = cmp.Or(r.plan.Duration, longestWork)
	}
	var err error
	if i.injector, err = r.system.prepare(lasting, i.choice, r.acquirer(i)); err != nil {
		close(i.undone)
		i.problem(err)
		return &watch{}
	}
	i.InjectedAt = time.Now()
	w := r.watch(i)
	defer close(w.healed)
	defer r.heal(ctx, i)
	r.recorder.Injected(i.Injection)
	err = guard(func() error { return i.injector.inject(ctx) })
	close(w.acted)
	if t, is := i.injector.(teller); is {
		t.tell(&i.Injection)
	}
	i.forced(r.system)
	acted := time.Now() // a server that ends in order takes its time
	switch {
	case err != nil && ctx.Err() != nil:
		i.addDetail("the run ended while it was being done")
	case err != nil:
		i.problem(err)
	default:
		i.look(ctx, false)
		i.last(ctx, acted)
	}
	return w
}

// last lets the fault act for its time, or until ctx ends.
func (i *injecting) last(ctx context.Context, acted time.Time) {
	if i.occurrence.For == Ever {
		<-ctx.Done()
		return
	}
	sleepUntil(ctx, acted.Add(i.occurrence.For))
}

// forced notes the servers that did not end in order in their time, and were killed. More of them
// may be killed while the fault is healed. A fault that kills did so when it began.
func (i *injecting) forced(s System) {
	killing, is := s.(forcing)
	if !is || i.about.Kills || i.about.CutsPower {
		return
	}
	for _, name := range i.Nodes {
		at := killing.forced(name)
		if at == nil || at.Before(i.InjectedAt) || slices.Contains(i.Killed, name) {
			continue
		}
		if i.KilledAt.IsZero() || at.Before(i.KilledAt) {
			i.KilledAt = *at
		}
		i.Killed = append(i.Killed, name)
		i.addDetail(name + " did not end in order in its time and was killed")
	}
}

func (i *injecting) addDetail(text string) {
	if i.Detail != "" {
		text = i.Detail + "; " + text
	}
	i.Detail = text
}

// look keeps what is seen of the fault. Only at the last look is a failure a problem.
func (i *injecting) look(ctx context.Context, last bool) {
	var seen observation
	err := guard(func() (err error) {
		seen, err = i.injector.verify(ctx, last)
		return err
	})
	if err == nil {
		i.Proven, i.Proof = seen.proven, seen.text
		return
	}
	if last {
		i.Proven = false
		i.problem(fmt.Errorf("prove: %w", err))
	}
}

// heal undoes the fault and sees the nodes back, whatever happened before. The last look has a time
// of its own, so that healing has all of its own.
func (r *runner) heal(ctx context.Context, i *injecting) {
	if ctx.Err() != nil {
		r.awaitLater(i)
	}
	ctx = context.WithoutCancel(ctx)
	looking, cancelLook := context.WithTimeout(ctx, lastLookWithin)
	i.look(looking, true)
	cancelLook()
	bound := r.plan.HealWithin
	if i.about.Empties {
		bound *= replaceBound
	}
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	tries, err := i.undo(ctx, bound/2)
	i.problem(err)
	if !i.about.restarts {
		r.healed(i, err == nil)
	}
	err = guard(func() (err error) {
		i.Healing, err = i.injector.restore(ctx)
		return err
	})
	if err == nil {
		i.Healing += tries
	}
	i.problem(err)
	i.forced(r.system)
	if i.about.restarts {
		r.healed(i, err == nil)
	}
	i.Healed = err == nil && !i.HealedAt.IsZero()
}

// undo takes the fault back. After an error it tries again, with growing pauses, as long as a try can
// begin within this time. tries says for the user that the first try failed; otherwise it is empty.
func (i *injecting) undo(ctx context.Context, within time.Duration) (tries string, err error) {
	last := time.Now().Add(within)
	once := func() error { return guard(func() error { return i.injector.undo(ctx) }) }
	err = once()
	close(i.undone) // whatever comes of it: earlier faults are not to wait for the next try
	for n, pause := 2, startPause; err != nil; n, pause = n+1, 2*pause {
		if next := time.Now().Add(pause); next.After(last) || !sleepUntil(ctx, next) {
			return tries, err
		}
		err = once()
		tries = fmt.Sprintf(", undone at the attempt number %d", n)
	}
	return tries, err
}

func (r *runner) healed(i *injecting, really bool) {
	if really {
		i.HealedAt = time.Now()
	}
	r.recorder.Healed(i.Injection)
}

type watch struct {
	acted, healed chan struct{}
	found         chan primaryFound // nil without a watch
}

type primaryFound struct {
	name   string
	at     time.Time
	lost   string // who lost the writes; empty if unknown
	stayed bool   // the old primary took writes when all was healed, and no other did before
}

// watch begins to look if the fault hits the primary. A fault that separates nodes, or hits the
// servers that decide, may take the writes from any primary.
func (r *runner) watch(i *injecting) *watch {
	w := &watch{acted: make(chan struct{}), healed: make(chan struct{})}
	if i.about.BacksUp {
		return w
	}
	deciders := i.Fault.hitsDeciders()
	hit := i.Fault.Target == TargetAll || len(i.choice.cuts) > 0 || deciders
	for _, name := range i.Nodes {
		hit = hit || name == i.Primary
	}
	if !hit || i.Primary == "" && i.Fault.Target != TargetAll {
		return w
	}
	w.found = make(chan primaryFound, 1)
	look := primaryLookout{system: r.system, old: i.Primary, before: i.primaries, silences: i.about.silences && !deciders, deciders: deciders}
	go func() {
		var found primaryFound
		// A panic in the product's answer is not the watch's to report.
		_ = guard(func() error {
			found = w.look(look)
			return nil
		})
		w.found <- found
	}()
	return w
}

func (f Fault) hitsDeciders() bool {
	all, _ := sides(f.Target)
	return slices.ContainsFunc(all, func(s side) bool { return cluster.Decides(s.role) })
}

// primaryLookout is what is known of the primary that a fault may replace.
type primaryLookout struct {
	system System
	old    string
	// before took writes before the fault: old, and the primaries of other shards.
	before []string
	// silences means that old cannot answer under the fault, deciders that the fault hits the
	// servers that decide: old may then lose its place and get it back.
	silences, deciders bool
}

// look asks for the primary until another node takes writes, or the old one does again. A node that
// the fault does not silence may wrongly call itself primary meanwhile. So it is believed only when
// all is healed, and has then stayed. Under a fault of the servers that decide, it has not stayed
// if there was no primary for primaryLook.
func (w *watch) look(l primaryLookout) primaryFound {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-w.healed:
			timer := time.AfterFunc(primaryGrace, cancel)
			defer timer.Stop()
			<-ctx.Done()
		case <-ctx.Done():
		}
	}()
	gone := false
	for ctx.Err() == nil {
		acted, healed := isClosed(w.acted), isClosed(w.healed)
		now, err := l.ask(ctx)
		another, again := first(without(now, l.before)), slices.Contains(now, l.old)
		var none *server.NoPrimaryError
		switch {
		case errors.As(err, &none):
			return primaryFound{}
		case another != "" && (acted || l.old != ""):
			return primaryFound{name: another, at: time.Now(), lost: first(without(l.before, now))}
		case again && acted && (l.silences || gone):
			return primaryFound{name: l.old, at: time.Now()}
		case again && healed:
			return primaryFound{stayed: true}
		}
		gone = gone || acted && l.deciders && errors.Is(err, context.DeadlineExceeded)
		sleepUntil(ctx, time.Now().Add(50*time.Millisecond))
	}
	return primaryFound{}
}

// ask asks who takes writes, under a fault of the servers that decide for at most primaryLook.
func (l primaryLookout) ask(ctx context.Context) ([]string, error) {
	if l.deciders {
		bounded, cancel := context.WithTimeout(ctx, primaryLook)
		defer cancel()
		ctx = bounded
	}
	return l.system.primaries(ctx)
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func (w *watch) end(i *injecting) {
	if w.found == nil {
		return
	}
	found := <-w.found
	if i.PrimaryStayed = found.stayed; found.name != "" {
		i.NewPrimary, i.NewPrimaryAfter = found.name, found.at.Sub(i.InjectedAt)
		i.Primary = cmp.Or(found.lost, i.Primary)
	}
}

func joined(parts []string) string { return strings.Join(parts, ", ") }
