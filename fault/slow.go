package fault

import (
	"context"
	"fmt"
	"sync"

	"assay/cluster"
	"assay/cluster/machine"
)

// slowing sets limits on the machines of nodes that run.
type slowing struct {
	nodes  []*cluster.Node
	limits machine.Limits
	// tell is a limit in words.
	tell func(limit float64) string
	// controller is the limit's name in cgroups of version 1, read what is in
	// force there and what that has done.
	controller string
	read       func(cgroup) (pressure, error)
	take       taker

	mu      sync.Mutex
	restore map[string]func() error
	groups  map[string]cgroup // those that were found; they outlive the servers
	before  map[string]pressure
}

// pressure is what the kernel tells of a limit.
type pressure struct {
	// limit is in the unit of machine.Limits; 0 means none.
	limit float64
	// throttled is how often somebody had to wait for it; counted is false if
	// the kernel does not tell.
	throttled int64
	counted   bool
}

func (s *slowing) act(context.Context) error {
	s.restore, s.groups, s.before = map[string]func() error{}, map[string]cgroup{}, map[string]pressure{}
	return each(s.nodes, func(n *cluster.Node) error {
		restore, err := n.Machine().SetLimits(s.limits)
		s.mu.Lock()
		s.restore[n.Name()] = restore
		s.mu.Unlock()
		if err != nil {
			return err
		}
		before, err := s.look(n)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.before[n.Name()] = before
		return err
	})
}

// look reads what the kernel tells of a node's limit. A server that is down
// has the zero pressure until it was seen once.
func (s *slowing) look(n *cluster.Node) (pressure, error) {
	s.mu.Lock()
	group, found := s.groups[n.Name()]
	s.mu.Unlock()
	if !found {
		if !n.Running() {
			return pressure{}, nil
		}
		var err error
		if group, err = cgroupOf(n.PID(), s.controller); err != nil {
			return pressure{}, err
		}
		s.mu.Lock()
		s.groups[n.Name()] = group
		s.mu.Unlock()
	}
	return s.read(group)
}

// proof is that the kernel holds the limit, and that somebody had to wait for
// it where that is counted.
func (s *slowing) proof(context.Context, bool) (sight, error) {
	var mu sync.Mutex
	proven := true
	text, err := looked(s.nodes, func(n *cluster.Node) (string, error) {
		now, err := s.look(n)
		if err != nil {
			return "", err
		}
		s.mu.Lock()
		throttled := now.throttled - s.before[n.Name()].throttled
		s.mu.Unlock()
		wanted := s.limits.CPU + float64(s.limits.DiskWrite) // one of them is 0
		held := now.limit == wanted
		mu.Lock()
		proven = proven && held && (!now.counted || throttled > 0)
		mu.Unlock()
		switch {
		case !held:
			return fmt.Sprintf("the kernel's limit is %s, not %s", s.tell(now.limit), s.tell(wanted)), nil
		case !now.counted:
			return "the kernel holds the limit of " + s.tell(wanted), nil
		}
		return fmt.Sprintf("the kernel holds the limit of %s and has throttled the server %d times", s.tell(wanted), throttled), nil
	})
	return sight{proven: proven && err == nil, text: text}, err
}

func (s *slowing) undo(context.Context) error {
	return each(s.nodes, func(n *cluster.Node) error {
		s.mu.Lock()
		restore := s.restore[n.Name()]
		s.mu.Unlock()
		if restore == nil {
			return nil
		}
		return restore()
	})
}

func (s *slowing) confirm(ctx context.Context) (string, error) {
	return looked(s.nodes, func(n *cluster.Node) (string, error) {
		now, err := s.look(n)
		if err != nil {
			return "", err
		}
		limit := "the limit is gone, "
		if now.limit != 0 {
			limit = "the limit is " + s.tell(now.limit) + " again, "
		}
		text, err := backHere(ctx, n, s.take)
		return limit + text, err
	})
}
