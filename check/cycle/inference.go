package cycle

import (
	"context"

	"assay/check/cycle/acyclic"
)

// inference derives from a history which transactions depend on which, and the
// anomalies that show without a cycle.
type inference struct {
	h *History
	o Options
	// assumed are the options that were given, without what a model promises, and
	// contradicted says that the versions of a key cannot be in the order that these
	// ask for.
	assumed      Options
	contradicted bool
	edges        *edgeList
	cases        anomalyCases
	// byKey[start[k]:start[k+1]] are the operations of key k in the order of
	// their transactions, once they are needed, and txnOf has the transaction of each.
	byKey, txnOf, start []int32
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
	return &inference{h: h, o: o, assumed: o, stronger: map[rule]acyclic.Result{}}
}

func (in *inference) sortByKey() {
	h := in.h
	in.start = make([]int32, len(h.keys)+1)
	next := make([]int32, len(h.keys))
	for k, n := range h.keyOps {
		next[k] = in.start[k]
		in.start[k+1] = in.start[k] + n
	}
	in.byKey, in.txnOf = make([]int32, h.ops.len()), make([]int32, h.ops.len())
	for i, o := range h.ops.all() {
		at := next[o.key()]
		in.byKey[at], in.txnOf[at] = i, o.txn
		next[o.key()]++
	}
}

// opsOfKey are the operations of a key, and the transaction of each.
func (in *inference) opsOfKey(key int32) (ops, txns []int32) {
	if in.byKey == nil {
		in.sortByKey()
	}
	from, to := in.start[key], in.start[key+1]
	return in.byKey[from:to], in.txnOf[from:to]
}

// run looks at each key. It returns false if ctx ended first.
func (in *inference) run(ctx context.Context) bool {
	in.edges = newEdgeList(in.h.Len())
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
