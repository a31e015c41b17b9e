package mem

import (
	"slices"

	"assay/history"
	"assay/workload"
	"assay/workload/isolation"
)

// transaction is one in progress. It reads the state as of its beginning and
// what it has done itself, and keeps what it writes to itself until it
// commits. It commits only if all that it read is still current: so it might
// as well have happened in that very moment, and is strictly serializable
// (H. T. Kung, J. T. Robinson, "On Optimistic Methods for Concurrency
// Control", ACM TODS 6(2), 1981, with backward validation).
//
// The database's lock is held for all its methods.
type transaction struct {
	d       *Multiversion
	session *versionSession
	ops     []isolation.Op
	// snapshot is the commit whose state is read, epoch the failover that came
	// before it.
	snapshot int64
	epoch    int
	next     int // the next of ops
	reads    []reading
	writes   []change

	// What bugs set.

	// bug is the one that struck; nil if none did.
	bug *armed
	// old has things that are read in an older version; excused are not
	// validated.
	old     []reading
	excused []thing
	// uncommitted is what another one has not committed, and it sees.
	uncommitted *change
	// forgetful lets one read miss what the transaction did itself.
	forgetful bool
	// short cuts the first list that is read.
	short bool
	// onesided appends to the lists of its own side only.
	onesided bool
	// end is done instead of committing.
	end func(*transaction) isolation.Reply
}

// change is what a transaction has done to one thing.
type change struct {
	thing
	// appended are elements to be added to whatever the list is then; whole is
	// the list as it was read for writing it anew, with rewritten set.
	appended  []int64
	whole     []int64
	rewritten bool
	// value is the register's or row's new value, or how many rows more the
	// group has.
	value int64
}

func (x *transaction) change(t thing) *change {
	for i := range x.writes {
		if x.writes[i].thing == t {
			return &x.writes[i]
		}
	}
	return nil
}

func (x *transaction) mustChange(t thing) *change {
	if c := x.change(t); c != nil {
		return c
	}
	x.writes = append(x.writes, change{thing: t})
	return &x.writes[len(x.writes)-1]
}

// view returns the version that is read, and notes the reading.
func (x *transaction) view(t thing) version {
	at := x.snapshot
	for i, o := range x.old {
		if o.thing == t {
			at = o.at
			if t.space == spaceGroup { // only the first count
				x.old = slices.Delete(x.old, i, i+1)
			}
			break
		}
	}
	v := x.d.data.asOf(t, at)
	if !slices.ContainsFunc(x.reads, func(r reading) bool { return r.thing == t }) {
		x.reads = append(x.reads, reading{t, v.at})
	}
	return v
}

// own returns what the transaction has done to a thing, nil if nothing, and
// sometimes forgets.
func (x *transaction) own(t thing) *change {
	c := x.change(t)
	if c != nil && x.forgetful {
		x.forgetful = false
		return nil
	}
	return c
}

// operate does the next operation.
func (x *transaction) operate() {
	o := &x.ops[x.next]
	x.next++
	switch o.Kind {
	case isolation.Append:
		c := x.mustChange(thing{spaceList, o.Key})
		c.appended = append(c.appended, o.Value)
	case isolation.AppendByRewrite:
		t := thing{spaceList, o.Key}
		c := x.mustChange(t)
		if !c.rewritten {
			c.whole, c.rewritten = slices.Clone(x.view(t).lists[x.session.side]), true
		}
		c.appended = append(c.appended, o.Value)
	case isolation.ReadList:
		x.readList(o)
	case isolation.Write:
		x.mustChange(thing{spaceRegister, o.Key}).value = o.Value
	case isolation.ReadValue:
		x.readValue(o)
	case isolation.Insert:
		x.mustChange(thing{spaceGroup, o.Key}).value++
	case isolation.Count:
		t := thing{spaceGroup, o.Key}
		o.Value = x.view(t).value
		if c := x.own(t); c != nil {
			o.Value += c.value
		}
	case isolation.Withdraw:
		x.withdraw(o)
	}
}

func (x *transaction) readList(o *isolation.Op) {
	t := thing{spaceList, o.Key}
	o.List = append(o.List[:0], x.view(t).lists[x.session.side]...)
	if pending := x.strange(t); pending != nil {
		o.List = append(o.List, pending.appended...)
	}
	if c := x.own(t); c != nil {
		o.List = append(o.List, c.appended...)
	}
	if x.short && len(o.List) > 0 {
		o.List, x.short = o.List[:len(o.List)-1], false
	}
}

func (x *transaction) readValue(o *isolation.Op) {
	t := thing{spaceRegister, o.Key}
	if c := x.own(t); c != nil { // which says nothing of what others wrote
		o.Value, o.Found = c.value, true
		return
	}
	v := x.view(t)
	o.Value, o.Found = v.value, v.at > 0
	if pending := x.strange(t); pending != nil {
		o.Value, o.Found = pending.value, true
	}
}

// withdraw reads both rows of a pair and writes one.
func (x *transaction) withdraw(o *isolation.Op) {
	var sides [2]int64
	for side := range sides {
		t := thing{spaceRow, 2*o.Key + int64(side)}
		sides[side] = x.view(t).value
		if c := x.change(t); c != nil {
			sides[side] = c.value
		}
	}
	o.Result = sides[0] | sides[1]<<1
	own := o.Value & 1
	x.mustChange(thing{spaceRow, 2*o.Key + own}).value = isolation.Withdrawn(sides[own], sides[1-own])
}

// valid says whether the transaction may commit.
func (x *transaction) valid() bool {
	if x.epoch != x.d.epoch {
		return false
	}
	for _, r := range x.reads {
		if x.d.data.latest(r.thing).at != r.at && !slices.Contains(x.excused, r.thing) {
			return false
		}
	}
	return true
}

// conflict is the answer to a transaction that may not.
func conflict() isolation.Reply {
	return isolation.Reply{Outcome: history.Failed, Class: workload.ClassSerialization}
}

// commit ends the transaction honestly.
func (x *transaction) commit() isolation.Reply {
	if !x.valid() {
		return conflict()
	}
	x.apply()
	return isolation.Reply{Outcome: history.Committed}
}

// apply makes what was written visible.
func (x *transaction) apply() {
	data := &x.d.data
	done := commit{at: data.clock, read: x.reads, silent: len(x.writes) == 0, answered: new(uint64)}
	x.session.answered = done.answered
	x.session.seen = max(x.session.seen, x.snapshot)
	if !done.silent {
		data.clock++
		done.at = data.clock
		x.session.wrote, x.session.seen = done.at, done.at
	}
	for i := range x.writes {
		x.applyChange(&x.writes[i])
		done.wrote = append(done.wrote, x.writes[i].thing)
	}
	data.remember(done)
}

func (x *transaction) applyChange(c *change) {
	next := x.d.data.latest(c.thing)
	next.grown = [2]bool{}
	switch {
	case c.space == spaceList && c.rewritten:
		list := append(slices.Clip(c.whole), c.appended...)
		next.lists = [2][]int64{list, list}
		delete(x.d.forked, c.thing)
	case c.space == spaceList:
		next.lists = x.grow(c)
	case c.space == spaceGroup:
		next.value += c.value
	default:
		next.value = c.value
	}
	x.d.data.put(c.thing, next)
}

// grow returns a list with what is appended to it. Both sides are one until a
// bug parts them.
func (x *transaction) grow(c *change) [2][]int64 {
	data := &x.d.data
	if x.onesided && !x.d.forked[c.thing] {
		x.d.forked[c.thing] = true
		both := slices.Clone(data.latest(c.thing).lists[0])
		lists := [2][]int64{both, slices.Clone(both)}
		lists[x.session.side] = append(lists[x.session.side], c.appended...)
		return lists
	}
	if !x.d.forked[c.thing] {
		list := data.grow(c.thing, 0, c.appended)
		return [2][]int64{list, list}
	}
	lists := data.latest(c.thing).lists
	for side := range lists {
		if !x.onesided || side == x.session.side {
			lists[side] = data.grow(c.thing, side, c.appended)
		}
	}
	return lists
}
