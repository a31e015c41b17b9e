package fault

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"assay/cluster"
	"assay/cluster/server"
)

// downing ends servers; healing starts them again.
type downing struct {
	nodes []*cluster.Node
	end   func(context.Context, *cluster.Node) error

	mu     sync.Mutex
	before map[string][]server.ProcessID // by node, before they were ended
}

func (d *downing) act(ctx context.Context) error {
	d.before = map[string][]server.ProcessID{}
	return each(d.nodes, func(n *cluster.Node) error {
		processes, err := n.Processes()
		if err != nil {
			return err
		}
		d.mu.Lock()
		d.before[n.Name()] = processes
		d.mu.Unlock()
		return d.end(ctx, n)
	})
}

// proof asks for every process that the servers had before: all must be gone,
// and the ports closed.
func (d *downing) proof(ctx context.Context, _ bool) (sight, error) {
	var mu sync.Mutex
	proven := true
	text, err := looked(d.nodes, func(n *cluster.Node) (string, error) {
		d.mu.Lock()
		before := d.before[n.Name()]
		d.mu.Unlock()
		alive := 0
		for _, p := range before {
			if p.Alive() {
				alive++
			}
		}
		gone := len(before) > 0 && alive == 0 && !n.Running()
		mu.Lock()
		proven = proven && gone
		mu.Unlock()
		switch {
		case !gone:
			return fmt.Sprintf("%d of %d processes still run", alive, len(before)), nil
		case refuses(ctx, n):
			return fmt.Sprintf("%s, port %d refuses connections", gonePhrase(before), n.Port()), nil
		}
		return gonePhrase(before), nil
	})
	return sight{proven: proven, text: text}, err
}

func gonePhrase(processes []server.ProcessID) string {
	if len(processes) == 1 {
		return fmt.Sprintf("process %d is gone", processes[0].PID)
	}
	return fmt.Sprintf("process %d and its %d descendants are gone", processes[0].PID, len(processes)-1)
}

func (d *downing) undo(context.Context) error { return nil }

func (d *downing) confirm(ctx context.Context) (string, error) {
	return looked(d.nodes, func(n *cluster.Node) (string, error) {
		if n.Running() { // it could not be ended
			return "it runs", nil
		}
		return startAgain(ctx, n)
	})
}

// startTries is how often a server is started that does not come up, and
// startPause how long to wait in between: of servers that come back together
// one may stand in another's way for a moment.
const (
	startTries = 3
	startPause = time.Second
)

// tried starts a server by start, and tells how often it tried.
func tried(ctx context.Context, start func() error) (tries int, err error) {
	err = start()
	for tries = 1; err != nil && tries < startTries && sleepUntil(ctx, time.Now().Add(startPause)); tries++ {
		err = start()
	}
	return tries, err
}

// attempt is empty for the first.
func attempt(tries int) string {
	if tries == 1 {
		return ""
	}
	return fmt.Sprintf(", at the attempt number %d", tries)
}

// startAgain starts the node's server; the error has the end of its log.
func startAgain(ctx context.Context, n *cluster.Node) (string, error) {
	tries, err := tried(ctx, func() error { return n.Start(ctx) })
	if err == nil {
		return fmt.Sprintf("serves again as process %d%s", n.PID(), attempt(tries)), nil
	}
	const lines = 10
	log := n.Tail(lines)
	if last := log[strings.LastIndexByte(log, '\n')+1:]; strings.Contains(err.Error(), last) {
		return "", fmt.Errorf("start it again: %w", err)
	}
	return "", fmt.Errorf("start it again: %w; its log %s ends with:\n%s", err, n.Log(), log)
}
