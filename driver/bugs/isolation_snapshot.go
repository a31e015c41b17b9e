package bugs

import (
	"slices"

	"assay/workload/isolation"
)

// Bugs in which state a transaction of workload isolation reads. They look in
// the log for an occasion on which the older state makes a difference, so that
// each time leaves the anomaly that it is named after.

// readSkewed looks for a commit that was the last to write two objects that the
// transaction reads; of these it sees the one and not the other.
func readSkewed(x *transaction) bool {
	log, pure := &x.s.log, x.pure()
	for w := range log.recent(occasions) {
		var last []object
		for _, o := range pure {
			if w.wrote(o) != nil && log.latest(o) == w.at {
				last = append(last, o)
			}
		}
		if i := slices.IndexFunc(last, w.shows); i >= 0 && len(last) >= 2 {
			x.old = append(x.old, reading{last[i], w.at - 1})
			return true
		}
	}
	return false
}

// writeSkewed looks for a commit that wrote what the transaction reads, and read
// what the transaction writes and nobody has written since. The transaction reads
// the state from before it.
func writeSkewed(x *transaction) bool {
	var reads []object
	for i := range x.ops {
		if x.ops[i].Kind != isolation.Count { // of which nobody can tell what it missed
			reads = append(reads, read(&x.ops[i])...)
		}
	}
	for w := range x.s.log.recent(occasions) {
		crossed := slices.ContainsFunc(w.reads, func(r reading) bool {
			return x.willWrite(r.object) && w.wrote(r.object) == nil && (r.space != spaceRegister || slices.Contains(reads, r.object))
		})
		seen := slices.ContainsFunc(reads, func(o object) bool { return !x.willWrite(o) && w.shows(o) })
		if w.silent() || !crossed || !seen || x.changedSince(w.at-1) {
			continue
		}
		x.snapshot = w.at - 1
		return true
	}
	return false
}

// changedSince says that something the transaction writes was written after a
// commit.
func (x *transaction) changedSince(at int64) bool {
	return slices.ContainsFunc(allWritten(x.ops), func(o object) bool { return x.s.log.latest(o) > at })
}

// forkLong looks for two commits, each the last to write one of two objects that
// the transaction reads, of which the second knows nothing of the first, and for a
// reader who saw the first and not the second. The transaction sees the second and
// not the first.
func forkLong(x *transaction) bool {
	log, pure := &x.s.log, x.pure()
	for v := range log.recent(occasions) {
		for _, y := range pure {
			if !v.shows(y) || log.latest(y) != v.at {
				continue
			}
			for w := range log.recent(occasions) {
				if w.silent() || w.at >= v.at || v.touches(w) {
					continue
				}
				for _, first := range pure {
					if w.shows(first) && log.latest(first) == w.at && log.sawOnly(first, y, v.at) {
						x.old = append(x.old, reading{first, w.at - 1})
						return true
					}
				}
			}
		}
	}
	return false
}

// readStale has a transaction that only reads see the state that its session
// knows, if something has changed since by a transaction whose client had its
// answer when the session's last one ended, and so before this one was begun.
// What was answered only while it went on might rightly be missed.
func readStale(x *transaction) bool {
	return x.goBack(max(x.session.seen, x.s.log.forgotten), func(c *commit) bool {
		return *c.answered > 0 && *c.answered <= x.session.finished
	})
}

// rollBackSession has a transaction that only reads see the state from before
// its session's last commit.
func rollBackSession(x *transaction) bool {
	at := x.session.wrote - 1
	if at < x.s.log.forgotten {
		return false
	}
	for own := range x.s.log.back() {
		if own.at == at+1 && !own.silent() {
			return slices.ContainsFunc(x.pure(), own.shows) && x.goBack(at, func(*commit) bool { return true })
		}
	}
	return false
}

// goBack has a transaction that only reads see an older state, if it then misses
// a commit that counts.
func (x *transaction) goBack(at int64, counts func(*commit) bool) bool {
	if len(allWritten(x.ops)) > 0 {
		return false
	}
	reads := x.pure()
	for c := range x.s.log.back() {
		if c.at > at && slices.ContainsFunc(reads, c.shows) && counts(c) {
			x.snapshot = at
			return true
		}
	}
	return false
}

// countPhantom looks for a group that is counted twice.
func countPhantom(x *transaction) bool {
	for i := range x.ops {
		if x.ops[i].Kind != isolation.Count {
			continue
		}
		group := read(&x.ops[i])[0]
		again := slices.ContainsFunc(x.ops[i+1:], func(o isolation.Op) bool { return o.Kind == isolation.Count && o.Key == group.key })
		if last := x.s.log.latest(group); again && last > 0 {
			x.old = append(x.old, reading{group, last - 1})
			return true
		}
	}
	return false
}

// countSkewed looks for a commit that counted a group and inserted into it, as the
// transaction does. The transaction reads the state from before it.
func countSkewed(x *transaction) bool {
	for w := range x.s.log.recent(occasions) {
		for i := range x.ops {
			if x.ops[i].Kind != isolation.Count {
				continue
			}
			group := object{spaceGroup, x.ops[i].Key}
			if x.willWrite(group) && w.wrote(group) != nil && w.read(group) {
				x.snapshot = w.at - 1
				return true
			}
		}
	}
	return false
}
