package mem

import (
	"slices"

	"assay/history"
	"assay/workload/isolation"
)

// Bugs in what transactions of workload isolation do to the data.

// writes says that an operation writes a thing.
func writes(o *isolation.Op, t thing) bool {
	switch o.Kind {
	case isolation.Append, isolation.AppendByRewrite:
		return t == thing{spaceList, o.Key}
	case isolation.Write:
		return t == thing{spaceRegister, o.Key}
	case isolation.Insert:
		return t == thing{spaceGroup, o.Key}
	case isolation.Withdraw:
		return t == thing{spaceRow, 2*o.Key + o.Value&1}
	default:
		return false
	}
}

// read returns what an operation reads, at most two things.
func read(o *isolation.Op) []thing {
	switch o.Kind {
	case isolation.ReadList:
		return []thing{{spaceList, o.Key}}
	case isolation.ReadValue:
		return []thing{{spaceRegister, o.Key}}
	case isolation.Count:
		return []thing{{spaceGroup, o.Key}}
	case isolation.Withdraw:
		return []thing{{spaceRow, 2 * o.Key}, {spaceRow, 2*o.Key + 1}}
	default:
		return nil
	}
}

// willWrite says that one of the transaction's operations writes a thing.
func (x *transaction) willWrite(t thing) bool {
	return slices.ContainsFunc(x.ops, func(o isolation.Op) bool { return writes(&o, t) })
}

// anyWrite says that the transaction writes at all.
func (x *transaction) anyWrite() bool {
	return slices.ContainsFunc(x.ops, func(o isolation.Op) bool { return o.Kind == isolation.Withdraw || len(read(&o)) == 0 })
}

// does says that one of the operations is of one of these kinds.
func (x *transaction) does(kinds ...isolation.Kind) bool {
	return slices.ContainsFunc(x.ops, func(o isolation.Op) bool { return slices.Contains(kinds, o.Kind) })
}

// pure returns what the transaction reads and does not write.
func (x *transaction) pure() []thing {
	var pure []thing
	for i := range x.ops {
		for _, t := range read(&x.ops[i]) {
			if !x.willWrite(t) && !slices.Contains(pure, t) {
				pure = append(pure, t)
			}
		}
	}
	return pure
}

// strikeTwice applies the appends again.
func strikeTwice(x *transaction) bool {
	if !x.does(isolation.Append, isolation.AppendByRewrite) {
		return false
	}
	x.end = func(x *transaction) isolation.Reply {
		reply := x.commit()
		if reply.Outcome != history.Committed {
			return reply
		}
		for i := range x.writes {
			if c := &x.writes[i]; c.space == spaceList {
				again := change{thing: c.thing, appended: c.appended}
				x.applyChange(&again)
			}
		}
		return reply
	}
	return true
}

// strikeLostUpdate looks for something that the transaction reads and then
// writes, and that the last transaction to write it had read as well. It then
// reads what that one read.
func strikeLostUpdate(x *transaction) bool {
	for i := range x.ops {
		if x.ops[i].Kind != isolation.ReadList && x.ops[i].Kind != isolation.ReadValue {
			continue
		}
		t := read(&x.ops[i])[0]
		wrote := func(o isolation.Op) bool { return writes(&o, t) }
		if slices.ContainsFunc(x.ops[:i], wrote) || !slices.ContainsFunc(x.ops[i:], wrote) {
			continue
		}
		last := x.d.data.latest(t).at
		if last == 0 || !x.d.data.wasUpdate(t, last) {
			continue
		}
		x.old = append(x.old, reading{t, last - 1})
		x.excused = append(x.excused, t)
		x.end = func(x *transaction) isolation.Reply {
			if c := x.change(t); t.space == spaceList && !c.rewritten {
				c.whole = slices.Clone(x.d.data.asOf(t, last-1).lists[x.session.side])
				c.rewritten = true
			}
			return x.commit()
		}
		return true
	}
	return false
}

// wasUpdate says that a commit wrote a thing that it had read.
func (v *versions) wasUpdate(t thing, at int64) bool {
	for c := range v.recent(maxLog) {
		if c.at == at && !c.silent {
			return slices.ContainsFunc(c.read, func(r reading) bool { return r.thing == t })
		}
	}
	return false
}

// strikeSplit lets the appends reach one copy only.
func strikeSplit(x *transaction) bool {
	x.onesided = x.does(isolation.Append)
	return x.onesided
}

// strikeAborted makes the transaction fail and leaves the first thing that it
// wrote as a ghost.
func strikeAborted(x *transaction) bool {
	if !x.does(isolation.Append, isolation.AppendByRewrite, isolation.Write) {
		return false
	}
	x.end = func(x *transaction) isolation.Reply {
		for _, c := range x.writes {
			if c.space == spaceList || c.space == spaceRegister {
				x.d.ghosts[c.thing] = aborted{c, x.bug}
				break
			}
		}
		return conflict()
	}
	return true
}

// strikeDirtyRead looks for what the transaction reads and another one has
// written and will write again, so that what is read is in the middle of it;
// or for another one that will write something after the transaction has, so
// that each comes before the other.
func strikeDirtyRead(x *transaction) bool {
	for _, t := range x.pure() {
		for _, other := range x.d.active {
			c := other.change(t)
			if other == x || c == nil || t.space != spaceList && t.space != spaceRegister {
				continue
			}
			again := slices.ContainsFunc(other.ops[other.next:], func(o isolation.Op) bool { return writes(&o, t) })
			if !again && !x.meets(other) {
				continue
			}
			seen := *c
			seen.appended = slices.Clone(c.appended)
			x.uncommitted, x.excused = &seen, []thing{t}
			return true
		}
	}
	return false
}

// meets says that both transactions append to one list.
func (x *transaction) meets(other *transaction) bool {
	return slices.ContainsFunc(x.ops, func(o isolation.Op) bool {
		return o.Kind == isolation.Append && other.willWrite(thing{spaceList, o.Key})
	})
}

// strikeInternal looks for a read of what was written before.
func strikeInternal(x *transaction) bool {
	for i := range x.ops {
		if x.ops[i].Kind == isolation.Withdraw {
			continue
		}
		for _, t := range read(&x.ops[i]) {
			if t.space != spaceGroup && slices.ContainsFunc(x.ops[:i], func(o isolation.Op) bool { return writes(&o, t) }) {
				x.forgetful = true
				return true
			}
		}
	}
	return false
}
