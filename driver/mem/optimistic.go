package mem

import (
	"errors"

	"assay/history"
	"assay/store"
	"assay/workload"
)

// optimistic is a transaction in progress. It reads the state as of its beginning, keeps
// what it writes to itself, and is committed only if all that it has read is still so.
type optimistic struct {
	d          *database
	snapshot   int64
	generation int
	// open is true while others may commit before it does; it is then one of the
	// database's list, between those that began before and after it.
	open          bool
	before, after *optimistic
	// reads is true if nothing may be written, and what was read need not be current.
	reads bool
	// seen are versions that were read, and predicates what else was asked for.
	seen       []seen
	predicates []predicate
	writes     []write
	// own finds writes by the hashes of their keys where these are many: the last of each.
	own map[uint64]int32
	// failed is the first error: nothing is committed after one.
	failed error
}

type seen struct {
	r *relation
	s slot
}

// predicate is conditions on the rows of a relation.
type predicate struct {
	r     *relation
	where []bound
}

// write is what a transaction has done to a row.
type write struct {
	r    *relation
	hash uint64
	s    slot
	// next is the write before it whose key has the same hash, counted from 1.
	next    int32
	deleted bool
	// appended is true if the list comes behind the one that is there at the commit.
	appended bool
	// inserted is true if no row may have this key at the commit.
	inserted bool
}

// manyWrites is how many writes are looked through one by one.
const manyWrites = 12

// begin makes a transaction anew. The caller holds the lock, as for all functions of it.
// Unless it is open, it must end before the lock is given back.
func (x *optimistic) begin(d *database, open, reads bool) {
	x.d, x.snapshot, x.generation, x.reads, x.failed = d, d.clock, d.generation, reads, nil
	x.seen, x.predicates, x.writes = x.seen[:0], x.predicates[:0], x.writes[:0]
	x.own = nil
	if open {
		x.enter()
	}
}

// enter puts a transaction, which has begun under the same lock, among the open ones.
func (x *optimistic) enter() {
	d := x.d
	x.open, x.before, x.after = true, d.lastOpen, nil
	if d.lastOpen == nil {
		d.firstOpen = x
	} else {
		d.lastOpen.after = x
	}
	d.lastOpen = x
}

// leave takes a transaction from the open ones, and has what nobody else reads forgotten.
func (x *optimistic) leave() {
	d := x.d
	if !x.open {
		return
	}
	if x.open = false; x.generation != d.generation {
		return
	}
	first := x.before == nil
	if first {
		d.firstOpen = x.after
	} else {
		x.before.after = x.after
	}
	if x.after == nil {
		d.lastOpen = x.before
	} else {
		x.after.before = x.before
	}
	if !first {
		return
	}
	oldest := d.clock
	if d.firstOpen != nil {
		oldest = d.firstOpen.snapshot
	}
	for _, r := range d.relations {
		if len(r.recent) > 0 {
			r.forget(oldest)
		}
	}
}

// mine is the write to the row with a key; nil if there is none.
func (x *optimistic) mine(r *relation, hash uint64, key []value) *write {
	if len(x.writes) <= manyWrites {
		for i := range x.writes {
			if w := &x.writes[i]; w.hash == hash && w.r == r && r.has(w.s, key) {
				return w
			}
		}
		return nil
	}
	for i := x.own[hash]; i > 0; i = x.writes[i-1].next {
		if w := &x.writes[i-1]; w.r == r && r.has(w.s, key) {
			return w
		}
	}
	return nil
}

// note adds a write. A pointer to another one is then of no use any more.
func (x *optimistic) note(w write) *write {
	x.writes = append(x.writes, w)
	n := len(x.writes)
	switch {
	case n <= manyWrites:
		return &x.writes[n-1]
	case x.own == nil:
		x.own = map[uint64]int32{}
		for i := range x.writes[:n-1] {
			x.link(i)
		}
	}
	x.link(n - 1)
	return &x.writes[n-1]
}

func (x *optimistic) link(i int) {
	w := &x.writes[i]
	w.next = x.own[w.hash]
	x.own[w.hash] = int32(i + 1)
}

// asOf is the version that a transaction sees, without its own writes, of the row whose
// newest version this is; 0 if there is none.
func (x *optimistic) asOf(r *relation, s slot) slot {
	for s != 0 {
		commit := r.commit(s)
		if max(commit, -commit) <= x.snapshot {
			if commit < 0 {
				return 0
			}
			return s
		}
		s = r.older(s)
	}
	return 0
}

// remember notes that a version was read.
func (x *optimistic) remember(r *relation, s slot) {
	if x.open && !x.reads {
		x.seen = append(x.seen, seen{r, s})
	}
}

// rememberPredicate notes that rows were asked for by conditions.
func (x *optimistic) rememberPredicate(r *relation, where []bound) {
	if x.open && !x.reads {
		own := make([]bound, len(where))
		for i, b := range where {
			own[i] = b
			own[i].keys = append([]int64(nil), b.keys...)
		}
		x.predicates = append(x.predicates, predicate{r, own})
	}
}

// whole has a write that appends hold all of the row, which is thereby read.
func (x *optimistic) whole(w *write) {
	if !w.appended {
		return
	}
	w.appended = false
	v := w.r.at(w.s)
	if before := x.asOf(w.r, w.r.newestOf(w.hash, v)); before != 0 {
		x.remember(w.r, before)
		v.prepend(w.r.at(before))
	} else {
		x.rememberPredicate(w.r, w.r.keyed(v))
	}
}

// prepend has a row with a list, its last text, go on where another one ends.
func (v version) prepend(of version) {
	last := len(v.texts) - 1
	v.texts[last] = of.texts[last] + v.texts[last]
}

// keyed are the conditions of a key.
func (r *relation) keyed(v version) []bound {
	where := make([]bound, r.table.Keys())
	for column := range where {
		where[column] = bound{column: column, value: r.get(v, column)}
	}
	return where
}

// abort ends a transaction without effect.
func (x *optimistic) abort() {
	if x.generation == x.d.generation {
		for i := range x.writes {
			x.writes[i].r.give(x.writes[i].s)
		}
	}
	x.writes = x.writes[:0]
	x.leave()
}

// valid reports whether all that was read is still so.
func (x *optimistic) valid() bool {
	for _, of := range x.seen {
		if *of.r.link(of.s)&superseded != 0 {
			return false
		}
	}
	for _, p := range x.predicates {
		for _, s := range p.r.changed(x.snapshot) {
			if older := p.r.older(s); p.r.commit(s) > 0 && p.r.match(p.r.at(s), p.where) ||
				older != 0 && p.r.commit(older) > 0 && p.r.match(p.r.at(older), p.where) {
				return false
			}
		}
	}
	for i := range x.writes {
		w := &x.writes[i]
		if w.inserted {
			if s := w.r.newestOf(w.hash, w.r.at(w.s)); s != 0 && max(w.r.commit(s), -w.r.commit(s)) > x.snapshot {
				return false
			}
		}
		if !w.deleted && x.twin(w) {
			return false
		}
	}
	return true
}

// commit ends a transaction, and reports whether it took effect.
func (x *optimistic) commit() bool {
	if x.generation != x.d.generation || x.open && !x.reads && !x.valid() {
		x.abort()
		return false
	}
	x.leave()
	if len(x.writes) > 0 {
		x.d.clock++
	}
	kept := x.d.firstOpen != nil
	for i := range x.writes {
		w := &x.writes[i]
		if w.appended {
			v := w.r.at(w.s)
			if last := w.r.newestOf(w.hash, v); last != 0 && w.r.commit(last) > 0 {
				v.prepend(w.r.at(last))
			}
		}
		w.r.install(w.s, w.hash, w.deleted, kept)
	}
	x.writes = x.writes[:0]
	return true
}

// violation is the error of a statement that a constraint refuses.
type violation struct {
	kind store.Violation
	text string
}

func (v *violation) Error() string { return v.text }

// errStale is the error of a transaction whose tables were made anew.
var errStale = errors.New("mem: the schema was made anew or dropped since the transaction began")

// finish ends a transaction that is to be answered so. With the chance that was asked for
// it is answered with unknown, and with equal chance applied or not.
func (x *optimistic) finish(reply store.Reply) store.Reply {
	applies := reply.Outcome == history.Committed
	sure := reply.Outcome == history.Failed && reply.Violated != store.Floor && reply.Violated != store.Absent
	if !sure && x.d.timeout > 0 && x.d.chance.Float64() < x.d.timeout {
		reply = store.Reply{Reply: workload.Reply{Class: workload.ClassTimeout}}
		applies = applies && x.d.chance.Uint64()&1 == 0
	}
	if !applies {
		x.abort()
		return reply
	}
	if !x.commit() && reply.Outcome == history.Committed {
		return store.Reply{Reply: workload.Reply{Outcome: history.Failed, Class: workload.ClassSerialization}}
	}
	return reply
}
