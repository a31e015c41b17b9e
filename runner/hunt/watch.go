package hunt

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"assay/cluster"
	"assay/history"
)

// A cluster's state is named by who takes writes, by nodes that are down or under a fault, and
// by whether the servers that decide who takes writes are there.
const (
	ledFirst   = "the first primary"
	ledAnother = "another primary"
	ledNone    = "no primary"

	allWell   = "all well"
	oneHit    = "a node hit"
	someHit   = "several nodes hit"
	allHit    = "all nodes hit"
	rejoining = "nodes back"

	decidersHit = "deciders hit"
)

// States names all states that the cluster can have, as far as is known beforehand.
func (s *Space) States() (all []string) {
	leads, hits, deciders := []string{""}, []string{allWell, oneHit}, []string{""}
	if s.Led {
		leads = []string{ledFirst, ledNone}
	}
	nodes := s.Specs[0].Nodes + s.Specs[0].Arbiters
	if s.Led && nodes > 1 {
		leads = append(leads, ledAnother)
	}
	if nodes > 2 {
		hits = append(hits, someHit)
	}
	if nodes > 1 {
		hits = append(hits, allHit)
	}
	if slices.ContainsFunc(s.Specs[0].Members(), func(m cluster.Member) bool { return cluster.Decides(m.Role) }) {
		deciders = append(deciders, decidersHit)
	}
	for _, lead := range leads {
		for _, hit := range append(hits, rejoining) {
			for _, decider := range deciders {
				all = append(all, stateName(lead, hit, decider))
			}
		}
	}
	return all
}

func stateName(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), ", ")
}

type looked interface {
	Servers() []*cluster.Node
	Primary(ctx context.Context) (*cluster.Node, error)
}

const (
	lookEvery    = 200 * time.Millisecond
	primaryBound = 400 * time.Millisecond
)

// watcher watches the cluster during a run. It is a runner.Monitor to learn of faults.
type watcher struct {
	cluster looked
	led     bool

	mu     sync.Mutex
	acting map[string]int // faults, by node
	under  map[string]int // the same, by action
	first  string         // who took writes in the beginning
	leader string         // who takes writes now
	struck bool           // a fault has begun
	states map[string]bool
	pairs  map[Pair]bool
}

func watch(ctx context.Context, c looked, led bool) (w *watcher, stop func() Seen) {
	w = &watcher{cluster: c, led: led, acting: map[string]int{}, under: map[string]int{}, states: map[string]bool{}, pairs: map[Pair]bool{}}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		for ctx.Err() == nil {
			w.look(ctx)
			select {
			case <-ctx.Done():
			case <-tick.C:
			}
		}
	}()
	return w, func() Seen {
		cancel()
		<-done
		w.mu.Lock()
		defer w.mu.Unlock()
		var s Seen
		for name := range w.states {
			s.States = append(s.States, name)
		}
		for p := range w.pairs {
			s.Pairs = append(s.Pairs, p)
		}
		return s
	}
}

func (w *watcher) look(ctx context.Context) {
	leader := ""
	if w.led {
		asking, cancel := context.WithTimeout(ctx, primaryBound)
		if n, err := w.cluster.Primary(asking); err == nil {
			leader = n.Name()
		}
		cancel()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.leader = leader; w.first == "" {
		w.first = leader
	}
	if ctx.Err() == nil {
		w.states[w.state()] = true
	}
}

// state is the present state. The caller holds mu.
func (w *watcher) state() string {
	lead, hit, deciders, out, all := "", allWell, "", 0, 0
	for _, n := range w.cluster.Servers() {
		gone := w.acting[n.Name()] > 0 || !n.Running()
		switch {
		case n.Role() == "":
			all++
			if gone {
				out++
			}
		case gone && cluster.Decides(n.Role()):
			deciders = decidersHit
		}
	}
	switch {
	case out == 0 && w.struck:
		hit = rejoining
	case out == all && all > 1:
		hit = allHit
	case out > 1:
		hit = someHit
	case out == 1:
		hit = oneHit
	}
	switch {
	case !w.led:
	case w.leader == "":
		lead = ledNone
	case w.leader == w.first:
		lead = ledFirst
	default:
		lead = ledAnother
	}
	w.struck = w.struck || out > 0
	return stateName(lead, hit, deciders)
}

func (w *watcher) Fault(action, _ string, on []string, active bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	name, _, _ := strings.Cut(action, "=")
	by := -1
	if active {
		by = 1
		state := w.state()
		for _, other := range slices.Sorted(maps.Keys(w.under)) {
			if w.under[other] > 0 {
				state += ", under " + other
			}
		}
		w.pairs[Pair{name, state}] = true
	}
	w.under[name] = max(w.under[name]+by, 0)
	for _, n := range on {
		w.acting[n] = max(w.acting[n]+by, 0)
	}
	w.states[w.state()] = true
}

func (*watcher) Begin(string, string, string, string, map[uint8]string) {}
func (*watcher) Phase(string)                                           {}
func (*watcher) Clients(int)                                            {}
func (*watcher) Recorded(*history.Op)                                   {}
