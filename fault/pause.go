package fault

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"assay/cluster"
)

// pausing stops servers where they are, as a machine does that swaps or whose
// hypervisor has other things to do.
type pausing struct {
	nodes []*cluster.Node
	take  taker

	mu     sync.Mutex
	halted map[string]string // by node: what was seen of it
}

func (p *pausing) act(context.Context) error {
	return each(p.nodes, (*cluster.Node).Pause)
}

// proof is that every process of the servers is stopped. One that was killed
// after it was seen so, because it was silent, was paused.
func (p *pausing) proof(context.Context, bool) (sight, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.halted == nil {
		p.halted = map[string]string{}
	}
	seen := sight{proven: true}
	var texts []string
	for _, n := range p.nodes {
		text, proven, err := p.look(n)
		if err != nil {
			return sight{}, fmt.Errorf("%s: %w", n.Name(), err)
		}
		seen.proven = seen.proven && proven
		texts = append(texts, n.Name()+": "+text)
	}
	seen.text = strings.Join(texts, "; ")
	return seen, nil
}

func (p *pausing) look(n *cluster.Node) (text string, proven bool, err error) {
	before := p.halted[n.Name()]
	halted, err := n.Halted()
	switch {
	case !n.Running() && before == "":
		return "its server is down", false, nil
	case !n.Running():
		return before + ", and then it was ended", true, nil
	case err != nil:
		return "", false, err
	}
	if !halted {
		return "not all processes are stopped", false, nil
	}
	processes, err := n.Processes()
	if err != nil {
		return "", false, err
	}
	text = fmt.Sprintf("all %d processes are stopped", len(processes))
	if len(processes) == 1 {
		text = fmt.Sprintf("process %d is stopped", processes[0].PID)
	}
	p.halted[n.Name()] = text
	return text, true, nil
}

func (p *pausing) undo(context.Context) error {
	return each(p.nodes, func(n *cluster.Node) error {
		if err := n.Resume(); !errors.Is(err, os.ErrProcessDone) {
			return err
		}
		return nil // confirm starts it again
	})
}

func (p *pausing) confirm(ctx context.Context) (string, error) {
	return looked(p.nodes, func(n *cluster.Node) (string, error) {
		halted, err := n.Halted()
		switch {
		case !n.Running():
			return backHere(ctx, n, p.take)
		case err != nil:
			return "", err
		case halted:
			return "", errors.New("all its processes are still stopped")
		}
		text, err := backHere(ctx, n, p.take)
		return "its processes go on, " + text, err
	})
}
