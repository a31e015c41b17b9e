package bugs

import (
	"context"
	"slices"

	"assay/history"
	"assay/workload/isolation"
)

// transaction is one in progress. Whoever works on it has the turn.
type transaction struct {
	s       *isolationStore
	session *isolationSession
	ops     []isolation.Op
	// snapshot is the commit whose state is shown.
	snapshot int64
	writes   []write
	reads    []reading

	// What bugs set.

	// bug is the one that is at work; nil if none is.
	bug *active[isolationActions]
	// old has objects that are shown as another commit left them.
	old []reading
	// middle is shown as it was in the middle of the last commit that wrote it.
	middle *object
	// forgetful lets one read miss what the transaction did itself.
	forgetful bool
	// short cuts the first list or register that is read; it counts once it has.
	short bool
	// beside is sent with the operations.
	beside []isolation.Op
	// instead answers the transaction, which is then not sent.
	instead func(*transaction) isolation.Reply
	// committed is called when the database has committed, before the answers are
	// made.
	committed func(*transaction)
	// end records and answers the transaction once it is committed.
	end func(context.Context, *transaction) isolation.Reply
}

// do sends the transaction and answers it.
func (x *transaction) do(ctx context.Context) isolation.Reply {
	if x.instead != nil {
		return x.instead(x)
	}
	// What registers held before they are written is asked for as well, so that
	// they can be shown so later.
	var sent []isolation.Op
	for _, o := range x.ops {
		if o.Kind == isolation.Write {
			sent = append(sent, isolation.Op{Kind: isolation.ReadValue, Key: o.Key})
		}
	}
	first := len(sent)
	sent = append(sent, asked(x.ops)...)
	reply := x.session.Session.Do(ctx, append(sent, x.beside...))
	if reply.Outcome != history.Committed {
		return reply
	}
	if x.committed != nil {
		x.committed(x)
	}
	before := map[int64]value{}
	for _, o := range sent[:first] {
		before[o.Key] = x.s.shown.register(o.Key, x.session.side, value{number: o.Value, found: o.Found})
	}
	for i := range x.ops {
		x.answer(&x.ops[i], &sent[first+i], before)
	}
	for i := range x.beside {
		x.append(&x.beside[i])
	}
	if x.bug != nil && x.short {
		x.bug = nil // there was nothing to be cut
	}
	if x.end != nil {
		return x.end(ctx, x)
	}
	x.record()
	return reply
}

// record remembers the transaction.
func (x *transaction) record() {
	log, n := &x.s.log, x.session
	n.seen = max(n.seen, x.snapshot)
	if len(x.writes) > 0 {
		log.clock++
		n.wrote, n.seen = log.clock, log.clock
	}
	c := commit{at: log.clock, writes: x.writes, reads: x.reads, answered: new(uint64)}
	n.answered = c.answered
	log.add(c)
}

// mine is what the transaction has done to an object, nil if nothing.
func (x *transaction) mine(o object) *write {
	c := commit{writes: x.writes}
	return c.wrote(o)
}

func (x *transaction) write(o object, before value) *write {
	if w := x.mine(o); w != nil {
		w.times++
		return w
	}
	x.writes = append(x.writes, write{object: o, before: before, times: 1})
	return &x.writes[len(x.writes)-1]
}

// own is mine, nil once if the bug forgets.
func (x *transaction) own(o object) *write {
	w := x.mine(o)
	if w != nil && x.forgetful {
		x.forgetful = false
		return nil
	}
	return w
}

func (x *transaction) append(o *isolation.Op) {
	w := x.write(object{spaceList, o.Key}, value{})
	w.elements = append(w.elements, o.Value)
}

// at is the commit whose state of an object is shown. It notes the reading.
func (x *transaction) at(o object) int64 {
	at := x.snapshot
	for i, r := range x.old {
		if r.object == o {
			at = r.at
			if o.space == spaceGroup { // only the first count
				x.old = slices.Delete(x.old, i, i+1)
			}
			break
		}
	}
	if !slices.ContainsFunc(x.reads, func(r reading) bool { return r.object == o }) {
		x.reads = append(x.reads, reading{o, x.s.log.asOf(o, at)})
	}
	return at
}

// answer notes what an operation did and gives it its result, by what the
// database answered.
func (x *transaction) answer(o, answered *isolation.Op, before map[int64]value) {
	switch o.Kind {
	case isolation.Append:
		x.append(o)
	case isolation.AppendByRewrite:
		x.at(object{spaceList, o.Key})
		x.append(o)
	case isolation.ReadList:
		o.List = append(o.List[:0], x.list(object{spaceList, o.Key}, answered.List)...)
	case isolation.Write:
		w := x.write(object{spaceRegister, o.Key}, before[o.Key])
		w.after = value{number: o.Value, found: true}
		if w.times == 1 {
			w.first = w.after
		}
		x.s.shown.follow(o.Key)
	case isolation.ReadValue:
		v := x.register(object{spaceRegister, o.Key}, value{number: answered.Value, found: answered.Found})
		o.Value, o.Found = v.number, v.found
	case isolation.Insert:
		x.write(object{spaceGroup, o.Key}, value{}).rows++
	case isolation.Count:
		group := object{spaceGroup, o.Key}
		o.Value = answered.Value + x.s.shown.groups[o.Key]
		for w := range x.s.log.since(x.at(group), group) {
			o.Value -= w.rows
		}
	case isolation.Withdraw:
		x.withdraw(o, answered.Result)
	}
}

// list is a list as it is shown.
func (x *transaction) list(o object, elements []int64) []int64 {
	var own []int64
	if w := x.mine(o); w != nil {
		own = w.elements
		elements = slices.DeleteFunc(elements, func(e int64) bool { return slices.Contains(own, e) })
	}
	elements = x.s.shown.list(elements, x.session.side)
	for w := range x.s.log.since(x.at(o), o) {
		elements = slices.DeleteFunc(elements, func(e int64) bool { return slices.Contains(w.elements, e) })
	}
	if x.middle != nil && *x.middle == o {
		for w := range x.s.log.since(x.s.log.latest(o)-1, o) {
			elements = slices.DeleteFunc(elements, func(e int64) bool { return slices.Contains(w.elements[1:], e) })
		}
	}
	if g := x.ghost(o); g != nil {
		elements = append(elements, g.elements...)
	}
	if x.own(o) != nil {
		elements = append(elements, own...)
	}
	if x.short && len(elements) > 0 {
		elements, x.short = elements[:len(elements)-1], false
	}
	return elements
}

// register is a register as it is shown.
func (x *transaction) register(o object, v value) value {
	if w := x.mine(o); w != nil {
		if x.own(o) != nil { // which says nothing of what others wrote
			return w.after
		}
		v = w.before
	} else {
		v = x.s.shown.register(o.key, x.session.side, v)
	}
	for w := range x.s.log.since(x.at(o), o) {
		v = w.before
	}
	if x.middle != nil && *x.middle == o {
		for w := range x.s.log.since(x.s.log.latest(o)-1, o) {
			v = w.first
		}
	}
	if g := x.ghost(o); g != nil {
		v = g.after
	}
	if x.short && v.found && slices.ContainsFunc(x.s.log.entries, func(c commit) bool { return c.wrote(o) != nil && x.knows(&c) }) {
		v, x.short = value{}, false
	}
	return v
}

// withdraw does the rule on both sides of a pair as they are shown.
func (x *transaction) withdraw(o *isolation.Op, result int64) {
	held := [2]int64{result & 1, result >> 1 & 1}
	now, then := held, held
	for side := range held {
		at := object{spaceSide, 2*o.Key + int64(side)}
		if shown, differs := x.s.shown.sides[at.key]; differs {
			now[side] = shown
		}
		then[side] = now[side]
		as := x.at(at)
		if x.mine(at) != nil {
			continue
		}
		for w := range x.s.log.since(as, at) {
			then[side] = w.before.number
		}
	}
	o.Result = then[0] | then[1]<<1
	side := o.Value & 1
	key := 2*o.Key + side
	w := x.write(object{spaceSide, key}, value{number: now[side], found: true})
	w.after = value{number: isolation.Withdrawn(then[side], then[1-side]), found: true}
	if w.after.number == isolation.Withdrawn(held[side], held[1-side]) {
		delete(x.s.shown.sides, key)
	} else {
		x.s.shown.sides[key] = w.after.number
		x.s.differences++
	}
}

// ghost returns what a failed transaction wrote to an object, for the first who
// reads it.
func (x *transaction) ghost(o object) *write {
	g, there := x.s.ghosts[o]
	if !there {
		return nil
	}
	delete(x.s.ghosts, o)
	x.bug = g.bug
	return &g.write
}
