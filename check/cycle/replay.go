package cycle

import (
	"context"
	"slices"
)

// replay executes the transactions of a history over registers again, one after the other, each
// between its invocation and its completion. If every read sees its recorded value, that order
// keeps real time, explains everything, and satisfies each model and assumption. No graph is needed
// then, which would take a multiple of the history's memory. replay may miss such an order, but it
// never finds one that does not exist.
//
// A transaction is placed when it completes, or as soon as another needs it: to read its write, or
// to overwrite the value that it read. If early is set, it is placed at its invocation, if
// possible.
type replay struct {
	h         *History
	registers []register
	pending   []int32 // begun, and without a turn yet
	placing   []int32 // those that wait for others' turn
	done      []bool  // by transaction that it had its turn
	early     bool
	// dependencies counts the reads of other transactions' writes.
	dependencies int
}

type register struct {
	value int64
	by    int32 // one more than the transaction
}

// Bounds of a replay. Beyond them the search decides.
const (
	mostPending = 1 << 8
	mostPlacing = 1 << 6
	longestTxn  = 1 << 8
)

// replays looks for an order, and returns its number of dependencies.
func (h *History) replays(ctx context.Context) (dependencies int, found bool) {
	if slices.Contains(h.kinds, Append) {
		return 0, false
	}
	for _, early := range []bool{false, true} {
		r := replay{h: h, registers: make([]register, len(h.keys)), done: make([]bool, h.Len()), early: early}
		if r.run(ctx) {
			return r.dependencies, true
		}
	}
	return 0, false
}

func (r *replay) run(ctx context.Context) bool {
	h := r.h
	begun := h.begun()
	for i, t := range h.byTime(h.complete, h.committed) {
		if i%65536 == 0 && ctx.Err() != nil {
			return false
		}
		for len(begun) > 0 && (begun[0] == t || h.invoke(begun[0]) < h.complete(t)) {
			if next := begun[0]; h.possible(next) {
				r.pending = append(r.pending, next)
				if r.early && h.committed(next) {
					r.place(next)
				}
			}
			begun = begun[1:]
		}
		if len(r.pending) > mostPending || !r.done[t] && !r.place(t) {
			return false
		}
	}
	return true
}

func (r *replay) place(t int32) bool {
	if len(r.placing) == mostPlacing || slices.Contains(r.placing, t) || len(r.h.opsOf(t)) > longestTxn {
		return false
	}
	r.placing = append(r.placing, t)
	defer func() { r.placing = r.placing[:len(r.placing)-1] }()
	if !r.each(t, func(key int32, o op, own bool) bool {
		if own {
			return true
		}
		if o.kind() != Write {
			return r.holds(key, o) || r.placeWriter(t, key, o)
		}
		return r.placeReaders(t, key)
	}) {
		return false
	}
	if !r.each(t, func(key int32, o op, own bool) bool { return own || o.kind() == Write || r.holds(key, o) }) {
		return false
	}
	at := slices.Index(r.pending, t)
	if at < 0 {
		return false
	}
	r.pending, r.done[t] = slices.Delete(r.pending, at, at+1), true
	for _, o := range r.h.opsOf(t) {
		on := &r.registers[o.key()]
		if o.kind() == Write {
			*on = register{o.val, t + 1}
		} else if on.by != 0 && on.by != t+1 {
			r.dependencies++
		}
	}
	return true
}

// each calls visit for a transaction's operations. own is true for an operation on a key that the
// transaction has written before; each checks such a read itself. It returns false if visit does,
// or if the transaction does not read its own write.
func (r *replay) each(t int32, visit func(key int32, o op, own bool) bool) bool {
	ops := r.h.opsOf(t)
	for i, o := range ops {
		own := false
		for j := i - 1; j >= 0 && !own; j-- {
			before := ops[j]
			if own = before.key() == o.key() && before.kind() == Write; own && o.kind() != Write && (o.kind() != ReadValue || o.val != before.val) {
				return false
			}
		}
		if !visit(o.key(), o, own) {
			return false
		}
	}
	return true
}

func (r *replay) holds(key int32, o op) bool {
	on := r.registers[key]
	if o.kind() == ReadValue {
		return on.by != 0 && on.value == o.val
	}
	return on.by == 0
}

// placeWriter places a transaction that leaves in a register the value that t read.
func (r *replay) placeWriter(t, key int32, read op) bool {
	if read.kind() != ReadValue {
		return false
	}
	for _, u := range r.pending {
		if u == t {
			continue
		}
		for _, o := range slices.Backward(r.h.opsOf(u)) {
			if o.key() == key && o.kind() == Write {
				if o.val == read.val {
					return r.place(u)
				}
				break
			}
		}
	}
	return false
}

// placeReaders places the transactions that read the register's value that t overwrites.
func (r *replay) placeReaders(t, key int32) bool {
	for again := true; again; {
		again = false
		for _, d := range r.pending {
			if d == t || !r.h.committed(d) || slices.Contains(r.placing, d) || !r.reads(d, key) {
				continue
			}
			if !r.place(d) {
				return false
			}
			again = true // what is pending is another now
			break
		}
	}
	return true
}

// reads reports whether a transaction read the register's current value from another.
func (r *replay) reads(t, key int32) bool {
	for _, o := range r.h.opsOf(t) {
		if o.key() == key {
			return o.kind() != Write && r.holds(key, o)
		}
	}
	return false
}
