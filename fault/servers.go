package fault

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"assay/cluster"
)

// servers is the stage of real ones.
type servers struct{ cluster *cluster.Cluster }

func (s servers) members() []member {
	var all []member
	for _, n := range s.cluster.Nodes() {
		all = append(all, member{name: n.Name(), arbiter: n.Arbiter()})
	}
	return all
}

func (s servers) primary(ctx context.Context) (string, error) {
	n, err := s.cluster.Primary(ctx)
	if err != nil {
		return "", err
	}
	return n.Name(), nil
}

func (s servers) running(name string) bool {
	n := s.cluster.Node(name)
	return n != nil && n.Running()
}

func (s servers) prepare(f Fault, c choice, take taker) (deed, error) {
	nodes, err := s.nodes(c.nodes)
	if err != nil {
		return nil, err
	}
	switch f.Action {
	case Grow:
		return &growing{cluster: s.cluster, take: take}, nil
	case Remove:
		return &removing{cluster: s.cluster, node: nodes[0]}, nil
	case Kill:
		return kill(nodes), nil
	case Stop:
		return stop(nodes), nil
	case Restart:
		return restart(nodes), nil
	case Pause:
		return &pausing{nodes: nodes, take: take}, nil
	case Isolate:
		return isolate(s, nodes, f.Clients, take), nil
	case Partition:
		return separate(s, c.cuts, take)
	case Flaky:
		return flaky(nodes, f.Share, take), nil
	case SlowDisk:
		return slowDisk(nodes, f.Rate, take), nil
	case SlowCPU:
		return slowCPU(nodes, f.Share, take), nil
	case Clock:
		return shiftClock(nodes, f.Offset)
	}
	return nil, fmt.Errorf("there is no action %s", f.Action)
}

func (s servers) nodes(names []string) ([]*cluster.Node, error) {
	var all []*cluster.Node
	for _, name := range names {
		n := s.cluster.Node(name)
		if n == nil {
			return nil, fmt.Errorf("there is no node %s", name)
		}
		all = append(all, n)
	}
	return all, nil
}

// each does something to all nodes at the same time; the errors name the node.
func each(nodes []*cluster.Node, do func(*cluster.Node) error) error {
	failed := make([]error, len(nodes))
	var wait sync.WaitGroup
	for i, n := range nodes {
		wait.Go(func() {
			// A panic in a goroutine of its own would end assay.
			if err := guard(func() error { return do(n) }); err != nil {
				failed[i] = fmt.Errorf("%s: %w", n.Name(), err)
			}
		})
	}
	wait.Wait()
	return errors.Join(failed...)
}

// looked is like each for something that has a text to tell of every node.
func looked(nodes []*cluster.Node, do func(*cluster.Node) (string, error)) (string, error) {
	texts := make([]string, len(nodes))
	err := each(nodes, func(n *cluster.Node) error {
		text, err := do(n)
		if text != "" {
			texts[slices.Index(nodes, n)] = n.Name() + ": " + text
		}
		return err
	})
	told := slices.DeleteFunc(texts, func(text string) bool { return text == "" })
	return strings.Join(told, "; "), err
}

func hostPort(n *cluster.Node) string {
	return n.Address()
}

// dialBound is how long a connection may take before it counts as not made.
// A node that is there answers at once, or after one lost packet (the first
// repetition comes after a second).
const dialBound = 1500 * time.Millisecond

// dial tries once to reach the node from here, and from a machine if one is
// given.
func dial(ctx context.Context, n *cluster.Node, bound time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", hostPort(n))
	if err != nil {
		return err
	}
	return conn.Close()
}

// refuses reports whether the node's port is closed, as that of a machine
// without the server is.
func refuses(ctx context.Context, n *cluster.Node) bool {
	return errors.Is(dial(ctx, n, dialBound), syscall.ECONNREFUSED)
}

// back waits until a connection to the node can be made by dial. A server that
// has ended under a fault that does not end servers is started again, as the
// one who looks after the machines would: a cluster may kill a node that is
// silent, so that it takes no more writes. One that another fault has ended is
// left to that, and one that is no member any more is not wanted back.
func back(ctx context.Context, n *cluster.Node, take taker, dial func() error) (string, error) {
	for {
		if !n.Running() {
			if !n.Member() {
				return "it has left the cluster", nil
			}
			release, free := take(n.Name())
			if !free {
				return "its server is down for another fault", nil
			}
			defer release()
			text, err := startAgain(ctx, n)
			return "its server had ended meanwhile, and " + text, err
		}
		err := dial()
		if err == nil {
			return "port " + strconv.Itoa(n.Port()) + " answers", nil
		}
		if !sleepUntil(ctx, time.Now().Add(50*time.Millisecond)) {
			return "", fmt.Errorf("%s does not answer: %w", n.Address(), err)
		}
	}
}

// backHere is back with connections from here.
func backHere(ctx context.Context, n *cluster.Node, take taker) (string, error) {
	return back(ctx, n, take, func() error { return dial(ctx, n, dialBound) })
}
