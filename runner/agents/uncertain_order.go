package agents

import (
	"sort"

	"assay/history"
)

// uncertainOrder counts operations that began after the end of another agent's operation by less
// than both clocks may be off, so that their order is unknown. It remembers only the latest ends
// and does not count an operation for ends before them.
type uncertainOrder struct {
	errors []int64 // by share
	most   int64   // of the sums of two of them
	ends   []agentEnd
}

type agentEnd struct {
	at    int64
	share int
}

const (
	leastEnds = 1 << 14
	mostEnds  = 2 * leastEnds
)

func newUncertainOrder(m *Merged) *uncertainOrder {
	n := &uncertainOrder{errors: make([]int64, len(m.Agents))}
	for i, a := range m.Agents {
		n.errors[i] = a.Error
		n.most = max(n.most, 2*a.Error)
	}
	return n
}

// ofUnknownOrder takes operations, nearly in the order of their ends, and reports whether the
// order to another agent's operation is unknown.
func (n *uncertainOrder) ofUnknownOrder(share int, op *history.Op) (found bool) {
	begun := sort.Search(len(n.ends), func(i int) bool { return n.ends[i].at > op.Start })
	for i := begun - 1; i >= 0 && n.ends[i].at >= op.Start-n.most; i-- {
		if e := n.ends[i]; e.share != share && e.at >= op.Start-n.errors[share]-n.errors[e.share] {
			found = true
			break
		}
	}
	if len(n.ends) == mostEnds {
		n.ends = append(n.ends[:0], n.ends[leastEnds:]...)
	}
	n.ends = append(n.ends, agentEnd{op.End, share})
	return found
}
