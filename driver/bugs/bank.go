package bugs

import (
	"context"
	"fmt"
	"slices"

	"assay/history"
	"assay/workload"
	"assay/workload/bank"
)

// bankStore is a bank.Store with bugs. One call at a time goes to the database,
// so that the state that each transfer found and left is known.
type bankStore struct {
	*trial[bankActions]
	inner   bank.Store
	auditor bank.Auditor
	// primary is what everybody is shown, other what the other members are.
	primary, other *view
	// made counts the transfers of the wrapper's own.
	made uint64

	late []lateTransfer
	// doomed is the last transfer, if that is to be lost at the next call.
	doomed *loss
	ghosts []bank.Transfer
	// trail and past are kept if looksBack.
	looksBack bool
	trail     trail
	past      *past
	// previous is what the last audit read.
	previous seen
}

// lateTransfer is to be done at the call numbered due.
type lateTransfer struct {
	bank.Transfer
	due uint64
}

// loss is a committed transfer that is to be lost, and the bug that loses it.
type loss struct {
	applied
	bug *active[bankActions]
}

func newBank(inner bank.Store, seeded []Seeded, seed uint64) (workload.Store, error) {
	auditor, ok := inner.(bank.Auditor)
	if !ok {
		return nil, &workload.OptionError{Option: "bug", Value: seeded[0].Name, Want: "no bug on a database without audits"}
	}
	s := &bankStore{trial: newTrial(inner, bankBugs(), seeded, seed), inner: inner, auditor: auditor}
	for _, b := range s.active {
		s.looksBack = s.looksBack || b.acts.looksBack
	}
	s.reset = func() {
		s.primary, s.other = newView(), newView()
		s.late, s.doomed, s.ghosts = nil, nil, nil
		s.trail, s.past, s.previous = nil, newPast(1), seen{}
	}
	s.reset()
	return s, nil
}

// Create implements bank.Store.
func (s *bankStore) Create(ctx context.Context, marker workload.Marker) error {
	return s.anew(ctx, func() error { return s.inner.Create(ctx, marker) })
}

// LoadAccounts implements bank.Store.
func (s *bankStore) LoadAccounts(ctx context.Context, batch []bank.Account) error {
	return s.inner.LoadAccounts(ctx, batch)
}

// FinishLoad implements bank.Store.
func (s *bankStore) FinishLoad(ctx context.Context) error { return s.inner.FinishLoad(ctx) }

// Settle implements bank.Store: what was to happen later happens before.
func (s *bankStore) Settle(ctx context.Context) error {
	if err := s.take(ctx); err != nil {
		return err
	}
	defer s.done()
	if len(s.late) > 0 || s.doomed != nil {
		session, err := s.inner.Session(ctx)
		if err != nil {
			return fmt.Errorf("bugs: settle: %w", err)
		}
		s.pass(ctx, session, s.calls+maxLate)
		session.Close()
	}
	return s.inner.Settle(ctx)
}

// bankSession is one client's.
type bankSession struct {
	bank.Session
	s *bankStore
	// last is its last committed transfer.
	last done
}

// Session implements bank.Store.
func (s *bankStore) Session(ctx context.Context) (bank.Session, error) {
	session, err := s.inner.Session(ctx)
	if err != nil {
		return nil, err
	}
	return &bankSession{Session: session, s: s}, nil
}

// Transfer implements bank.Session.
func (n *bankSession) Transfer(ctx context.Context, t bank.Transfer) bank.Reply {
	s := n.s
	if err := s.take(ctx); err != nil {
		return bank.Reply{Reply: unsent(err)}
	}
	defer s.done()
	s.calls++
	s.pass(ctx, n.Session, s.calls)
	s.past.acknowledged(n.last)
	reply := s.transfer(ctx, n.Session, t)
	if n.last = (done{}); s.looksBack && reply.Outcome == history.Committed {
		n.last = done{source: t.Source, destination: t.Destination, moment: s.past.number}
	}
	return reply
}

// transfer is one transfer, from the request to the answer. Whoever calls has the
// turn, as for all below.
func (s *bankStore) transfer(ctx context.Context, session bank.Session, t bank.Transfer) bank.Reply {
	for _, b := range s.active {
		if b.acts.instead != nil && s.hits(b) {
			return b.acts.instead(s, b, t)
		}
	}
	reply := session.Transfer(ctx, t)
	c := &call{bankStore: s, ctx: ctx, session: session, applied: applied{Transfer: t}, reply: &reply}
	switch {
	case reply.Outcome == history.Committed:
		c.raw = [2]bank.State{reply.Source, reply.Destination}
		reply.Source, reply.Destination = s.primary.state(t.Source, reply.Source), s.primary.state(t.Destination, reply.Destination)
		c.became = [2]bank.State{reply.Source, reply.Destination}
		c.was = [2]bank.State{
			{Balance: reply.Source.Balance + t.Amount, Version: reply.Source.Version - 1},
			{Balance: reply.Destination.Balance - t.Amount, Version: reply.Destination.Version - 1},
		}
	case reply.Outcome != history.Rejected || reply.Class != bank.ClassNoFunds:
		s.moved(t, reply.Outcome)
		return reply
	}
	for _, b := range s.active {
		if b.acts.suits(c) && s.hits(b) {
			if c.bug = b; b.acts.after(c) {
				b.strikes++
			}
			break
		}
	}
	s.moved(t, reply.Outcome)
	if c.raw != [2]bank.State{} && s.looksBack {
		s.trail.add(c.applied)
		s.past.add(c.applied)
	}
	return reply
}

// moved forgets the ghosts of an account whose state is another now.
func (s *bankStore) moved(t bank.Transfer, outcome history.Outcome) {
	if outcome != history.Committed && outcome != history.Unknown {
		return
	}
	s.ghosts = slices.DeleteFunc(s.ghosts, func(g bank.Transfer) bool { return g.Source == t.Source || g.Source == t.Destination })
}

// pass brings about what earlier transfers left for later, up to the given call.
func (s *bankStore) pass(ctx context.Context, session bank.Session, until uint64) {
	if l := s.doomed; l != nil {
		s.doomed = nil
		c := &call{bankStore: s, ctx: ctx, session: session, applied: l.applied}
		if c.lose(s.primary, s.other) {
			l.bug.strikes++
		}
	}
	s.late = slices.DeleteFunc(s.late, func(l lateTransfer) bool {
		if l.due > until {
			return false
		}
		ctx, cancel := own(ctx)
		defer cancel()
		reply := session.Transfer(ctx, l.Transfer)
		s.moved(l.Transfer, reply.Outcome)
		return true
	})
}

// Read implements bank.Store.
func (s *bankStore) Read(ctx context.Context, account func(bank.Account) error, entry func(bank.Entry) error) error {
	if err := s.take(ctx); err != nil {
		return err
	}
	defer s.done()
	accounts, entries := int64(-1), int64(-1)
	for _, b := range s.active {
		if b.acts.truncates && s.hits(b) {
			var err error
			if accounts, entries, err = s.truncated(ctx); err != nil {
				return err
			}
			b.strikes++
			break
		}
	}
	return s.primary.read(s.inner.Read, ctx, limited(accounts, account), limited(entries, entry))
}

// limited gives the first n rows and leaves out the others; all if n is negative.
func limited[R any](n int64, give func(R) error) func(R) error {
	return func(row R) error {
		if n == 0 {
			return nil
		}
		n--
		return give(row)
	}
}

// truncated counts the accounts and the rows, and says how many of them a read
// that ends early gives. It leaves out at least the last of the accounts or of
// the rows, but not all accounts: who reads nothing knows that.
func (s *bankStore) truncated(ctx context.Context) (accounts, entries int64, err error) {
	err = s.primary.read(s.inner.Read, ctx,
		func(bank.Account) error { accounts++; return nil }, func(bank.Entry) error { entries++; return nil })
	if entries == 0 || accounts > 1 && s.coin() {
		return max(1, s.fewer(accounts)), entries, err
	}
	return accounts, s.fewer(entries), err
}
