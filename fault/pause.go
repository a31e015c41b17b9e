package fault

import (
	"context"
	"errors"
	"fmt"
	"os"

	"assay/cluster"
)

// pause stops processes, as on a machine that swaps or whose hypervisor is busy.
func pause() Action {
	return Action{Name: "pause", Targets: serverTargets(), Lasts: true, Divides: true, StandsStill: true, part: partProcess, state: "paused", silences: true,
		Effect: "stops all processes of the server where they are; healing lets them go on",
		on: func(t task) (injector, error) {
			return onEach(t.nodes, func(n *cluster.Node) oneNode { return &pausedNode{Node: n, acquire: t.acquire} }), nil
		}}
}

type pausedNode struct {
	*cluster.Node
	acquire acquirer
	seen    string
}

func (n *pausedNode) inject(context.Context) error { return n.Pause() }

// verify checks that every process of the server is stopped. A process that was killed for its
// silence after it was seen stopped counts as paused.
func (n *pausedNode) verify(context.Context, bool) (observation, error) {
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
}

func (n *pausedNode) undo(context.Context) error {
	if err := n.Resume(); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil // restore starts it again
}

func (n *pausedNode) restore(ctx context.Context) (string, error) {
	halted, err := n.Halted()
	switch {
	case !n.Running():
		return awaitReachable(ctx, n.Node, n.acquire)
	case err != nil:
		return "", err
	case halted:
		return "", errors.New("all its processes are still stopped")
	}
	text, err := awaitReachable(ctx, n.Node, n.acquire)
	return "its processes go on, " + text, err
}
