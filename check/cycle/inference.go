package cycle

import (
	"context"

	"assay/check/cycle/acyclic"
)

// inference derives the dependencies of transactions, and the anomalies that need no cycle.
type inference struct {
	h *History
	o Options
	// assumed are the given options, without a model's own promises. contradicted means that the
	// versions of a key cannot be in the order that these require.
	assumed      Options
	contradicted bool
	edges        *edgeList
	cases        anomalyCases
	// byKey has the operations of each key, in the order of their transactions.
	byKey     groups[int32]
	ambiguous string
	// findings are wrong, but no anomalies.
	findings anomalyCases
	// registers says that there are registers. unseen is the most unseen appends to one list.
	registers bool
	unseen    int
	stronger  map[rule]acyclic.Result
	// open means that rule statements holds and allStatements does not.
	open bool

	list     listState
	register registerState
	before   []int32 // transactions, for a moment
	after    []int32
}

func newInference(h *History, o Options) *inference {
	return &inference{h: h, o: o, assumed: o, stronger: map[rule]acyclic.Result{}}
}

func (in *inference) run(ctx context.Context) bool {
	in.edges = newEdgeList(in.h.Len())
	in.byKey = group(len(in.h.keys), func(visit func(int32, int32)) {
		for i, o := range in.h.ops {
			visit(o.key(), int32(i))
		}
	})
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
