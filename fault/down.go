package fault

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"assay/cluster"
	"assay/cluster/server"
)

// shutdown ends servers; healing starts them again.
type shutdown struct {
	nodes []*endedNode
	end   func(context.Context, *cluster.Node) error
}

// endedNode is a node with the processes that its server had before it ended.
type endedNode struct {
	*cluster.Node
	before []server.ProcessID
}

func newShutdown(nodes []*cluster.Node, end func(context.Context, *cluster.Node) error) *shutdown {
	s := &shutdown{end: end}
	for _, n := range nodes {
		s.nodes = append(s.nodes, &endedNode{Node: n})
	}
	return s
}

func (s *shutdown) inject(ctx context.Context) error {
	return forEach(s.nodes, func(n *endedNode) (err error) {
		if n.before, err = n.Processes(); err != nil {
			return err
		}
		return s.end(ctx, n.Node)
	})
}

// verify looks for every process that the servers had before: all must be gone,
// and the ports closed.
func (s *shutdown) verify(ctx context.Context, _ bool) (observation, error) {
	return observeEach(s.nodes, func(n *endedNode) (observation, error) {
		alive := 0
		for _, p := range n.before {
			if p.Alive() {
				alive++
			}
		}
		if len(n.before) == 0 || alive > 0 || n.Running() {
			return observation{text: fmt.Sprintf("%d of %d processes still run", alive, len(n.before))}, nil
		}
		text := fmt.Sprintf("process %d and its %d descendants are gone", n.before[0].PID, len(n.before)-1)
		if len(n.before) == 1 {
			text = fmt.Sprintf("process %d is gone", n.before[0].PID)
		}
		if refuses(ctx, n.Node) {
			text += fmt.Sprintf(", port %d refuses connections", n.Port())
		}
		return observation{proven: true, text: text}, nil
	})
}

func (s *shutdown) undo(context.Context) error { return nil }

func (s *shutdown) restore(ctx context.Context) (string, error) {
	return describeEach(s.nodes, func(n *endedNode) (string, error) {
		if n.Running() { // it could not be ended
			return "it runs", nil
		}
		return startAgain(ctx, n.Node)
	})
}

// startTries is how often a server is started that does not come up, and
// startPause how long to wait in between: of servers that come back together
// one may stand in another's way for a moment.
const (
	startTries = 3
	startPause = time.Second
)

// retry starts a server by start. tries says for the user that the first start
// failed; it is empty else.
func retry(ctx context.Context, start func() error) (tries string, err error) {
	err = start()
	for n := 2; err != nil && n <= startTries && sleepUntil(ctx, time.Now().Add(startPause)); n++ {
		err = start()
		tries = fmt.Sprintf(", at the attempt number %d", n)
	}
	return tries, err
}

// startAgain starts the node's server; the error has the end of its log.
func startAgain(ctx context.Context, n *cluster.Node) (string, error) {
	tries, err := retry(ctx, func() error { return n.Start(ctx) })
	if err == nil {
		return fmt.Sprintf("serves again as process %d%s", n.PID(), tries), nil
	}
	const lines = 10
	log := n.Tail(lines)
	if last := log[strings.LastIndexByte(log, '\n')+1:]; strings.Contains(err.Error(), last) {
		return "", fmt.Errorf("start it again: %w", err)
	}
	return "", fmt.Errorf("start it again: %w; its log %s ends with:\n%s", err, n.Log(), log)
}

// kill ends servers as a power cut would.
func kill(nodes []*cluster.Node) injector {
	return newShutdown(nodes, func(_ context.Context, n *cluster.Node) error { return n.Kill() })
}

// stop has servers end in order, as an administrator would.
func stop(nodes []*cluster.Node) injector {
	return newShutdown(nodes, func(ctx context.Context, n *cluster.Node) error { return n.Stop(ctx) })
}

// restart is a stop that is healed at once: see Description.Lasts.
func restart(nodes []*cluster.Node) injector { return stop(nodes) }

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
