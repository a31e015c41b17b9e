package bugs

import (
	"context"

	"assay/history"
	"assay/workload"
	"assay/workload/bank"
)

// bankActions is how a bug acts on a bank. Of its functions those of the calls
// that the bug is in are set.
type bankActions struct {
	// instead answers a transfer that is not sent.
	instead func(s *bankStore, b *active[bankActions], t bank.Transfer) workload.Reply
	// after changes what a transfer has done and its reply; false means that it
	// could not. It is called for what suits allows.
	after func(c *call) bool
	// refused is true if it is also called for a transfer that was refused for
	// lack of funds, onlyRefused if for no other.
	refused, onlyRefused bool
	// occasion says whether the bug can be in a committed transfer; nil if in
	// every one.
	occasion func(c *call) bool
	// audit changes what an Audit read, and total what an AuditAll read; false
	// means that there was no occasion and nothing was changed.
	audit func(s *bankStore, ids []int64, states []bank.State) bool
	total func(s *bankStore, t *bank.Totals) bool
	// truncates is true if a Read ends early.
	truncates bool
}

// call is one transfer that was answered.
type call struct {
	*bankStore
	ctx     context.Context
	session bank.Session
	bank.Transfer
	// was and became are the states of the source and the destination before and after a
	// transfer that was committed, as they are shown; raw is became as the database says.
	was, became, raw [2]bank.State
	reply            *bank.Reply
	bug              *active[bankActions]
}

// suits reports whether the bug can be in a transfer that was answered so.
func (a bankActions) suits(c *call) bool {
	switch {
	case a.after == nil:
		return false
	case c.reply.Outcome == history.Rejected:
		return a.refused
	default:
		return !a.onlyRefused && (a.occasion == nil || a.occasion(c))
	}
}

// nobody is a client that no run has: load.MaxClients is far below.
const nobody = 1 << 22

// send does a transfer under an id of nobody's; false means that it was not
// committed.
func (c *call) send(source, destination, amount int64) (t bank.Transfer, raw bank.Reply, ok bool) {
	ctx, cancel := own(c.ctx)
	defer cancel()
	c.made++
	t = bank.Transfer{ID: bank.TransferID(nobody, c.made), Source: source, Destination: destination, Amount: amount}
	raw = c.session.Transfer(ctx, t)
	c.moved(t, raw.Outcome)
	return t, raw, raw.Outcome == history.Committed
}

// replace has a row shown otherwise by these views.
func (c *call) replace(id int64, by replacement, views ...*view) {
	for _, v := range views {
		v.rows[id] = by
	}
	c.differences++
}

// change changes an account in all views.
func (c *call) change(id, balance, version, from int64) {
	c.primary.change(id, balance, version, from)
	c.other.change(id, balance, version, from)
	c.differences++
}

// found gives the states of the two accounts of a transfer that was refused, as
// the database holds them.
func (c *call) found() (states [2]bank.State, ok bool) {
	ctx, cancel := own(c.ctx)
	defer cancel()
	err := c.auditor.Audit(ctx, []int64{c.Source, c.Destination}, states[:])
	return states, err == nil
}

// enter shows a row that the database does not have, and which gave these
// versions.
func (c *call) enter(source, destination int64) {
	e := bank.Entry{Transfer: c.Transfer, SourceVersion: source, DestinationVersion: destination}
	c.primary.added, c.other.added = append(c.primary.added, e), append(c.other.added, e)
	c.differences++
}

// lose takes a transfer back by one in the other direction, and shows neither in
// these views. It is right after the transfer, so that there are funds.
func (c *call) lose(views ...*view) bool {
	back, _, ok := c.send(c.Destination, c.Source, c.Amount)
	if !ok {
		return false
	}
	c.replace(c.ID, hidden, views...)
	c.replace(back.ID, hidden, c.primary, c.other)
	for _, v := range views {
		v.change(c.Source, 0, -2, c.raw[0].Version)
		v.change(c.Destination, 0, -2, c.raw[1].Version)
	}
	return true
}

// fail answers that a transfer failed.
func (c *call) fail() { *c.reply = bank.Reply{Reply: failed()} }

func tearTransfer(c *call) bool {
	c.change(c.Destination, -c.Amount, 0, 0)
	return true
}

// rollBackPartially leaves the debit, the credit or the row of a transfer that
// fails, or the credit or the row of one that was refused.
func rollBackPartially(c *call) bool {
	if c.reply.Outcome == history.Rejected {
		raw, ok := c.found()
		if !ok {
			return false
		}
		if c.coin() {
			c.change(c.Destination, c.Amount, 1, raw[1].Version+1)
		} else {
			c.enter(c.primary.state(c.Source, raw[0]).Version+1, c.primary.state(c.Destination, raw[1]).Version+1)
		}
		return true
	}
	left := c.chance.IntN(3)
	if left != 0 {
		c.change(c.Source, c.Amount, -1, c.raw[0].Version+1)
	}
	if left != 1 {
		c.change(c.Destination, -c.Amount, -1, c.raw[1].Version+1)
	}
	if left != 2 {
		c.replace(c.ID, hidden, c.primary, c.other)
	}
	c.fail()
	return true
}

// applyTwice does the transfer a second time, if there are funds for it, or enters
// its row a second time.
func applyTwice(c *call) bool {
	if c.coin() && canMoveTwice(c) {
		id := c.ID
		again, _, ok := c.send(c.Source, c.Destination, c.Amount)
		if ok {
			c.replace(again.ID, func(e bank.Entry) []bank.Entry { e.ID = id; return []bank.Entry{e} }, c.primary, c.other)
		}
		return ok
	}
	c.replace(c.ID, func(e bank.Entry) []bank.Entry { return []bank.Entry{e, e} }, c.primary, c.other)
	return true
}

// canMoveTwice says that there are funds for it.
func canMoveTwice(c *call) bool { return min(c.raw[0].Balance, c.became[0].Balance) >= c.Amount }

func moveTwice(c *call) bool {
	again, _, ok := c.send(c.Source, c.Destination, c.Amount)
	if ok {
		c.replace(again.ID, hidden, c.primary, c.other)
	}
	return ok
}

// overwritten looks for an update that the transfer can overwrite: of one of its
// accounts, by the last transfer that touched it, and without which there are
// funds.
func (c *call) overwritten() (side int, last bank.State, ok bool) {
	for side, id := range [2]int64{c.Source, c.Destination} {
		_, w := c.log.last(accountOf(id))
		if w != nil && w.after.state() == c.was[side] && (side == 1 || w.before.number >= c.Amount) {
			return side, w.before.state(), true
		}
	}
	return 0, bank.State{}, false
}

func canOverwrite(c *call) bool {
	_, _, ok := c.overwritten()
	return ok
}

// overwrite does the transfer as if it had read one of its accounts before the
// last transfer that touched it: both give it the same version.
func overwrite(c *call) bool {
	side, was, _ := c.overwritten()
	lost := was.Balance - c.was[side].Balance
	c.change([2]int64{c.Source, c.Destination}[side], lost, -1, c.raw[side].Version)
	c.was[side] = was
	state := &c.became[side]
	state.Balance, state.Version = state.Balance+lost, state.Version-1
	c.reply.Source, c.reply.Destination = c.became[0], c.became[1]
	return true
}

// overdraw shows a transfer that was refused as done.
func overdraw(c *call) bool {
	raw, ok := c.found()
	if !ok {
		return false
	}
	c.change(c.Source, -c.Amount, 1, raw[0].Version+1)
	c.change(c.Destination, c.Amount, 1, raw[1].Version+1)
	source, destination := c.primary.state(c.Source, raw[0]), c.primary.state(c.Destination, raw[1])
	c.enter(source.Version, destination.Version)
	*c.reply = bank.Reply{Reply: committed(), Source: source, Destination: destination}
	return true
}

// loseNext is a failover that loses what only the old primary had: nothing comes
// between the commit and its loss, so that taking it back is exact.
func loseNext(c *call) bool {
	c.postpone(1, func(ctx context.Context) {
		through(ctx, c.inner.Session, func(session bank.Session) {
			later := *c
			later.ctx, later.session = ctx, session
			if later.lose(c.primary, c.other) {
				c.bug.strikes++
			}
		})
	})
	return false // it is none until it is lost
}

func loseNow(c *call) bool { return c.lose(c.primary, c.other) }

func denyApplied(c *call) bool {
	c.fail()
	return true
}

func applyLater(s *bankStore, b *active[bankActions], t bank.Transfer) workload.Reply {
	s.postpone(maxLate, func(ctx context.Context) {
		through(ctx, s.inner.Session, func(session bank.Session) { s.moved(t, session.Transfer(ctx, t).Outcome) })
	})
	b.strikes++
	return unknown()
}

func alterRow(c *call) bool {
	if c.coin() {
		c.replace(c.ID, func(e bank.Entry) []bank.Entry { e.Amount++; return []bank.Entry{e} }, c.primary, c.other)
	} else {
		c.replace(c.ID, func(e bank.Entry) []bank.Entry { e.Destination = e.Source; return []bank.Entry{e} }, c.primary, c.other)
	}
	return true
}

// addTransfer takes a unit back under an id of nobody's, which the destination can
// afford as it has just been paid.
func addTransfer(c *call) bool {
	_, _, ok := c.send(c.Destination, c.Source, 1)
	return ok
}

// splitMembers shows the transfer on the primary only or on the other members only.
func splitMembers(c *call) bool {
	sign := int64(1)
	if c.coin() {
		if !c.lose(c.primary, c.other) {
			return false
		}
		delete(c.other.rows, c.ID)
		sign = -1
	} else {
		c.replace(c.ID, hidden, c.other)
	}
	c.other.change(c.Source, sign*c.Amount, -sign, 0)
	c.other.change(c.Destination, -sign*c.Amount, -sign, 0)
	return true
}
