package mem

import (
	"slices"

	"assay/workload/isolation"
)

// Bugs in which state a transaction of workload isolation reads. They look in
// the log for an occasion on which the older state makes a difference, so that
// each strike leaves the anomaly that it is named after.

// occasions is how many commits are looked at.
const occasions = 64

// see has a thing read as it was after a commit, and not validated.
func (x *transaction) see(t thing, at int64) {
	x.old = append(x.old, reading{t, at})
	x.excused = append(x.excused, t)
}

// shows says that what a commit wrote is known to come after what was there
// before: a list shows its order, a register only if the commit read it first.
func (c *commit) shows(t thing) bool {
	return slices.Contains(c.wrote, t) && (t.space != spaceRegister || c.saw(t))
}

func (c *commit) saw(t thing) bool {
	return slices.ContainsFunc(c.read, func(r reading) bool { return r.thing == t })
}

// strikeReadSkew looks for a commit that was the last to write two things that
// the transaction reads; of these it sees the one and not the other.
func strikeReadSkew(x *transaction) bool {
	pure := x.pure()
	for w := range x.d.data.recent(occasions) {
		var last []thing
		for _, t := range pure {
			if !w.silent && x.d.data.latest(t).at == w.at && slices.Contains(w.wrote, t) {
				last = append(last, t)
			}
		}
		if i := slices.IndexFunc(last, w.shows); i >= 0 && len(last) >= 2 {
			x.see(last[i], w.at-1)
			return true
		}
	}
	return false
}

// strikeWriteSkew looks for a commit that wrote what the transaction reads,
// and read what the transaction writes and nobody has written since. The
// transaction reads the state from before it.
func strikeWriteSkew(x *transaction) bool {
	data := &x.d.data
	var reads []thing
	for i := range x.ops {
		reads = append(reads, read(&x.ops[i])...)
	}
	for w := range data.recent(occasions) {
		crossed := slices.ContainsFunc(w.read, func(r reading) bool {
			return x.willWrite(r.thing) && !slices.Contains(w.wrote, r.thing) &&
				(r.space != spaceRegister || slices.Contains(reads, r.thing))
		})
		seen := slices.ContainsFunc(w.wrote, func(t thing) bool {
			return slices.Contains(reads, t) && !x.willWrite(t) && w.shows(t)
		})
		if w.silent || !crossed || !seen || x.changedSince(w.at-1) {
			continue
		}
		x.snapshot, x.excused = w.at-1, reads
		x.end = func(x *transaction) isolation.Reply {
			if x.changedSince(x.snapshot) { // the first committer wins
				return conflict()
			}
			return x.commit()
		}
		return true
	}
	return false
}

// changedSince says that something the transaction writes was written after a
// commit.
func (x *transaction) changedSince(at int64) bool {
	for i := range x.ops {
		o := &x.ops[i]
		for _, t := range []thing{{spaceList, o.Key}, {spaceRegister, o.Key}, {spaceGroup, o.Key}, {spaceRow, 2*o.Key + o.Value&1}} {
			if writes(o, t) && x.d.data.latest(t).at > at {
				return true
			}
		}
	}
	return false
}

// strikeLongFork looks for two commits, each the last to write one of two
// things that the transaction reads, of which the second knows nothing of the
// first, and for a reader who saw the first and not the second. The
// transaction sees the second and not the first.
func strikeLongFork(x *transaction) bool {
	data, pure := &x.d.data, x.pure()
	for v := range data.recent(occasions) {
		for _, y := range pure {
			if v.silent || data.latest(y).at != v.at || !v.shows(y) {
				continue
			}
			for w := range data.recent(occasions) {
				if w.silent || w.at >= v.at || v.touches(w.wrote) {
					continue
				}
				for _, first := range pure {
					if data.latest(first).at == w.at && w.shows(first) && data.sawOnly(first, y, v.at) {
						x.see(first, w.at-1)
						return true
					}
				}
			}
		}
	}
	return false
}

// touches says that a commit read or wrote one of these.
func (c *commit) touches(things []thing) bool {
	return slices.ContainsFunc(things, func(t thing) bool {
		return slices.Contains(c.wrote, t) || c.saw(t)
	})
}

// sawOnly says that somebody read the first thing as it is now and the second
// as it was right before a commit.
func (v *versions) sawOnly(first, second thing, before int64) bool {
	now, then := v.latest(first).at, v.asOf(second, before-1).at
	for c := range v.recent(2 * occasions) {
		one := slices.Contains(c.read, reading{first, now})
		two := slices.Contains(c.read, reading{second, then})
		if one && two && c.at < before {
			return true
		}
	}
	return false
}

// strikeStale has a transaction that only reads see the state that its session
// knows, if something has changed since by a transaction whose client had its
// answer when the session's last one ended, and so before this one was begun.
// What was answered only while it went on might rightly be missed.
func strikeStale(x *transaction) bool {
	return x.goBack(max(x.session.seen, x.d.data.clock-maxLog+1), func(c *commit) bool {
		return *c.answered > 0 && *c.answered <= x.session.finished
	})
}

// strikeRollback has a transaction that only reads see the state from before
// its session's last commit.
func strikeRollback(x *transaction) bool {
	at := x.session.wrote - 1
	if at < 0 || at <= x.d.data.clock-maxLog {
		return false
	}
	for own := range x.d.data.recent(maxLog) {
		if own.at == at+1 && !own.silent {
			return slices.ContainsFunc(x.pure(), own.shows) && x.goBack(at, func(*commit) bool { return true })
		}
	}
	return false
}

// goBack has a transaction that only reads see an older state, if it then misses
// a commit that counts.
func (x *transaction) goBack(at int64, counts func(*commit) bool) bool {
	if x.anyWrite() {
		return false
	}
	reads := x.pure()
	differs := false
	for c := range x.d.data.recent(maxLog) {
		differs = differs || c.at > at && !c.silent && slices.ContainsFunc(reads, c.shows) && counts(&c)
	}
	if differs {
		x.snapshot, x.excused = at, reads
	}
	return differs
}

// strikePhantom looks for a group that is counted twice.
func strikePhantom(x *transaction) bool {
	for i := range x.ops {
		if x.ops[i].Kind != isolation.Count {
			continue
		}
		t := thing{spaceGroup, x.ops[i].Key}
		again := slices.ContainsFunc(x.ops[i+1:], func(o isolation.Op) bool { return o.Kind == isolation.Count && o.Key == t.key })
		if last := x.d.data.latest(t).at; again && last > 0 {
			x.see(t, last-1)
			return true
		}
	}
	return false
}
