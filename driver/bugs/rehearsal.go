package bugs

import (
	"context"
	"errors"
	"slices"

	"assay/store"
	"assay/store/bug"
)

// rehearsal records what an interactive transaction will do.
type rehearsal struct {
	ended
	calls []store.Call
}

func foresees(does bug.Does) bool {
	return does == bug.Overwrites || does == bug.ReadsCrossed
}

// rehearse does a transaction and rolls it back. It returns nil if the work does not end.
func (n *session) rehearse(ctx context.Context, o *operation) *rehearsal {
	x := n.d.attempt(nil, 0)
	x.n, x.rehearsal = n, &rehearsal{}
	reply := n.transact(ctx, x, &operation{writes: o.writes, work: func(ctx context.Context, t store.Transaction) error {
		if err := o.work(ctx, t); err != nil {
			return err
		}
		return store.ErrRollback
	}})
	if !errors.Is(reply.Err, store.ErrRollback) {
		return nil
	}
	x.rehearsal.changes, x.rehearsal.reads = x.changes, x.reads
	return x.rehearsal
}

func (r *rehearsal) note(statement int, parameters []store.Value) {
	if r != nil {
		r.calls = append(r.calls, store.Call{Statement: statement, Parameters: copied(parameters)})
	}
}

// suited reports whether the bug can act in a transaction that will do this, and prepares it.
func (x *attempt) suited(ctx context.Context, will *rehearsal) bool {
	switch x.bug.Act.Does {
	case bug.Overwrites:
		return x.overwrite(ctx, will.changes, func(c *change, last *ended) bool {
			_, sees := will.saw(c.place)
			_, saw := last.saw(c.place)
			return sees && saw && x.about(c.table)
		})
	case bug.ReadsCrossed:
		n := 0
		for e := range x.d.log.back() {
			if n++; n > occasions {
				break
			}
			if len(e.changes) > 0 && (x.crossed(e, will) || x.crossedCounts(e, will)) {
				x.snapshot, x.struck = e.at-1, true
				return true
			}
		}
		return false
	}
	return true
}

// crossed reports whether e read a row that this transaction will change, and changed a row that it
// will read. Rows that it will change must not have changed since e.
func (x *attempt) crossed(e *ended, will *rehearsal) bool {
	log := &x.d.log
	since := func(c change) bool { return log.latest(c.place, log.clock) >= e.at }
	return !slices.ContainsFunc(will.changes, since) &&
		slices.ContainsFunc(e.reads, func(r seenRow) bool {
			c := will.wrote(r.place)
			return x.about(r.table) && c != nil && !c.blind
		}) &&
		slices.ContainsFunc(will.reads, func(r seenRow) bool {
			c := e.wrote(r.place)
			return x.about(r.table) && will.wrote(r.place) == nil && c != nil && !c.blind
		})
}

// crossedCounts reports whether both transactions count the same rows and add to them.
func (x *attempt) crossedCounts(e *ended, will *rehearsal) bool {
	return slices.ContainsFunc(will.calls, func(call store.Call) bool {
		s := &x.n.statements[call.Statement]
		if s.Verb != store.Count || !x.about(s.Table) {
			return false
		}
		t := x.d.schema.Table(s.Table)
		adds := func(c change) bool {
			return c.table == s.Table && c.before == nil && satisfies(t, s, call.Parameters, c.after)
		}
		_, too := e.saw(conditionOf(s, call.Parameters))
		return too && slices.ContainsFunc(e.changes, adds) && slices.ContainsFunc(will.changes, adds)
	})
}

// conditionOf is a place that stands for the counted rows.
func conditionOf(s *store.Statement, parameters []store.Value) place {
	return placeOf(s.Table+" counted", parameters)
}

// counted is the answer to a Count without sums, as the bug shows it.
func (x *attempt) counted(t *store.Table, s *store.Statement, parameters []store.Value, row image) image {
	if !x.d.watches || t == nil || len(s.Columns) > 0 {
		return row
	}
	is := func(i image) int64 {
		if satisfies(t, s, parameters, i) {
			return 1
		}
		return 0
	}
	at, what := x.snapshot, conditionOf(s, parameters)
	if _, again := x.saw(what); again && x.does(bug.ReadsPhantom) && !x.struck && x.about(s.Table) {
		for e := range x.d.log.back() {
			if slices.ContainsFunc(e.changes, func(c change) bool { return c.table == s.Table && is(c.before) != is(c.after) }) {
				at, x.struck = e.at-1, true
				break
			}
		}
	}
	x.reads = append(x.reads, seenRow{what, at})
	shown := slices.Clone(row)
	for c := range x.d.log.since(at, s.Table) {
		shown[0].Number += is(c.before) - is(c.after)
	}
	return shown
}
