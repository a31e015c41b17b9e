package fault

import (
	"context"
	"errors"
	"fmt"
	"os"

	"assay/cluster"
)

// pause stops servers where they are, as a machine does that swaps or whose
// hypervisor has other things to do.
type pause struct {
	nodes   []*pausedNode
	acquire acquirer
}

// pausedNode is a node with what was seen of it while it was paused.
type pausedNode struct {
	*cluster.Node
	seen string
}

func newPause(nodes []*cluster.Node, acquire acquirer) *pause {
	p := &pause{acquire: acquire}
	for _, n := range nodes {
		p.nodes = append(p.nodes, &pausedNode{Node: n})
	}
	return p
}

func (p *pause) inject(context.Context) error {
	return forEach(p.nodes, func(n *pausedNode) error { return n.Pause() })
}

// verify is that every process of the servers is stopped. One that was killed
// after it was seen so, because it was silent, was paused.
func (p *pause) verify(context.Context, bool) (observation, error) {
	return observeEach(p.nodes, func(n *pausedNode) (observation, error) {
		halted, err := n.Halted()
		switch {
		case !n.Running() && n.seen == "":
			return observation{text: "its server is down"}, nil
		case !n.Running():
			return observation{proven: true, text: n.seen + ", and then it was ended"}, nil
		case err != nil:
			return observation{}, err
		case !halted:
			return observation{text: "not all processes are stopped"}, nil
		}
		processes, err := n.Processes()
		if err != nil {
			return observation{}, err
		}
		n.seen = fmt.Sprintf("all %d processes are stopped", len(processes))
		if len(processes) == 1 {
			n.seen = fmt.Sprintf("process %d is stopped", processes[0].PID)
		}
		return observation{proven: true, text: n.seen}, nil
	})
}

func (p *pause) undo(context.Context) error {
	return forEach(p.nodes, func(n *pausedNode) error {
		if err := n.Resume(); !errors.Is(err, os.ErrProcessDone) {
			return err
		}
		return nil // restore starts it again
	})
}

func (p *pause) restore(ctx context.Context) (string, error) {
	return describeEach(p.nodes, func(n *pausedNode) (string, error) {
		halted, err := n.Halted()
		switch {
		case !n.Running():
			return awaitReachable(ctx, n.Node, p.acquire)
		case err != nil:
			return "", err
		case halted:
			return "", errors.New("all its processes are still stopped")
		}
		text, err := awaitReachable(ctx, n.Node, p.acquire)
		return "its processes go on, " + text, err
	})
}
