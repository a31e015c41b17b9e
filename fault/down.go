package fault

import (
	"context"
	"fmt"
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
