package cycle

import (
	"context"

	"assay/check/cycle/acyclic"
)

// inference derives from a history which transactions depend on which, and the
// anomalies that show without a cycle.
type inference struct {
	h     *History
	o     Options
	edges *edgeList
	cases anomalyCases
	// byKey[start[k]:start[k+1]] are the operations of key k in the order of
	// their transactions.
	byKey, start []int32
	// ambiguous describes why the history cannot be judged, if it cannot.
	ambiguous string
	// findings are what is not an anomaly but wrong all the same.
	findings anomalyCases
	// registers says that there are any, and unseen is the most appends to one
	// list that nobody saw.
	registers bool
	unseen    int
	// stronger has how the search for an order by a stronger rule ended.
	stronger map[rule]acyclic.Result
	// open says that rule statements is kept and allStatements is not.
	open bool

	list     listState
	register registerState
	before   []int32 // transactions, for a moment
	after    []int32
}

func newInference(h *History, o Options) *inference {
	in := &inference{h: h, o: o, stronger: map[rule]acyclic.Result{}}
	in.start = make([]int32, len(h.keys)+1)
	next := make([]int32, len(h.keys))
	for k, n := range h.keyOps {
		next[k] = in.start[k]
		in.start[k+1] = in.start[k] + n
	}
	in.byKey = make([]int32, len(h.ops))
	for i := range h.ops {
		k := h.ops[i].key()
		in.byKey[next[k]] = int32(i)
		next[k]++
	}
	return in
}

func (in *inference) opsOfKey(key int32) []int32 {
	return in.byKey[in.start[key]:in.start[key+1]]
}

// run looks at each key. It returns false if ctx ended first.
func (in *inference) run(ctx context.Context) bool {
	in.edges = newEdgeList(in.h.Len(), len(in.h.ops)+len(in.h.ops)/8)
	for key := range int32(len(in.h.keys)) {
		if key%1024 == 0 && ctx.Err() != nil {
			return false
		}
		if in.h.kinds[key] == Write {
			in.registers = true
			in.inferRegister(key)
		} else {
			in.inferList(key)
		}
	}
	return true
}
