package mem

import (
	"errors"
	"slices"

	"assay/driver/rows"
	"assay/history"
	"assay/store"
)

// optimistic is a transaction in progress. It reads the state as of its beginning, keeps
// what it writes to itself, and is committed only if all that it has read is still so.
type optimistic struct {
	d          *database
	snapshot   int64
	generation int
	// open is true while others may commit before it does; it is then in the database's
	// list.
	open bool
	// reads is true if nothing may be written, and what was read need not be current.
	reads bool
	// seen are versions that were read, and predicates what else was asked for.
	seen       []seen
	predicates []predicate
	writes     []write
	// own finds writes by their keys where these are many.
	own map[ownKey]int
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
	where []rows.Bound
}

// write is what a transaction has done to a row.
type write struct {
	r *relation
	s slot
	// last was the newest version of the row when the write was noted.
	last    slot
	deleted bool
	// appended is true if the list comes behind the one that is there at the commit.
	appended bool
	// inserted is true if no row may have this key at the commit.
	inserted bool
}

// ownKey is a key of a relation.
type ownKey struct {
	r    *relation
	name string
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
	x.open = true
	x.d.open = append(x.d.open, x)
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
	i := slices.Index(d.open, x)
	if d.open = slices.Delete(d.open, i, i+1); i > 0 {
		return
	}
	oldest := d.clock
	if len(d.open) > 0 {
		oldest = d.open[0].snapshot
	}
	for _, r := range d.relations {
		if len(r.recent) > 0 {
			r.forget(oldest)
		}
	}
}

// mine is the write to the row with a key; nil if there is none.
func (x *optimistic) mine(r *relation, key []rows.Value) *write {
	if x.own != nil {
		return x.mineOfMany(r, key)
	}
	for i := range x.writes {
		if w := &x.writes[i]; w.r == r && r.Has(r.at(w.s), key) {
			return w
		}
	}
	return nil
}

// mineOfMany is mine where there are many writes. Like index it is no part of its only caller,
// whose stack every client has.
//
//go:noinline
func (x *optimistic) mineOfMany(r *relation, key []rows.Value) *write {
	if i, is := x.own[ownKey{r, string(nameOf(key, nil))}]; is {
		return &x.writes[i]
	}
	return nil
}

// ownOf is the transaction's own write to the row of a version.
func (x *optimistic) ownOf(r *relation, s slot) *write {
	var room [4]rows.Value
	return x.mine(r, r.Key(r.at(s), room[:0]))
}

// note adds a write to the row with a key, whose values are to be set. A pointer to another
// write is then of no use any more.
func (x *optimistic) note(w write, key []rows.Value) *write {
	w.s = w.r.take()
	if len(x.writes) >= manyWrites {
		x.index(w.r, key)
	}
	x.writes = append(x.writes, w)
	return &x.writes[len(x.writes)-1]
}

// index enters the next write where there are many, and those before it if it is the first.
//
//go:noinline
func (x *optimistic) index(r *relation, key []rows.Value) {
	if x.own == nil {
		x.own = map[ownKey]int{}
		for i := range x.writes {
			of := &x.writes[i]
			x.own[ownKey{of.r, string(nameOf(of.r.Key(of.r.at(of.s), nil), nil))}] = i
		}
	}
	x.own[ownKey{r, string(nameOf(key, nil))}] = len(x.writes)
}

// asOf is the version that a transaction sees, without its own writes, of the row whose
// newest version this is; 0 if there is none.
func (x *optimistic) asOf(r *relation, s slot) slot {
	for ; s != 0; s = r.older(s) {
		if r.since(s) <= x.snapshot {
			if r.commit(s) < 0 {
				return 0
			}
			return s
		}
	}
	return 0
}

// remember notes that a version was read, or with 0 that there was none of a key.
func (x *optimistic) remember(r *relation, s slot, key []rows.Value) {
	switch {
	case !x.open || x.reads:
	case s != 0:
		x.seen = append(x.seen, seen{r, s})
	default:
		where := make([]rows.Bound, len(key))
		for column, v := range key {
			where[column] = rows.Bound{Column: column, Value: v}
		}
		x.predicates = append(x.predicates, predicate{r, where})
	}
}

// rememberPredicate notes that rows were asked for by conditions.
func (x *optimistic) rememberPredicate(r *relation, where []rows.Bound) {
	if x.open && !x.reads {
		own := slices.Clone(where)
		for i := range own {
			own[i].Keys = slices.Clone(own[i].Keys)
		}
		x.predicates = append(x.predicates, predicate{r, own})
	}
}

// read is the version that a transaction sees of the row with a key; 0 if there is none.
func (x *optimistic) read(r *relation, key []rows.Value) slot {
	s, w, _ := x.see(r, key)
	if w == nil {
		x.remember(r, s, key)
	}
	return s
}

// Row implements rows.Reader.
func (x *optimistic) Row(t *rows.Table, key []rows.Value) (row rows.Row, there bool, err error) {
	r := x.d.relations[t.Number]
	s := x.read(r, key)
	if s == 0 {
		return row, false, nil
	}
	return r.at(s), true, nil
}

// see is read without that it is remembered, and the transaction's own write to the row or
// else the newest version.
func (x *optimistic) see(r *relation, key []rows.Value) (s slot, own *write, last slot) {
	if w := x.mine(r, key); w != nil {
		if x.whole(w); !w.deleted {
			s = w.s
		}
		return s, w, 0
	}
	last = r.newest(key)
	return x.asOf(r, last), nil, last
}

// whole has a write that appends hold all of the row, which is thereby read.
func (x *optimistic) whole(w *write) {
	if !w.appended {
		return
	}
	w.appended = false
	key := w.r.Key(w.r.at(w.s), nil)
	before := x.asOf(w.r, w.r.newest(key))
	x.remember(w.r, before, key)
	if before != 0 {
		w.r.prepend(w.s, before)
	}
}

// prepend has a row with a list, its last text, go on where another one ends.
func (h *heap) prepend(s, of slot) {
	h.at(s).Texts[h.texts-1] = h.at(of).Texts[h.texts-1] + h.at(s).Texts[h.texts-1]
}

// check refuses a row that is below a floor, or like another one where none may be.
func (x *optimistic) check(w *write) error {
	if err := w.r.Allow(w.r.at(w.s)); err != nil {
		return err
	}
	if x.twin(w) {
		return w.r.Twin()
	}
	return nil
}

// twin reports whether another row is alike in the columns of a unique ordering.
func (x *optimistic) twin(w *write) (found bool) {
	for _, o := range w.r.orders {
		if !o.unique {
			continue
		}
		v, columns := w.r.at(w.s), o.by[:len(w.r.Indexes[o.index].Columns)]
		of := span{}
		for _, column := range columns {
			of.equal = append(of.equal, w.r.Get(v, column))
		}
		o.rows(of, false, func(s slot) bool {
			found = x.ownOf(w.r, s) == nil
			return !found
		})
		for i := range x.writes {
			other := &x.writes[i]
			found = found || other.s != w.s && other.r == w.r && !other.deleted && w.r.Alike(columns, w.r.at(other.s), v)
		}
	}
	return found
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
			if older := p.r.older(s); p.r.commit(s) > 0 && p.r.Match(p.r.at(s), p.where) ||
				older != 0 && p.r.commit(older) > 0 && p.r.Match(p.r.at(older), p.where) {
				return false
			}
		}
	}
	for i := range x.writes {
		w := &x.writes[i]
		if w.inserted {
			if s := w.r.newest(w.r.Key(w.r.at(w.s), nil)); s != 0 && w.r.since(s) > x.snapshot {
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
	alone := !x.open // and so no other has committed since it began
	x.leave()
	if len(x.writes) > 0 {
		x.d.clock++
	}
	for i := range x.writes {
		w := &x.writes[i]
		var room [4]rows.Value
		key := w.r.Key(w.r.at(w.s), room[:0])
		if !alone {
			w.last = w.r.newest(key)
		}
		if w.appended && w.last != 0 && w.r.commit(w.last) > 0 {
			w.r.prepend(w.s, w.last)
		}
		w.r.install(w.s, w.last, key, w.deleted, len(x.d.open) > 0)
	}
	x.writes = x.writes[:0]
	return true
}

// errStale is the error of a transaction whose tables were made anew.
var errStale = errors.New("the schema was made anew or dropped since the transaction began")

// finish ends a transaction that is to be answered so. With the chance that was asked for
// it is answered with unknown, and with equal chance applied or not.
func (x *optimistic) finish(reply store.Reply) store.Reply {
	applies := reply.Outcome == history.Committed
	sure := reply.Outcome == history.Failed && reply.Violated != store.Floor && reply.Violated != store.Absent
	if !sure && x.d.timeout > 0 && x.d.chance.Float64() < x.d.timeout {
		reply = store.Reply{Class: store.ClassTimeout}
		applies = applies && x.d.chance.Uint64()&1 == 0
	}
	if !applies {
		x.abort()
		return reply
	}
	if !x.commit() && reply.Outcome == history.Committed {
		return store.Reply{Outcome: history.Failed, Class: store.ClassSerialization}
	}
	return reply
}
