package bugs

import (
	"context"

	"assay/history"
	"assay/workload"
	"assay/workload/journal"
	"assay/workload/smallbank"
)

// inAmalgamate is a call of SmallBank that changes three accounts.
const inAmalgamate = inUpdate

func smallBankBugs() []bugOf[callKinds] {
	const operations, accounts = journal.CheckOperations, smallbank.CheckAccounts
	return []bugOf[callKinds]{
		{Bug{Name: "lost-ack", Check: operations, Kinds: []string{journal.KindLost}, Or: accounts,
			Doc: "an operation is acknowledged and its journal row is not there"}, inInsert},
		{Bug{Name: lostUpdate, Check: accounts, Kinds: []string{"balance"},
			Doc: "the balance that an operation changed is overwritten with what it was before; its journal row stays"}, inInsert},
		{Bug{Name: doubledUpdate, Check: accounts, Kinds: []string{"balance"},
			Doc: "an operation changes its balance twice and has one journal row"}, inInsert},
		{Bug{Name: halfDone, Check: accounts, Kinds: []string{"balance"},
			Doc: "an Amalgamate does not add what it took from one customer to the other's account"}, inAmalgamate},
		{Bug{Name: "write-skew", Check: smallbank.CheckIsolation, Kinds: []string{"G2-item"}, Model: "serializable",
			Doc: "a Balance sees a TransactSaving and not the WriteCheck that came before it, as snapshot isolation allows"}, inGet},
		{Bug{Name: "failed-but-applied", Check: operations, Kinds: []string{journal.KindFailed},
			Doc: "failed is answered to an operation that is done"}, inInsert},
		{Bug{Name: "altered-row", Check: operations, Kinds: []string{journal.KindAltered},
			Doc: "a journal row has another amount than was moved"}, inInsert},
		{Bug{Name: "duplicate-row", Check: operations, Kinds: []string{journal.KindDoubled},
			Doc: "an operation has two journal rows"}, inInsert},
		{Bug{Name: "extra-row", Check: operations, Kinds: []string{journal.KindForeign},
			Doc: "there is a journal row of nobody's beside that of an operation"}, inInsert},
		{late("operation done"), inInsert},
	}
}

// smallBankStore is a smallbank.Store with bugs.
type smallBankStore struct {
	*journalStore[smallbank.Session]
	promise string
	// checks are, by customer, the last WriteCheck that no other has overwritten.
	checks map[int64]writtenCheck
}

// writtenCheck is what a WriteCheck found in the checking account, and whether a TransactSaving
// came after it.
type writtenCheck struct {
	before smallbank.State
	saved  bool
}

func newSmallBank(inner smallbank.Store, seeded []Seeded, seed uint64) *smallBankStore {
	s := &smallBankStore{promise: inner.Promise()}
	s.journalStore = newJournalStore[smallbank.Session](inner, smallBankBugs(), seeded, seed,
		journalShape{balance: []int{0, 1, 1, 3}, amount: 3},
		func(session smallbank.Session) smallbank.Session { return &smallBankSession{session, s} })
	reset := s.trial.reset
	s.trial.reset = func() { reset(); s.checks = map[int64]writtenCheck{} }
	s.trial.reset()
	return s
}

func (s *smallBankStore) Promise() string { return s.promise }

// smallBankSession is one client's.
type smallBankSession struct {
	smallbank.Session
	s *smallBankStore
}

func (n *smallBankSession) Do(ctx context.Context, o smallbank.Operation) (reply smallbank.Reply) {
	if !o.Writes() {
		return n.balance(ctx, o)
	}
	in := inInsert
	if o.Kind == smallbank.KindAmalgamate {
		in |= inAmalgamate
	}
	reply.Reply = n.s.write(ctx, in, n.Session, func(ctx context.Context, session smallbank.Session, bug string) workload.Reply {
		r := session.Do(ctx, o)
		if r.Outcome == history.Committed {
			n.s.wrote(&o, &r.Result)
		}
		if bug != lateApply { // which is done when the caller has left
			reply.Result = r.Result
		}
		return r.Reply
	}, func(b *active[callKinds]) workload.Reply {
		table, by := smallbank.Checking, o.Charged(&reply.Result)
		if by == 0 { // so that the bug has an effect
			by = 1
		}
		if o.Kind == smallbank.KindTransactSaving {
			table = smallbank.Saving
		}
		switch b.Name {
		case lostUpdate:
			n.s.shift(table, o.Customer, -by)
		case doubledUpdate:
			n.s.shift(table, o.Customer, by)
		case halfDone:
			n.s.shift(smallbank.Checking, o.Other, -by)
		}
		entry := smallbank.EntryOf(&o, &reply.Result)
		return n.s.spoil(b.Name, journal.Row{Table: smallbank.Journal, Values: entry.Values()})
	})
	return reply
}

// wrote keeps track of the checks that a Balance could have missed.
func (s *smallBankStore) wrote(o *smallbank.Operation, r *smallbank.Result) {
	last, found := s.checks[o.Customer]
	switch {
	case o.Kind == smallbank.KindWriteCheck && len(s.checks) < maxDifferences:
		s.checks[o.Customer] = writtenCheck{before: r.CheckingRead}
	case o.Kind == smallbank.KindTransactSaving && found:
		last.saved = true
		s.checks[o.Customer] = last
	case o.Kind != smallbank.KindTransactSaving:
		delete(s.checks, o.Customer)
		delete(s.checks, o.Other)
	}
}

// balance is a Balance, which may miss a WriteCheck.
func (n *smallBankSession) balance(ctx context.Context, o smallbank.Operation) smallbank.Reply {
	s := n.s
	if err := s.begin(ctx); err != nil {
		return smallbank.Reply{Reply: unsent(err)}
	}
	defer s.done()
	reply := n.Session.Do(ctx, o)
	if missed := s.checks[o.Customer]; reply.Outcome == history.Committed && missed.saved {
		if b := drawn(s.trial, inGet); b != nil {
			b.strikes++
			reply.CheckingRead = missed.before
		}
	}
	return reply
}
