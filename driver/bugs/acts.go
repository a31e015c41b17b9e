package bugs

import (
	"context"
	"slices"
	"strings"

	"assay/history"
	"assay/store"
	"assay/store/bug"
)

const (
	// occasions is how many transactions are looked at for an occasion to read a wrong
	// state.
	occasions = 64
	// maxGhosts bounds how many transactions that were rolled back wait for somebody to
	// read of them.
	maxGhosts = 64
	// maxTurns bounds for how many turns an operation lingers.
	maxTurns = 4
)

// reads says that a bug is in which state is read.
func reads(does bug.Does) bool { return strings.HasPrefix(string(does), "reads ") }

// answers says that a bug is in the rows of an answer.
func answers(does bug.Does) bool {
	switch does {
	case bug.Misanswers, bug.Swaps, bug.Hides, bug.Drops, bug.DoublesRow, bug.Disorders, bug.Cuts, bug.RepeatsRow:
		return true
	}
	return false
}

// about says whether a bug is about a table.
func about(act *bug.Act, table string) bool {
	return (act.Table == "" || act.Table == table) && (len(act.Tables) == 0 || slices.Contains(act.Tables, table))
}

// sides says that a bug has every second session use the other members.
func sides(act *bug.Act) bool { return act.Does == bug.Splits && len(act.Tables) > 0 }

// remembers says that a bug needs the last transactions.
func remembers(act *bug.Act) bool {
	return reads(act.Does) && !act.Stepped || act.Does == bug.Overwrites || act.Does == bug.LosesSoon || cuts(act) || sides(act)
}

// cuts says that a bug is a Truncates that is in answers as well.
func cuts(act *bug.Act) bool { return act.Does == bug.Truncates && len(act.Columns) > 0 }

// looksAtRows says that a bug needs what the rows were that a transaction changes.
func looksAtRows(act *bug.Act) bool {
	return remembers(act) || !answers(act.Does) && act.Does != bug.Delays && act.Does != bug.Truncates && act.Does != bug.Miscounts
}

// suits says that a bug can be in an operation of a session, which is none of a Native alone.
func (n *session) suits(act *bug.Act, o *operation) bool {
	switch {
	case o.texts != nil:
		return o.writes && !act.Stepped && suitsTexts(act.Does)
	case act.Stepped || slices.ContainsFunc(o.calls, func(c store.Call) bool { return n.statements[c.Statement].Verb == store.Native }):
		return false
	case act.Does == bug.Truncates:
		return cuts(act)
	case act.Does == bug.ReadsAborted, act.Does == bug.Misanswers:
		return true
	case act.Does == bug.ReadsForked && o.work != nil:
		return true
	case act.Does == bug.ReadsWithoutOwn, act.Does == bug.ReadsCrossed, act.Does == bug.ReadsPhantom:
		return o.work != nil
	case reads(act.Does) || answers(act.Does):
		return !o.writes
	case !o.writes:
		return false
	case act.To == "" || o.work != nil:
		return true
	case o.add != nil:
		return act.To == bug.Inserted
	}
	return slices.ContainsFunc(o.calls, func(c store.Call) bool {
		switch n.statements[c.Statement].Verb {
		case store.Update:
			return act.To == bug.Updated
		case store.Delete:
			return act.To == bug.Deleted
		case store.Insert:
			return act.To == bug.Inserted
		}
		return true
	})
}

// prepare is done before a transaction is sent.
func (x *attempt) prepare(ctx context.Context, calls []store.Call) {
	if x.does(bug.Overwrites) && x.overwrite(ctx, x.changes, func(c *change, last *ended) bool {
		return c.before != nil && last.wrote(c.place).before != nil
	}) {
		x.changes = nil
		x.captureAll(ctx, calls)
	}
}

// overwrite has a row that is to be changed be as it was before the last transaction that
// changed it, if both suit.
func (x *attempt) overwrite(ctx context.Context, changes []change, suits func(*change, *ended) bool) bool {
	for _, c := range changes {
		last := x.d.log.last(c.place, x.d.log.clock)
		if last == nil || !suits(&c, last) {
			continue
		}
		lost := c
		lost.before = last.wrote(c.place).before
		if x.n.rewrite(ctx, []change{lost}, asBefore) {
			x.replaced = &c
		}
		return x.replaced != nil
	}
	return false
}

// refused ends an operation that was not committed.
func (x *attempt) refused(ctx context.Context, o *operation, reply store.Reply) store.Reply {
	if x.replaced != nil {
		x.n.rewrite(ctx, []change{*x.replaced}, asBefore)
	}
	if reply.Violated != store.Floor || o.calls == nil {
		return reply
	}
	switch {
	case x.does(bug.KeepsPart):
		x.keepCall(ctx, o)
	case x.does(bug.Overdraws):
		return x.overdraw(ctx, o, reply)
	}
	return reply
}

// keepCall does one statement of a transaction that was refused.
func (x *attempt) keepCall(ctx context.Context, o *operation) {
	ctx, cancel := own(ctx)
	defer cancel()
	for _, i := range x.d.chance.Perm(len(o.calls)) {
		call := o.calls[i]
		if x.n.statements[call.Statement].ReadsOnly() {
			continue
		}
		if call.Row != nil {
			call.Row = func(store.Row) error { return nil }
		}
		if x.n.Session.Run(ctx, call).Outcome == history.Committed {
			x.bug.strikes++
			return
		}
	}
}

// committed ends an operation that was committed.
func (x *attempt) committed(ctx context.Context, o *operation, reply store.Reply) store.Reply {
	if x.replaced != nil {
		x.struck = true
	}
	if x.bug == nil {
		x.record(x.n)
		return reply
	}
	act, of := &x.bug.Act, x.of()
	switch act.Does {
	case bug.Loses:
		if len(of) > 0 && x.undo(ctx, x.changes) {
			x.bug.strikes++
			return reply
		}
	case bug.LosesSoon:
		x.record(x.n)
		if len(of) > 0 {
			x.loseSoon()
		}
		return reply
	case bug.ReadsAborted:
		if len(of) > 0 {
			return x.abort(ctx, reply)
		}
	case bug.KeepsPart:
		if len(x.changes) > 0 {
			i := x.d.chance.IntN(len(x.changes))
			x.struck = x.undo(ctx, slices.Delete(slices.Clone(x.changes), i, i+1))
			x.changes = x.changes[i : i+1]
			reply = failed()
		}
	case bug.Denies:
		if x.struck = act.To == "" && act.Tables == nil || len(of) > 0; x.struck {
			reply = failed()
		}
	case bug.Miscounts:
		if x.struck = reply.Affected > 1; x.struck {
			reply.Affected--
		}
	case bug.Splits:
		if !sides(act) {
			x.split(ctx)
		} else if x.struck = len(of) > 0; x.struck {
			x.side = x.n.side
		}
	default:
		if x.unseen && act.Does == bug.Doubles {
			x.struck = x.n.again(ctx, o)
		} else if len(of) > 0 {
			x.struck = x.spoil(ctx, o, of) || x.struck
		}
		if x.struck && act.Unknown {
			reply = unknown()
		}
	}
	x.record(x.n)
	return reply
}

// undo has rows be as they were before.
func (x *attempt) undo(ctx context.Context, changes []change) bool {
	return x.n.rewrite(ctx, changes, asBefore)
}

// abort undoes a transaction that somebody may see all the same.
func (x *attempt) abort(ctx context.Context, reply store.Reply) store.Reply {
	if !x.undo(ctx, x.changes) {
		x.record(x.n)
		return reply
	}
	if len(x.d.ghosts) == maxGhosts {
		x.d.ghosts = slices.Delete(x.d.ghosts, 0, 1)
	}
	x.d.ghosts = append(x.d.ghosts, x.changes)
	return failed()
}

// loseSoon is a failover that loses what only the old primary had: the transaction, and all
// that were committed until then.
func (x *attempt) loseSoon() {
	d, b, from := x.d, x.bug, x.d.log.clock
	if d.losing {
		return
	}
	d.losing = true
	n := *x.n // the client stays with its own
	n.later(b.Act.Calls, func(ctx context.Context) {
		d.losing = false
		lost := false
		for e := range d.log.back() {
			if e.at < from || len(e.changes) > 0 && !n.rewrite(ctx, e.changes, asBefore) {
				break
			}
			lost = lost || e.at == from && len(e.changes) > 0
		}
		d.log.entries = slices.DeleteFunc(d.log.entries, func(e ended) bool { return e.at >= from })
		if lost {
			b.strikes++
		}
	})
}

// split has the transaction be on the primary only, or on the others only.
func (x *attempt) split(ctx context.Context) {
	x.d.differences += len(x.changes)
	if x.d.coin() {
		x.d.others.undo(x.d, x.changes)
		x.struck = true
	} else if x.undo(ctx, x.changes) {
		x.d.others.redo(x.d, x.changes)
		x.struck = true
		x.changes = nil
	}
}
