package bugs

import (
	"cmp"
	"context"

	"assay/workload"
	"assay/workload/journal"
	"assay/workload/tpcb"
)

func tpcbBugs() []bugOf[callKinds] {
	const operations, balances = journal.CheckOperations, tpcb.CheckBalances
	return []bugOf[callKinds]{
		{Bug{Name: "lost-ack", Check: operations, Kinds: []string{journal.KindLost},
			Doc: "a transaction is acknowledged and nothing of it is there"}, inInsert},
		{Bug{Name: lostUpdate, Check: balances, Kinds: []string{"balance"}, Or: tpcb.CheckTotal,
			Doc: "the balances of a transaction are overwritten with what they were before; its history row stays"}, inInsert},
		{Bug{Name: doubledUpdate, Check: balances, Kinds: []string{"balance"}, Or: tpcb.CheckTotal,
			Doc: "a transaction changes its balances twice and has one history row"}, inInsert},
		{Bug{Name: halfDone, Check: balances, Kinds: []string{"balance"}, Or: tpcb.CheckTotal,
			Doc: "a transaction does not change its teller"}, inInsert},
		{Bug{Name: "wrong-answer", Check: tpcb.CheckOrder, Kinds: []string{"order"},
			Doc: "the balance that is answered is another than the one that is there"}, inInsert},
		{Bug{Name: "failed-but-applied", Check: operations, Kinds: []string{journal.KindFailed},
			Doc: "failed is answered to a transaction that is done"}, inInsert},
		{Bug{Name: "altered-row", Check: operations, Kinds: []string{journal.KindAltered},
			Doc: "a history row has another amount than was asked for"}, inInsert},
		{Bug{Name: "duplicate-row", Check: operations, Kinds: []string{journal.KindDoubled},
			Doc: "a transaction has two history rows"}, inInsert},
		{Bug{Name: "extra-row", Check: operations, Kinds: []string{journal.KindForeign},
			Doc: "there is a history row of nobody's beside that of a transaction"}, inInsert},
		{late("transaction done"), inInsert},
	}
}

// The names of bugs that both workloads with a journal have.
const (
	lostUpdate    = "lost-update"
	doubledUpdate = "doubled"
	halfDone      = "half-done"
)

// tpcbStore is a tpcb.Store with bugs.
type tpcbStore struct{ *journalStore[tpcb.Session] }

func newTPCB(inner tpcb.Store, seeded []Seeded, seed uint64) *tpcbStore {
	s := &tpcbStore{}
	s.journalStore = newJournalStore(inner, tpcbBugs(), seeded, seed, journalShape{balance: []int{1, 2, 2, 4}, amount: 4},
		func(session tpcb.Session) tpcb.Session { return &tpcbSession{session, s} })
	return s
}

// tpcbSession is one client's.
type tpcbSession struct {
	tpcb.Session
	s *tpcbStore
}

func (n *tpcbSession) Do(ctx context.Context, x tpcb.Transaction, together bool) (reply tpcb.Reply) {
	reply.Reply = n.s.write(ctx, inInsert, n.Session, func(ctx context.Context, session tpcb.Session, bug string) workload.Reply {
		r := session.Do(ctx, x, together)
		if bug != lateApply { // which is done when the caller has left
			reply.Balance = r.Balance
		}
		return r.Reply
	}, func(b *active[callKinds]) workload.Reply {
		by := cmp.Or(x.Delta, 1) // so that the bug has an effect
		switch b.Name {
		case "lost-ack":
			n.s.shiftAll(&x, -x.Delta)
		case lostUpdate:
			n.s.shiftAll(&x, -by)
		case doubledUpdate:
			n.s.shiftAll(&x, by)
		case halfDone:
			n.s.shift(tpcb.Tellers, x.Teller, -by)
		case "wrong-answer":
			reply.Balance++
		}
		return n.s.spoil(b.Name, journal.Row{Table: tpcb.History, Values: x.Values()})
	})
	return reply
}

// shiftAll changes the three balances of a transaction.
func (s *tpcbStore) shiftAll(x *tpcb.Transaction, by int64) {
	s.shift(tpcb.Branches, x.Branch, by)
	s.shift(tpcb.Tellers, x.Teller, by)
	s.shift(tpcb.Accounts, x.Account, by)
}
