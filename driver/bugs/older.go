package bugs

import (
	"slices"

	"assay/store"
	"assay/store/bug"
)

// These bugs read a wrong state. As each row is read, they look among the last transactions for one
// whose older state makes a difference. So each bug leaves the anomaly that it is named after.

// see records the reading of a row and returns the row as it is shown, nil if it is absent.
func (x *attempt) see(p place, t *store.Table, columns []string, row image) image {
	log := &x.d.log
	if !x.d.watches {
		return row
	}
	if i := slices.IndexFunc(x.changes, func(c change) bool { return c.place == p }); i >= 0 {
		if !x.does(bug.ReadsWithoutOwn) || x.struck || !x.about(p.table) {
			return row
		}
		x.struck = true
		return x.changes[i].before.pick(t, columns)
	}
	if x.about(p.table) && !x.struck {
		switch does := x.bug.Act.Does; {
		case does == bug.ReadsMiddle && log.middle(p) != nil:
			x.struck = true
			row = log.middle(p).pick(t, columns)
		case x.mixes:
			return x.mix(p, t, columns, row)
		case x.occasion(p), x.goBack(p):
			x.struck = true
		}
	}
	at := x.snapshot
	if x.hidden != nil && x.hidden.wrote(p) != nil {
		at = min(at, x.hidden.at-1)
	}
	seen := log.latest(p, at)
	x.reads = append(x.reads, seenRow{p, seen})
	if seen == log.latest(p, log.clock) {
		return row
	}
	return log.asOf(p, at, nil).pick(t, columns)
}

// saw is the version in which this attempt has read a row.
func (x *attempt) saw(p place) (at int64, ok bool) {
	e := ended{reads: x.reads}
	return e.saw(p)
}

// occasion looks for a transaction to hide: one that changed the row.
func (x *attempt) occasion(p place) bool {
	n := 0
	for e := range x.d.log.back() {
		if n++; n > occasions {
			break
		}
		if e.wrote(p) == nil || !x.wrong(e, p) {
			continue
		}
		x.hidden = e
		return true
	}
	return false
}

// wrong reports whether hiding a transaction's change of a row makes the bug's anomaly.
func (x *attempt) wrong(e *ended, p place) bool {
	log := &x.d.log
	if x.does(bug.ReadsOlder) {
		return log.latest(p, log.clock) == e.at && e.wrote(p).before != nil
	}
	if e.wrote(p).blind {
		return false
	}
	switch x.bug.Act.Does {
	case bug.ReadsMiddle, bug.ReadsSkewed:
		return slices.ContainsFunc(e.changes, func(c change) bool {
			at, ok := x.saw(c.place)
			return c.place != p && ok && at >= e.at && log.traced(c.place, e.at, at)
		})
	case bug.ReadsPassed:
		return log.latest(p, log.clock) == e.at && slices.ContainsFunc(x.reads, func(r seenRow) bool {
			before, read := e.saw(r.place)
			return read && r.at > e.at && before < r.at && e.wrote(r.place) == nil
		})
	case bug.ReadsForked:
		return x.forked(e, p)
	}
	return false
}

// forked reports whether an earlier reader saw the first transaction but not a second one, which
// this attempt has seen and which does not know the first.
func (x *attempt) forked(first *ended, p place) bool {
	log := &x.d.log
	for i := range first.changes {
		q := first.changes[i].place
		if _, seen := x.saw(q); seen || log.latest(q, log.clock) != first.at {
			return false
		}
	}
	for _, r := range x.reads {
		second := log.last(r.place, r.at)
		if second == nil || second.at <= first.at || second.knows(first) {
			continue
		}
		n := 0
		for reader := range log.back() {
			if n++; n > 2*occasions {
				break
			}
			one, sawOne := reader.saw(p)
			other, sawOther := reader.saw(r.place)
			if sawOne && one == first.at && sawOther && other < second.at && log.traced(r.place, other, second.at) {
				return true
			}
		}
	}
	return false
}

// knows reports whether a transaction read or changed a row that another has changed.
func (e *ended) knows(other *ended) bool {
	return slices.ContainsFunc(other.changes, func(c change) bool {
		_, saw := e.saw(c.place)
		return saw || e.wrote(c.place) != nil
	})
}

// answered reports whether a transaction's client had its answer before this session's last call
// ended, and so before this attempt began.
func (x *attempt) answered(e *ended) bool { return *e.known > 0 && *e.known <= x.finished }

// goBack looks for a change of the row by a transaction that was answered before and that the
// session does not know, or by the session's own last transaction. It then reads the state before
// it. A transaction answered while this one ran may be missed without an anomaly.
func (x *attempt) goBack(p place) bool {
	for e := range x.d.log.back() {
		suits := x.does(bug.ReadsStale) && x.answered(e) && (x.n == nil || e.at > x.n.seen) ||
			x.does(bug.ReadsBeforeOwn) && e.at == x.n.wrote
		if c := e.wrote(p); c == nil || c.blind || !suits {
			continue
		}
		if slices.ContainsFunc(x.reads, func(r seenRow) bool { return r.at >= e.at }) {
			return false
		}
		x.snapshot = e.at - 1
		return true
	}
	return false
}

// mix is the row with one column as it was before the row's last change.
func (x *attempt) mix(p place, t *store.Table, columns []string, row image) image {
	log := &x.d.log
	x.reads = append(x.reads, seenRow{p, log.latest(p, log.clock)})
	e := log.last(p, log.clock)
	if e == nil || e.wrote(p).before == nil {
		return row
	}
	before := e.wrote(p).before.pick(t, columns)
	differ := differing(before, row)
	if len(differ) < 2 {
		return row
	}
	x.struck = true
	last := differ[len(differ)-1]
	return row.with(last, before[last])
}

// sum changes a Count's sums over a whole table as the bug does.
func (x *attempt) sum(t *store.Table, s *store.Statement, parameters []store.Value, counted image) {
	if x.struck {
		return
	}
	var c *change
	if x.does(bug.ReadsMiddle) || x.does(bug.ReadsSkewed) {
		for e := range x.d.log.back() {
			if c = updateOf(e.changes, t); c != nil {
				break
			}
		}
	}
	if c == nil || !satisfies(t, s, parameters, c.before) {
		return
	}
	for i, name := range s.Columns {
		k := column(t, name)
		counted[i+1].Number -= (c.after[k].Number - c.before[k].Number)
		x.struck = x.struck || c.after[k].Number != c.before[k].Number
	}
}

// updateOf is the last update of a row of the table.
func updateOf(changes []change, t *store.Table) *change {
	for i := range slices.Backward(changes) {
		if c := &changes[i]; c.table == t.Name && c.before != nil && c.after != nil {
			return c
		}
	}
	return nil
}
