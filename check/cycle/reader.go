package cycle

import (
	"math"
	"slices"

	"assay/history/exchange"
)

// Reader makes a History of transactions that another tool recorded and package exchange reads. The
// zero value is ready. It is not safe for concurrent use.
type Reader struct {
	builder Builder
	ops     []Op
	lists   []int64
	// large are numbers, from the lowest on, of processes beyond 32 bits.
	large map[int64]int32
}

// Add takes the next transaction and keeps only copies. It returns the errors of Builder.Add.
func (r *Reader) Add(op *exchange.Operation) error {
	r.ops, r.lists = slices.Grow(r.ops[:0], len(op.Txn)), r.lists[:0]
	for i := range op.Txn {
		r.ops = append(r.ops, r.op(&op.Txn[i]))
	}
	return r.builder.Add(Txn{
		ID: op.ID(), Process: r.process(int64(op.Process)), Invoke: op.Invoke, Complete: op.Complete,
		Outcome: op.Outcome, Ops: r.ops,
	})
}

// History returns the added transactions. The Reader must not be used afterwards.
func (r *Reader) History() *History { return r.builder.History() }

func (r *Reader) op(m *exchange.MicroOp) Op {
	out := Op{Kind: m.Kind, Key: r.number(m.Key)}
	switch out.Kind {
	case ReadNothing:
	case ReadList:
		begin := len(r.lists)
		for _, element := range m.List {
			r.lists = append(r.lists, r.number(element))
		}
		out.List = r.lists[begin:len(r.lists):len(r.lists)]
	default:
		out.Value = r.number(m.Value)
	}
	return out
}

// process returns the number of a process, its own if that has 32 bits.
func (r *Reader) process(p int64) int32 {
	if int64(int32(p)) == p {
		return int32(p)
	}
	n, known := r.large[p]
	if !known {
		if r.large == nil {
			r.large = map[int64]int32{}
		}
		n = math.MinInt32 + int32(len(r.large))
		r.large[p] = n
	}
	return n
}

// number returns the number that stands for a key or a value: a whole number itself, or else the
// symbol of its text, which differs for different atoms.
func (r *Reader) number(a exchange.Atom) int64 {
	if a.Kind == exchange.Number {
		return a.Int
	}
	return r.builder.Symbol(a.String())
}
