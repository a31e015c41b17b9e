package cycle

import (
	"context"
	"math"
	"slices"
	"time"

	"assay/check"
	"assay/check/reduce"
	"assay/history"
	"assay/history/exchange"
)

// SmallestTime bounds the search for the smallest part of a history that was not asked for.
const SmallestTime = 5 * time.Second

// maxReduced bounds the operations from which a reduction starts; each takes some 100 bytes.
const maxReduced = 1 << 20

// Smallest is the smallest part of a history that is convicted of an anomaly: in words, and as
// operations by invocation, with the times of the whole history.
type Smallest struct {
	Anomaly    string
	Excerpt    check.Excerpt
	Operations []exchange.Operation
}

// FindSmallest looks for the smallest part of a history that Check convicts, by the same model and
// options, of each anomaly for which r violates it. Parts not found before ctx ends are missing or
// larger than possible. clock is the unit of the history's times. It begins with the transactions
// of the evidence, so a long history takes no longer, unless others are needed too.
//
// A part is some of the transactions with some of their operations. Times, clients, outcomes and
// values stay. If no write of a value is in the part, a read of it would be garbage. So such an
// element is left out of lists, and such a read of a register is left out. If only some writes of a
// value are in the part, the whole read is left out.
//
// That convicts no innocent: if a history satisfies a model, so does such a part. An order of the
// transactions that explains all reads, or an order of the versions of each key, remains one if
// transactions and their versions are taken out of it. In terms of dependencies, each ww or rw edge
// of the part stands for a path of the whole that begins with an edge of that kind and goes on with
// ww. Each wr edge stands for ww edges and then a wr edge. So a cycle of the part is a cycle of the
// whole, with as many rw edges, and as far apart.
func FindSmallest(ctx context.Context, h *History, o Options, r *Report, clock check.Clock) []Smallest {
	if r.Verdict != check.Violated {
		return nil
	}
	var all []Smallest
	plain := h
	if r.Model == SnapshotReads { // to leave a write out would make plain reads of others
		plain = h.plainReads()
	}
	for i := range r.Evidence[:len(r.Anomalies)] {
		e := &r.Evidence[i]
		of := plain
		if slices.Contains(forbidden(ReadCommitted).names(), e.Anomaly) {
			of = h
		}
		red := reduction{ctx: ctx, h: of, o: o, model: r.Model, anomaly: e.Anomaly, clock: clock, taken: make([]bool, len(of.ops))}
		if s, found := red.run(e); found {
			all = append(all, s)
		}
	}
	return all
}

// Attach puts the excerpts into the evidence of the report.
func (r *Report) Attach(found []Smallest) {
	for i := range r.Evidence {
		for j := range found {
			if found[j].Anomaly == r.Evidence[i].Anomaly {
				r.Evidence[i].Smallest = &found[j].Excerpt
			}
		}
	}
}

// reduction reduces a history for one anomaly. A part is an ascending list of operation numbers.
type reduction struct {
	ctx     context.Context
	h       *History
	o       Options
	model   Model
	anomaly string
	clock   check.Clock
	// writers are, for each value that the initial part reads, the operations that wrote it.
	writers map[written][]int32
	taken   []bool // by operation, while a part is made
	cut     bool   // a list was made shorter
}

type written struct {
	key   int32
	value int64
}

func (r *reduction) run(e *Evidence) (Smallest, bool) {
	part := r.start(e)
	if part == nil {
		return Smallest{}, false
	}
	byTxn := r.transactions(part)
	kept, whole := reduce.Minimize(r.ctx, len(byTxn), func(parts []int) bool { return r.convicted(join(byTxn, parts)) })
	part = join(byTxn, kept)
	if whole {
		kept, whole = reduce.Minimize(r.ctx, len(part), func(parts []int) bool { return r.convicted(choose(part, parts)) })
		part = choose(part, kept)
	}
	return r.finish(e, part, whole)
}

// start returns a small part that is convicted, or nil. It tries the transactions of the evidence,
// those with the writers of their reads, all operations on their keys, and everything.
func (r *reduction) start(e *Evidence) []int32 {
	wanted := map[int64]bool{}
	for i := range e.Txns {
		wanted[e.Txns[i].ID] = true
	}
	inPart := make([]bool, r.h.Len())
	for t := range inPart {
		inPart[t] = wanted[r.h.id(int32(t))]
	}
	of := func(op op) bool { return inPart[op.txn] }
	if part := r.attempt(of); part != nil {
		return part
	}
	for _, ops := range r.writers {
		for _, o := range ops {
			inPart[r.h.ops[o].txn] = true
		}
	}
	if part := r.attempt(of); part != nil {
		return part
	}
	keys := make([]bool, len(r.h.keys))
	for _, o := range r.h.ops {
		if inPart[o.txn] {
			keys[o.key()] = true
		}
	}
	if part := r.attempt(func(o op) bool { return keys[o.key()] }); part != nil {
		return part
	}
	return r.attempt(func(op) bool { return true })
}

// attempt returns the part of the wanted operations; nil if it is too large or not convicted.
func (r *reduction) attempt(wanted func(op) bool) []int32 {
	var part []int32
	for i, o := range r.h.ops {
		if wanted(o) {
			if len(part) == maxReduced || r.ctx.Err() != nil {
				return nil
			}
			part = append(part, int32(i))
		}
	}
	r.index(part)
	if !r.convicted(part) {
		return nil
	}
	return part
}

func (r *reduction) index(part []int32) {
	r.writers = map[written][]int32{}
	for _, i := range part {
		switch o := r.h.ops[i]; o.kind() {
		case ReadValue:
			r.writers[written{o.key(), o.val}] = nil
		case ReadList:
			for _, v := range r.h.list(o) {
				r.writers[written{o.key(), v}] = nil
			}
		}
	}
	for i, o := range r.h.ops {
		if kind := o.kind(); kind == Append || kind == Write {
			if before, read := r.writers[written{o.key(), o.val}]; read {
				r.writers[written{o.key(), o.val}] = append(before, int32(i))
			}
		}
	}
}

func (r *reduction) transactions(part []int32) [][]int32 {
	var all [][]int32
	for from := 0; from < len(part); {
		to := from + 1
		for to < len(part) && r.h.ops[part[to]].txn == r.h.ops[part[from]].txn {
			to++
		}
		all = append(all, part[from:to])
		from = to
	}
	return all
}

func join(of [][]int32, which []int) []int32 {
	var all []int32
	for _, i := range which {
		all = append(all, of[i]...)
	}
	return all
}

func choose(of []int32, which []int) []int32 {
	all := make([]int32, len(which))
	for i, n := range which {
		all[i] = of[n]
	}
	return all
}

func (r *reduction) convicted(part []int32) bool {
	judged := Check(r.ctx, r.build(part), r.model, r.o)
	return slices.Contains(judged.Anomalies, r.anomaly)
}

func (r *reduction) build(part []int32) *History {
	for _, i := range part {
		r.taken[i] = true
	}
	b := Builder{h: History{symbols: r.h.symbols}}
	r.cut = false
	for _, ops := range r.transactions(part) {
		txn := r.h.ops[ops[0]].txn
		t := r.h.givenTxn(txn)
		for _, i := range ops {
			if op, readable := r.op(r.h.ops[i]); readable {
				t.Ops = append(t.Ops, op)
			}
		}
		_ = b.Add(t)
	}
	for _, i := range part {
		r.taken[i] = false
	}
	return b.History()
}

// op returns an operation as it is in the part; false for a read of a value that is not in it.
func (r *reduction) op(o op) (Op, bool) {
	out := r.h.given(o)
	switch out.Kind {
	case ReadValue:
		present, partly := r.present(written{o.key(), o.val})
		return out, present && !partly
	case ReadList:
		out.List = nil
		for _, v := range r.h.list(o) {
			present, partly := r.present(written{o.key(), v})
			if partly {
				return out, false
			}
			if present {
				out.List = append(out.List, v)
			}
		}
		r.cut = r.cut || len(out.List) < o.len()
	}
	return out, true
}

// present reports whether all writers of a value are in the part (true without any), or only some.
func (r *reduction) present(w written) (all, partly bool) {
	writers := r.writers[w]
	count := 0
	for _, i := range writers {
		if r.taken[i] {
			count++
		}
	}
	return count == len(writers), count > 0 && count < len(writers)
}

func (r *reduction) finish(e *Evidence, part []int32, whole bool) (Smallest, bool) {
	h := r.build(part)
	ctx := r.ctx
	if ctx.Err() != nil { // the time is over, and the part is small or was judged before
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
	}
	judged := Check(ctx, h, r.model, r.o)
	at := slices.IndexFunc(judged.Evidence, func(e Evidence) bool { return e.Anomaly == r.anomaly })
	if at < 0 {
		return Smallest{}, false
	}
	s := Smallest{Anomaly: r.anomaly, Operations: h.operations(r.clock),
		Excerpt: check.Excerpt{Of: int64(r.h.Len()), Minimal: whole, Shortened: r.cut, Clock: r.clock}}
	s.describe(h, e, &judged.Evidence[at], r.model)
	return s, true
}

func (h *History) operations(clock check.Clock) []exchange.Operation {
	atom := func(v int64) exchange.Atom {
		if i := v - math.MinInt64; v < firstNumber && i < int64(len(h.symbols)) {
			a, err := exchange.ParseAtom(h.symbols[i])
			if err == nil {
				return a
			}
			return exchange.Atom{Kind: exchange.String, Text: h.symbols[i]}
		}
		return exchange.Int64(v)
	}
	var all []exchange.Operation
	for _, t := range h.byInvocation() {
		o := exchange.Operation{
			Index: exchange.NoIndex, Process: int64(h.process(t)), Function: exchange.Transaction, Outcome: h.outcome(t),
			Invoke: h.invoke(t), Complete: h.complete(t), InvokeTime: exchange.NoTime, CompleteTime: exchange.NoTime,
		}
		// An operation without a known end may take effect at any time.
		if o.Outcome == history.Unknown && o.Complete < o.Invoke {
			o.Complete = exchange.Never
		}
		if clock == check.Nanoseconds {
			o.InvokeTime, o.CompleteTime = o.Invoke, o.Complete
		}
		for _, op := range h.opsOf(t) {
			m := exchange.MicroOp{Kind: op.kind(), Key: atom(h.keys[op.key()])}
			switch op.kind() {
			case Append, Write, ReadValue:
				m.Value = atom(op.val)
			case ReadList:
				for _, v := range h.list(op) {
					m.List = append(m.List, atom(v))
				}
			}
			o.Txn = append(o.Txn, m)
		}
		all = append(all, o)
	}
	return all
}

func (h *History) byInvocation() []int32 {
	return h.byTime(h.invoke, func(int32) bool { return true })
}
