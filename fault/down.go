package fault

import (
	"context"
	"fmt"
	"strings"
	"time"

	"assay/cluster"
	"assay/cluster/server"
)

func kill() Action {
	return Action{Name: "kill", Targets: serverTargets(), Lasts: true, Kills: true, part: partProcess, state: "down", silences: true, restarts: true,
		Effect: "ends the server as a power cut would; healing starts it again",
		on:     ending(func(_ context.Context, n *cluster.Node) error { return n.Kill() }),
		Pods:   "deletes the pod without grace; its controller makes it again at once, so for has no effect and for ever is refused",
		pods:   podMeans{remove: deleting(false)}}
}

func stop() Action {
	return Action{Name: "stop", Targets: serverTargets(), Lasts: true, Ends: true, part: partProcess, state: "down", silences: true, restarts: true,
		Effect: "stops the server in order; healing starts it again",
		on:     ending(stopServer),
		Pods:   "deletes the pod, whose containers have their time to end; its controller makes it again, so for has no effect and for ever is refused",
		pods:   podMeans{remove: deleting(true)}}
}

// stopServer leaves the server its time to end, even if ctx ends meanwhile: a server that is killed
// may lose what it keeps when it ends in order.
func stopServer(ctx context.Context, n *cluster.Node) error {
	return n.Stop(context.WithoutCancel(ctx))
}

func restart() Action {
	return Action{Name: "restart", Targets: serverTargets(), Ends: true, part: partProcess, state: "down", silences: true, restarts: true,
		Effect: "stops the server in order and starts it again at once",
		on:     ending(stopServer)}
}

// endedNode is a node whose server is ended. Healing starts it again.
type endedNode struct {
	*cluster.Node
	end    func(context.Context, *cluster.Node) error
	before []server.ProcessID // its processes before
}

func ending(end func(context.Context, *cluster.Node) error) func(task) (injector, error) {
	return func(t task) (injector, error) {
		return onEach(t.nodes, func(n *cluster.Node) oneNode { return &endedNode{Node: n, end: end} }), nil
	}
}

func (n *endedNode) inject(ctx context.Context) (err error) {
	if n.before, err = n.Processes(); err != nil {
		return err
	}
	return n.end(ctx, n.Node)
}

// verify checks that every earlier process of the server is gone, and its port closed.
func (n *endedNode) verify(ctx context.Context, _ bool) (observation, error) {
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
}

func (n *endedNode) undo(context.Context) error { return nil }

func (n *endedNode) restore(ctx context.Context) (string, error) {
	if n.Running() { // it could not be ended
		return "it runs", nil
	}
	return startAgain(ctx, n.Node)
}

// A server that does not come up is started startTries times, startPause apart: servers that start
// together may get in each other's way for a moment.
const (
	startTries = 3
	startPause = time.Second
)

// retry calls start until it succeeds. tries says for the user that the first start failed;
// otherwise it is empty.
func retry(ctx context.Context, start func() error) (tries string, err error) {
	err = start()
	for n := 2; err != nil && n <= startTries && sleepUntil(ctx, time.Now().Add(startPause)); n++ {
		err = start()
		tries = fmt.Sprintf(", at the attempt number %d", n)
	}
	return tries, err
}

// startAgain starts the node's server. Its error includes the end of the log.
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
