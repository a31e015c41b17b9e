package cycle

import (
	"context"
	"math"
	"slices"

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
	// byKey[start[k]:start[k+1]] are the operations of key from+k, which is below to, in the order
	// of their transactions. txnOf has the transaction of each.
	byKey, txnOf, start []int32
	from, to            int32
	ambiguous           string
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

// sortByKey finds the operations of the keys from a key on, until it has at least the number most.
func (in *inference) sortByKey(from int32, most int) {
	h := in.h
	in.from, in.to, in.start = from, from, append(in.start[:0], 0)
	n := int32(0)
	for int(in.to) < len(h.keys) && int(n) < most {
		n += h.keyOps[in.to]
		in.start = append(in.start, n)
		in.to++
	}
	next := slices.Clone(in.start)
	in.byKey, in.txnOf = slices.Grow(in.byKey[:0], int(n))[:n], slices.Grow(in.txnOf[:0], int(n))[:n]
	i, txn, end := int32(0), int32(-1), int32(0)
	for use := range h.ops.uses.all() {
		for i == end {
			txn++
			end = h.ops.first.at(txn + 1)
		}
		if key := (op{use: use}).key(); from <= key && key < in.to {
			at := next[key-from]
			in.byKey[at], in.txnOf[at] = i, txn
			next[key-from]++
		}
		i++
	}
}

// forgetKeys frees the result of sortByKey, which takes a third of the history's memory.
func (in *inference) forgetKeys() { in.byKey, in.txnOf, in.start, in.to = nil, nil, nil, in.from }

func (in *inference) opsOfKey(key int32) (ops, txns []int32) {
	if key < in.from || key >= in.to {
		in.sortByKey(0, math.MaxInt)
	}
	from, to := in.start[key-in.from], in.start[key-in.from+1]
	return in.byKey[from:to], in.txnOf[from:to]
}

// fewOps is the number of operations sorted by key at once, or a quarter of all if that is more.
const fewOps = 1 << 16

func (in *inference) run(ctx context.Context) bool {
	in.edges = newEdgeList(in.h.Len())
	for key := range int32(len(in.h.keys)) {
		if key%1024 == 0 && ctx.Err() != nil {
			return false
		}
		if key >= in.to {
			in.sortByKey(key, max(fewOps, in.h.ops.len()/4+1))
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
