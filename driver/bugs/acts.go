package bugs

import (
	"context"
	"slices"
	"strings"

	"assay/store"
	"assay/store/bug"
)

const (
	// occasions bounds the transactions in which a bug looks for an occasion to read a wrong
	// state.
	occasions = 64
	maxTurns  = 4
)

// reads reports whether a bug reads a wrong state.
func reads(does bug.Does) bool { return strings.HasPrefix(string(does), "reads ") }

// answers reports whether a bug changes an answer's rows.
func answers(does bug.Does) bool {
	return does == bug.Misanswers || does == bug.Drops || does == bug.Cuts
}

func about(act *bug.Act, table string) bool {
	return (act.Table == "" || act.Table == table) && (len(act.Tables) == 0 || slices.Contains(act.Tables, table))
}

// remembers reports whether a bug needs the last transactions.
func remembers(act *bug.Act) bool {
	return reads(act.Does) || act.Does == bug.Overwrites
}

// looksAtRows reports whether a bug needs a transaction's rows as they were before.
func looksAtRows(act *bug.Act) bool {
	return remembers(act) || !answers(act.Does) && act.Does != bug.Delays && act.Does != bug.Truncates && act.Does != bug.Miscounts
}

// suits reports whether a bug can act in an operation. It cannot in a Native alone.
func (n *session) suits(act *bug.Act, o *operation) bool {
	switch {
	case o.texts != nil:
		return o.writes && !act.Stepped && suitsTexts(act.Does)
	case act.Stepped || act.Does == bug.Truncates || slices.ContainsFunc(o.calls, func(c store.Call) bool { return n.statements[c.Statement].Verb == store.Native }):
		return false
	case act.Does == bug.Misanswers:
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

// prepare acts before a transaction is sent.
func (x *attempt) prepare(ctx context.Context, calls []store.Call) {
	if x.does(bug.Overwrites) && x.overwrite(ctx, x.changes, func(c *change, last *ended) bool {
		return c.before != nil && last.wrote(c.place).before != nil
	}) {
		x.changes = nil
		x.captureAll(ctx, calls)
	}
}

// overwrite looks for a row to change whose last change suits too, and sets it back to before that
// change.
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

// refused ends an operation that was not committed. It undoes overwrite.
func (x *attempt) refused(ctx context.Context) {
	if x.replaced != nil {
		x.n.rewrite(ctx, []change{*x.replaced}, asBefore)
	}
}

func (x *attempt) committed(ctx context.Context, o *operation, reply store.Reply) store.Reply {
	if x.replaced != nil {
		x.struck = true
	}
	if x.bug == nil {
		x.record(x.n)
		return reply
	}
	act, of := &x.bug.Act, x.candidates()
	switch act.Does {
	case bug.Loses:
		if len(of) > 0 && x.n.rewrite(ctx, x.changes, asBefore) {
			x.bug.strikes++
			return reply
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
		x.split(ctx)
	default:
		if len(of) > 0 {
			x.struck = x.spoil(ctx, o, of) || x.struck
		}
	}
	x.record(x.n)
	return reply
}

// split keeps the transaction on the primary only, or on the other members only.
func (x *attempt) split(ctx context.Context) {
	x.d.differences += len(x.changes)
	if x.d.coin() {
		x.d.others.undo(x.d, x.changes)
		x.struck = true
	} else if x.n.rewrite(ctx, x.changes, asBefore) {
		x.d.others.redo(x.d, x.changes)
		x.struck = true
		x.changes = nil
	}
}
