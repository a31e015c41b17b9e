package bugs

import (
	"context"
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

	ghosts []bank.Transfer
	log    commits
	// previous is what the last audit read, and audited the number of the last call
	// before it ended.
	previous seen
	audited  uint64
}

func newBank(store workload.Store, seeded []Seeded, seed uint64) (workload.Store, error) {
	inner, isBank := store.(bank.Store)
	auditor, audits := store.(bank.Auditor)
	switch {
	case !isBank:
		return nil, noBug(bank.Name, seeded)
	case !audits:
		return nil, &workload.OptionError{Option: "bug", Value: seeded[0].Name, Want: "no bug on a database without audits"}
	}
	s := &bankStore{trial: newTrial(inner, inner.Create, bankBugs(), seeded, seed), inner: inner, auditor: auditor}
	s.reset = func() {
		s.primary, s.other = newView(), newView()
		s.ghosts, s.log, s.previous, s.audited = nil, commits{}, seen{}, 0
	}
	s.reset()
	return s, nil
}

func (s *bankStore) LoadAccounts(ctx context.Context, batch []bank.Account) error {
	return s.inner.LoadAccounts(ctx, batch)
}

func (s *bankStore) FinishLoad(ctx context.Context) error { return s.inner.FinishLoad(ctx) }

// bankSession is one client's.
type bankSession struct {
	bank.Session
	s *bankStore
	// answered is commit.answered of its last transfer, until it comes back; else nil.
	answered *uint64
}

func (s *bankStore) Session(ctx context.Context) (bank.Session, error) {
	session, err := s.inner.Session(ctx)
	if err != nil {
		return nil, err
	}
	return &bankSession{Session: session, s: s}, nil
}

func (n *bankSession) Transfer(ctx context.Context, t bank.Transfer) bank.Reply {
	s := n.s
	if err := s.begin(ctx); err != nil {
		return bank.Reply{Reply: unsent(err)}
	}
	defer s.done()
	if n.answered != nil {
		*n.answered, n.answered = s.calls, nil
	}
	return n.transfer(ctx, t)
}

// transfer is one transfer, from the request to the answer. Whoever calls has the
// turn, as for all below.
func (n *bankSession) transfer(ctx context.Context, t bank.Transfer) bank.Reply {
	s := n.s
	if b := s.draw(func(a bankActions) bool { return a.instead != nil }); b != nil {
		return bank.Reply{Reply: b.acts.instead(s, b, t)}
	}
	reply := n.Session.Transfer(ctx, t)
	c := &call{bankStore: s, ctx: ctx, session: n.Session, Transfer: t, reply: &reply}
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
	if c.bug = s.draw(func(a bankActions) bool { return a.suits(c) }); c.bug != nil && c.bug.acts.after(c) {
		c.bug.strikes++
	}
	s.moved(t, reply.Outcome)
	if c.raw != [2]bank.State{} {
		s.log.clock++
		done := commit{at: s.log.clock, answered: new(uint64)}
		for side, id := range [2]int64{t.Source, t.Destination} {
			done.writes = append(done.writes, write{object: accountOf(id), before: valueOf(c.was[side]), after: valueOf(c.became[side]), times: 1})
		}
		s.log.add(done)
		if reply.Outcome == history.Committed {
			n.answered = done.answered
		}
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

func (s *bankStore) Read(ctx context.Context, account func(bank.Account) error, entry func(bank.Entry) error) error {
	if err := s.take(ctx); err != nil {
		return err
	}
	defer s.done()
	accounts, entries := int64(-1), int64(-1)
	if b := s.draw(func(a bankActions) bool { return a.truncates }); b != nil {
		var err error
		if accounts, entries, err = s.truncated(ctx); err != nil {
			return err
		}
		b.strikes++
	}
	return s.primary.read(s.inner.Read, ctx, limited(accounts, account), limited(entries, entry))
}

// limited gives the first n rows and leaves out the others; all if n is negative.
func limited[R any](n int64, give func(R) error) func(R) error {
	pairs := limitedPairs(n, func(row R, _ struct{}) error { return give(row) })
	return func(row R) error { return pairs(row, struct{}{}) }
}

// limitedPairs is limited of rows in two parts.
func limitedPairs[K, V any](n int64, give func(K, V) error) func(K, V) error {
	return func(key K, value V) error {
		if n == 0 {
			return nil
		}
		n--
		return give(key, value)
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
