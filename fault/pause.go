package fault

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"assay/cluster"
)

// pausing stops servers where they are, as a machine does that swaps or whose
// hypervisor has other things to do.
type pausing struct{ nodes []*cluster.Node }

func (p *pausing) act(context.Context) error {
	return each(p.nodes, (*cluster.Node).Pause)
}

// proof is that every process of the servers is stopped.
func (p *pausing) proof(context.Context, bool) (sight, error) {
	var mu sync.Mutex
	proven := true
	text, err := looked(p.nodes, func(n *cluster.Node) (string, error) {
		halted, err := n.Halted()
		if err != nil {
			return "", err
		}
		mu.Lock()
		proven = proven && halted
		mu.Unlock()
		if !halted {
			return "not all processes are stopped", nil
		}
		processes, err := n.Processes()
		if len(processes) == 1 {
			return fmt.Sprintf("process %d is stopped", processes[0].PID), err
		}
		return fmt.Sprintf("all %d processes are stopped", len(processes)), err
	})
	return sight{proven: proven && err == nil, text: text}, err
}

func (p *pausing) undo(context.Context) error {
	return each(p.nodes, (*cluster.Node).Resume)
}

func (p *pausing) confirm(ctx context.Context) (string, error) {
	return looked(p.nodes, func(n *cluster.Node) (string, error) {
		halted, err := n.Halted()
		if err != nil {
			return "", err
		}
		if halted {
			return "", errors.New("all its processes are still stopped")
		}
		text, err := answers(ctx, n)
		return "its processes go on, " + text, err
	})
}
