package application

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"assay/application/wire"
	"assay/cluster"
	"assay/fault"
	"assay/store"
	"assay/store/durability"
	"assay/store/promise"
)

// Servers are a cluster of assay's own, to which real faults are done while the application runs.
type Servers struct {
	Cluster *cluster.Cluster
	Faults  []fault.Fault
	// Describe asks the database for its product, version and settings.
	Describe func(context.Context) (store.Product, error)
}

// healTime bounds how long nodes may take to hold the same data after a fault.
const healTime = 2 * time.Minute

// attempts has each fault strike in a run of its own.
func (s *Servers) attempts(ctx context.Context) (all []attempt, err error) {
	if err := fault.Validate(ctx, s.Faults, fault.Servers(s.Cluster)); err != nil {
		return nil, err
	}
	for _, f := range s.Faults {
		all = append(all, &strike{Fault: f, on: s})
	}
	return all, nil
}

// strike is a fault that is done to the cluster while the application runs. It strikes when the
// application has committed half of what it commits untouched, unless a time is said.
type strike struct {
	fault.Fault
	on *Servers

	recorder *wire.Recorder
	stop     context.CancelFunc
	done     chan struct{}
	// injections and err are there once done is closed.
	injections []fault.Injection
	err        error
}

// Injected implements fault.Recorder. While a fault is in force that ends, an application may wait
// for the server.
func (s *strike) Injected(i fault.Injection) {
	if i.Fault.For != fault.Ever {
		s.recorder.Excuse()
	}
}

// Healed implements fault.Recorder.
func (s *strike) Healed(i fault.Injection) {
	if i.Fault.For != fault.Ever {
		s.recorder.Count()
	}
}

// run implements attempt.
func (s *strike) run(ctx context.Context, t *trying) (*run, error) {
	return t.around(ctx, nil, func(r *run) {
		t.proxy.Tolerate(true)
		s.start(ctx, t, r.recorder)
	}, s.healed)
}

// start begins to wait for the fault's time.
func (s *strike) start(ctx context.Context, t *trying, recorder *wire.Recorder) {
	ctx, s.stop = context.WithCancel(ctx)
	s.done, s.recorder = make(chan struct{}), recorder
	f := s.Fault
	go func() {
		defer close(s.done)
		if f.At < 0 && f.Every == 0 {
			if f.At = 0; !awaitCommits(ctx, recorder, t.base.run.all) {
				return
			}
		}
		s.injections, s.err = fault.Run(ctx, fault.Servers(s.on.Cluster), []fault.Fault{f}, fault.Plan{Seed: t.Seed}, s)
	}()
}

// awaitCommits waits until half as many transactions were committed as in another run; false if
// ctx ends first.
func awaitCommits(ctx context.Context, recorder *wire.Recorder, untouched []*wire.Transaction) bool {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	most, seen, n := changed(untouched), 0, 0
	for {
		all, _ := recorder.Transactions()
		n += changed(all[seen:])
		if seen = len(all); most <= 2*n {
			return true
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
	}
}

// changed counts the transactions that changed something.
func changed(all []*wire.Transaction) (n int) {
	for _, t := range all {
		if t.Changed() {
			n++
		}
	}
	return n
}

// healed ends the fault, waits until all nodes hold the same data, and enters what was done.
func (s *strike) healed(ctx context.Context, r *run) error {
	s.stop()
	<-s.done
	r.moment = moment{event: s.String(), missed: "the application ended before the fault struck; have it do more, or let it strike earlier"}
	injected := slices.DeleteFunc(s.injections, func(i fault.Injection) bool { return i.Skipped || i.InjectedAt.IsZero() })
	for _, i := range injected {
		r.place = append(r.place, strings.Join(i.Nodes, ", "))
		if !i.Proven || i.Problem != "" {
			r.problem = errors.Join(r.problem, fmt.Errorf("the fault is not proven to have taken effect, or to have ended: %s; %s", i.Proof, i.Problem))
		}
	}
	r.problem = errors.Join(r.problem, s.err)
	settling, cancel := context.WithTimeout(ctx, healTime)
	defer cancel()
	if err := s.on.Cluster.Settled(settling); err != nil {
		r.problem = errors.Join(r.problem, fmt.Errorf("after the fault: %w", err))
	}
	if len(injected) == 0 {
		return ctx.Err()
	}
	began := time.Now().Add(-r.recorder.Now())
	r.met = max(injected[0].InjectedAt.Sub(began), 1)
	product, err := s.on.Describe(settling)
	if err != nil {
		r.problem = errors.Join(r.problem, err)
		return ctx.Err()
	}
	var faults []promise.Fault
	holding := s.holding()
	for _, i := range injected {
		faults = append(faults, faultOf(i, began, holding))
	}
	r.ruling = func(lost []loss) promise.Ruling { return ruling(product, faults, len(holding), lost) }
	return ctx.Err()
}

// holding are the names of the nodes that hold data.
func (s *strike) holding() (all []string) {
	for _, n := range s.on.Cluster.Nodes() {
		if !n.Arbiter() {
			all = append(all, n.Name())
		}
	}
	return all
}

// faultOf is what was done, as far as it decides what may be lost, in the time of the recording.
func faultOf(i fault.Injection, began time.Time, holding []string) promise.Fault {
	since := func(at time.Time) int64 {
		if at.IsZero() {
			return 0
		}
		return int64(at.Sub(began))
	}
	about, _ := fault.Lookup(i.Fault.Action)
	isNode := func(name string) bool { return cluster.RoleOf(name) == "" }
	count := func(names []string) int {
		return len(slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !slices.Contains(holding, name) }))
	}
	hit, killed := count(i.Nodes), i.Nodes
	if !about.Kills && !about.CutsPower {
		killed = i.Killed // only those that did not end in order in their time
	}
	f := promise.Fault{At: since(i.InjectedAt), CutAt: since(i.CutAt), Healed: since(i.HealedAt), Kills: (about.Kills || !i.KilledAt.IsZero()) && slices.ContainsFunc(killed, isNode),
		KilledAt: since(i.KilledAt), Ends: about.Ends && slices.ContainsFunc(i.Nodes, isNode), CutsPower: about.CutsPower, Divides: about.Divides, StandsStill: about.StandsStill,
		HitPrimary: slices.Contains(i.Nodes, i.Primary), TookOver: i.NewPrimary != "" && i.NewPrimary != i.Primary, NoProcess: count(killed), NoPower: hit}
	if about.Empties {
		f.Away = hit
	}
	return f
}

// ruling is what the database promises of rows that are lost after faults.
func ruling(of store.Product, faults []promise.Fault, nodes int, lost []loss) promise.Ruling {
	var all []promise.Ruling
	for _, l := range lost {
		all = append(all, rulingOf(of, faults, nodes, l))
	}
	return promise.Merge(all)
}

func rulingOf(of store.Product, faults []promise.Fault, nodes int, l loss) promise.Ruling {
	c := promise.Circumstances{Product: of.Name, Version: of.Version, Nodes: nodes, Timed: true, Tables: []string{l.table}}
	for _, setting := range of.Settings {
		if s := durability.Setting(setting); !strings.HasPrefix(s.Name, store.SettingStoredAs) {
			c.Settings = append(c.Settings, s)
		} else if slices.ContainsFunc(strings.Split(s.Value, ", "), func(table string) bool { return named(table) == l.table }) {
			s.Value = l.table // how others are stored excuses nothing here
			c.Settings = append(c.Settings, s)
		}
	}
	for name, value := range l.asked { // the last of a name counts
		if value != "" {
			c.Settings = append(c.Settings, durability.Setting{Name: name, Value: value})
		}
	}
	g, excused := durability.Of(c.Product, c.Settings), false
	for _, f := range faults {
		c.Happened = c.Happened.With(f, g, nodes)
		excused = excused || slices.ContainsFunc(f.Moments(g, nodes), func(m promise.Moment) bool { return m.MayLose(int64(l.of.Began), int64(l.of.Ended)) })
	}
	switch doubt := l.doubt(); {
	case excused:
		return c.OfLoss()
	case doubt != "":
		return promise.Ruling{Source: doubt}
	}
	return c.Of(promise.Durability)
}
