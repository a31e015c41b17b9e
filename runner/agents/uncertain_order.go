package agents

import (
	"sort"

	"assay/history"
)

// uncertainOrder counts the operations whose order in time to operations of other agents
// cannot be told: an operation of another agent had ended just before, and by less than both clocks may be
// off. It remembers the last ends; what an operation began before the first of them is
// not counted.
type uncertainOrder struct {
	errors []int64 // by share
	most   int64   // of the sums of two of them
	ends   []agentEnd
}

// agentEnd is the end of an operation of a share, on the run's clock.
type agentEnd struct {
	at    int64
	share int
}

// The ends that are remembered, at least and at most.
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

// ofUnknownOrder takes an operation, nearly in the order of their ends, and reports whether
// its order to one of another agent cannot be told.
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
