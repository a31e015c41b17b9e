package fault

import (
	"context"
	"slices"
)

// claim reserves the nodes. A fault of all nodes leaves out those that are taken; any other fault
// is then skipped.
func (r *runner) claim(ctx context.Context, i *injecting) bool {
	down := r.down(i)
	r.mu.Lock()
	defer r.mu.Unlock()
	if ctx.Err() != nil {
		i.dropped = true
		return false
	}
	var free, taken []string
	for _, name := range i.choice.affected() {
		if why := r.unavailable(name, i.about, down); why != "" {
			taken = append(taken, why)
		} else {
			free = append(free, name)
		}
	}
	if len(taken) > 0 && (len(free) == 0 || !i.Fault.meansAll()) {
		i.Nodes = i.choice.nodes
		i.skip(joined(taken))
		return false
	}
	if len(taken) > 0 {
		i.choice.nodes, i.choice.detail = free, "left out: "+joined(taken)
	}
	i.Nodes, i.Detail = i.choice.nodes, i.choice.detail
	holding, holds := r.system.(holding)
	for _, name := range i.choice.affected() {
		r.inUse[resource{name, i.about.part}] = i
		if holds && i.about.part == partProcess {
			i.held = append(i.held, holding.hold(name))
		}
	}
	at, _ := slices.BinarySearchFunc(r.acting, i.Number, func(a *injecting, n int) int { return a.Number - n })
	r.acting = slices.Insert(r.acting, at, i)
	return true
}

// down are the nodes whose servers do not run, for a fault that needs them to. It may take seconds,
// so that mu must not be held.
func (r *runner) down(i *injecting) map[string]bool {
	down := map[string]bool{}
	if i.about.part == partProcess {
		for _, name := range i.choice.affected() {
			down[name] = !r.system.running(name)
		}
	}
	return down
}

// unavailable says why a fault cannot be done to the node; empty if it can.
func (r *runner) unavailable(name string, about Action, down map[string]bool) string {
	if holder := r.inUse[resource{name, about.part}]; holder != nil {
		return name + " is " + holder.about.state + " already"
	}
	if down[name] {
		return name + " is down already"
	}
	return ""
}

// acquirer lets an injection reserve a server that has ended under it.
func (r *runner) acquirer(i *injecting) acquirer {
	return func(node string) (release func(), free bool) {
		r.mu.Lock()
		defer r.mu.Unlock()
		server := resource{node, partProcess}
		switch r.inUse[server] {
		case i:
			return func() {}, true
		case nil:
			r.inUse[server] = i
			return func() {
				r.mu.Lock()
				defer r.mu.Unlock()
				delete(r.inUse, server)
			}, true
		}
		return nil, false
	}
}

func (r *runner) release(i *injecting) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range i.choice.affected() {
		delete(r.inUse, resource{name, i.about.part})
	}
	for _, release := range i.held {
		release()
	}
	r.acting = slices.DeleteFunc(r.acting, func(a *injecting) bool { return a == i })
}

// awaitLater waits for the undoing of later faults, but not of one that may still last: a fault that
// lasts for ever outlives the measured part, and earlier faults must not.
func (r *runner) awaitLater(i *injecting) {
	r.mu.Lock()
	var later []*injecting
	for _, a := range r.acting {
		if a.Number > i.Number && isClosed(a.over) {
			later = append(later, a)
		}
	}
	r.mu.Unlock()
	for _, a := range later {
		<-a.undone
	}
}
