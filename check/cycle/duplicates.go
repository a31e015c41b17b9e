package cycle

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"assay/check"
)

// maxReadings bounds the tried combinations of writers of values written more than once.
const maxReadings = 1 << 12

// duplicateRead is a read of a register's value that was written more than once, and the values
// that stand for its possible writers.
type duplicateRead struct {
	op   int32
	from []int64
}

// checkDuplicates judges a history with register values that were written more than once. It is
// valid if some choice of the writer of each read makes it valid, and violated if every choice
// does. It returns false if there are too many choices, or none.
func checkDuplicates(ctx context.Context, h *History, model Model, o Options) (Report, bool) {
	told, reads := h.tellApart()
	if told == nil {
		return Report{}, false
	}
	choice := make([]int, len(reads))
	var best Report
	var out []Model // what every choice rules out
	for n := range maxReadings {
		for i, r := range reads {
			told.ops[r.op].val = r.from[choice[i]]
		}
		r := Check(ctx, told, model, o)
		r.Findings, r.Permitted, r.Evidence = nil, nil, r.Evidence[:len(r.Anomalies)] // with this choice alone
		if r.Verdict != check.Violated {
			return r, true
		}
		ruled := append(slices.Clone(r.Not), r.AlsoNot...)
		if n == 0 || len(ruled) < len(best.Not)+len(best.AlsoNot) {
			best = r
		}
		if n == 0 {
			out = ruled
		}
		out = slices.DeleteFunc(out, func(m Model) bool { return !slices.Contains(ruled, m) })
		if !advance(choice, reads) {
			best.Not, best.AlsoNot = weakest(out)
			if n > 0 {
				for i := range best.Evidence {
					best.Evidence[i].Text += fmt.Sprintf(" (So it is if each value that was written more than once was read of the writer named here; "+
						"%s is broken with all %s of their writers.)", model, check.Counted(n+1, "choice", "choices"))
				}
			}
			return best, true
		}
	}
	return Report{}, false
}

// advance moves to the next choice of writers; false if there is none.
func advance(choice []int, reads []duplicateRead) bool {
	for i := range choice {
		if choice[i]++; choice[i] < len(reads[i].from) {
			return true
		}
		choice[i] = 0
	}
	return false
}

// tellApart returns a copy of the history in which each repeated write of a register's value has a
// value of its own, and the reads whose values must be chosen. It returns nil without such a write.
func (h *History) tellApart() (*History, []duplicateRead) {
	writes := map[written][]int32{} // by what may have taken effect
	duplicates := false
	for i, o := range h.ops {
		if o.kind() == Write && h.possible(o.txn) {
			c := written{o.key(), o.val}
			writes[c] = append(writes[c], int32(i))
			duplicates = duplicates || len(writes[c]) > 1
		}
	}
	if !duplicates {
		return nil, nil
	}
	told := *h
	told.ops, told.symbols = slices.Clone(h.ops), slices.Clone(h.symbols)
	for c, by := range writes {
		for _, i := range by {
			if len(by) > 1 {
				told.ops[i].val = int64(math.MinInt64) + int64(len(told.symbols))
				told.symbols = append(told.symbols, fmt.Sprintf("%s of %s", h.name(c.value), txnName(h.id(h.ops[i].txn))))
			}
		}
	}
	var reads []duplicateRead
	for i, o := range h.ops {
		by := writes[written{o.key(), o.val}]
		if o.kind() != ReadValue || len(by) < 2 {
			continue
		}
		r := duplicateRead{op: int32(i)}
		for _, w := range h.writersFor(int32(i), by) {
			r.from = append(r.from, told.ops[w].val)
		}
		reads = append(reads, r)
	}
	return &told, reads
}

// writersFor returns the operations among by that a read may have seen, the likeliest first: its
// own transaction's if that wrote the register last, or else each transaction's final write.
func (h *History) writersFor(read int32, by []int32) []int32 {
	o := h.ops[read]
	last := func(from, to int32) int32 { // the last write of the key, or -1
		for i := to - 1; i >= from; i-- {
			if h.ops[i].key() == o.key() && h.ops[i].kind() == Write {
				return i
			}
		}
		return -1
	}
	if own := last(h.first[o.txn], read); slices.Contains(by, own) {
		return []int32{own}
	}
	var left []int32
	for _, w := range by {
		if t := h.ops[w].txn; t != o.txn && last(h.first[t], h.first[t+1]) == w {
			left = append(left, w)
		}
	}
	if left == nil {
		return by[:1] // whichever it is, it should not have been read
	}
	distance := func(w int32) int64 {
		d := h.invoke(h.ops[w].txn) - h.invoke(o.txn)
		return max(d, -d)
	}
	slices.SortStableFunc(left, func(a, b int32) int { return cmp.Compare(distance(a), distance(b)) })
	return left
}

// checkWithoutRepeats judges what is left of a history without the values that were written to a key
// more than once: without these writes, without these elements in the lists that were read, and
// without the reads of these values of registers.
//
// What it finds is wrong with the whole history too. An execution that explains the whole, with
// these writes taken out of it, explains the rest: a list keeps the order of its other elements, and
// who read another value of a register read it while no such value stood there.
func checkWithoutRepeats(ctx context.Context, h *History, model Model, o Options) Report {
	r := Check(ctx, h.withoutRepeats(), model, o)
	whole := h.size()
	whole.Dependencies, whole.Components = r.Size.Dependencies, r.Size.Components
	r.Size = whole
	return r
}

func (h *History) withoutRepeats() *History {
	times := map[written]int{} // that it may have been written
	for _, o := range h.ops {
		if k := o.kind(); (k == Append || k == Write) && h.possible(o.txn) {
			times[written{o.key(), o.val}]++
		}
	}
	repeated := func(key int32, val int64) bool { return times[written{key, val}] > 1 }
	return h.rebuilt(func(o op) (Op, bool) {
		out := h.given(o)
		out.List = slices.DeleteFunc(slices.Clone(out.List), func(val int64) bool { return repeated(o.key(), val) })
		return out, out.Kind == ReadList || out.Kind == ReadNothing || !repeated(o.key(), o.val)
	})
}

// given is an operation as the Builder got it; its list is the history's.
func (h *History) given(o op) Op {
	out := Op{Kind: o.kind(), Key: h.keys[o.key()], List: h.list(o)}
	if out.Kind != ReadList && out.Kind != ReadNothing {
		out.Value = o.val
	}
	return out
}

// givenTxn is a transaction without its operations.
func (h *History) givenTxn(t int32) Txn {
	x := &h.txns[t]
	return Txn{ID: x.id, Process: x.process, Invoke: x.invoke, Complete: x.complete, Outcome: x.outcome}
}

// rebuilt returns the history of the operations that keep returns.
func (h *History) rebuilt(keep func(op) (Op, bool)) *History {
	b := Builder{}
	b.h.symbols = h.symbols
	for t := range int32(h.Len()) {
		txn := h.givenTxn(t)
		for _, o := range h.opsOf(t) {
			if kept, ok := keep(o); ok {
				txn.Ops = append(txn.Ops, kept)
			}
		}
		_ = b.Add(txn) // it was added once, with more in it
	}
	return b.History()
}
