package fault

import (
	"context"
	"fmt"

	"assay/cluster"
	"assay/cluster/machine"
)

// slowdown sets limits on the machines of nodes that run.
type slowdown struct {
	nodes  []*slowedNode
	limits machine.Limits
	// format is a limit in words.
	format func(limit float64) string
	// controller is the limit's name in cgroups of version 1, read what is in
	// force there and what that has done.
	controller string
	read       func(cgroup) (pressure, error)
	acquire    acquirer
}

type slowedNode struct {
	*cluster.Node
	removeLimit func() error // nil until there is one
	group       cgroup       // once it is found; it outlives the server
	before      pressure
}

// pressure is what the kernel reports about a limit.
type pressure struct {
	// limit is in the unit of machine.Limits; 0 means none.
	limit float64
	// throttled is how often somebody had to wait for it; counted is false if
	// the kernel does not count it.
	throttled int64
	counted   bool
}

func slowedNodes(nodes []*cluster.Node) (all []*slowedNode) {
	for _, n := range nodes {
		all = append(all, &slowedNode{Node: n})
	}
	return all
}

func (s *slowdown) inject(context.Context) error {
	return forEach(s.nodes, func(n *slowedNode) (err error) {
		if n.removeLimit, err = n.Machine().SetLimits(s.limits); err != nil {
			return err
		}
		n.before, err = s.readPressure(n)
		return err
	})
}

// readPressure reads what the kernel reports about a node's limit. A server that
// is down has the zero pressure until it was seen once.
func (s *slowdown) readPressure(n *slowedNode) (pressure, error) {
	if n.group.folder == "" {
		if !n.Running() {
			return pressure{}, nil
		}
		var err error
		if n.group, err = cgroupOf(n.PID(), s.controller); err != nil {
			return pressure{}, err
		}
	}
	return s.read(n.group)
}

// verify is that the kernel has the limit in force, and that somebody had to
// wait for it where that is counted.
func (s *slowdown) verify(context.Context, bool) (observation, error) {
	return observeEach(s.nodes, func(n *slowedNode) (observation, error) {
		now, err := s.readPressure(n)
		if err != nil {
			return observation{}, err
		}
		throttled := now.throttled - n.before.throttled
		wanted := s.limits.CPU + float64(s.limits.DiskWrite) // one of them is 0
		switch {
		case now.limit != wanted:
			return observation{text: fmt.Sprintf("the kernel's limit is %s, not %s", s.format(now.limit), s.format(wanted))}, nil
		case !now.counted:
			return observation{proven: true, text: "the kernel holds the limit of " + s.format(wanted)}, nil
		}
		return observation{proven: throttled > 0,
			text: fmt.Sprintf("the kernel holds the limit of %s and has throttled the server %d times", s.format(wanted), throttled)}, nil
	})
}

func (s *slowdown) undo(context.Context) error {
	return forEach(s.nodes, func(n *slowedNode) error {
		if n.removeLimit == nil {
			return nil
		}
		return n.removeLimit()
	})
}

func (s *slowdown) restore(ctx context.Context) (string, error) {
	return describeEach(s.nodes, func(n *slowedNode) (string, error) {
		now, err := s.readPressure(n)
		if err != nil {
			return "", err
		}
		limit := "the limit is gone, "
		if now.limit != 0 {
			limit = "the limit is " + s.format(now.limit) + " again, "
		}
		text, err := awaitReachable(ctx, n.Node, s.acquire)
		return limit + text, err
	})
}
