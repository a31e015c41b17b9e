package mem

import (
	"context"
	"fmt"

	"assay/history"
	"assay/workload"
	"assay/workload/tpcb"
)

// tpcbStore is a tpcb.Store.
type tpcbStore struct{ journalStore }

// OpenTPCB is as OpenBank.
func OpenTPCB(_ context.Context, target workload.Target) (tpcb.Store, error) {
	return opened(target, func(b baseStore) tpcb.Store { return &tpcbStore{newJournalStore(b, tpcb.Tables())} })
}

// tpcbSession is one client's.
type tpcbSession struct{ *tpcbStore }

func (s *tpcbStore) Session(context.Context) (tpcb.Session, error) {
	return &tpcbSession{s}, s.ready()
}

func (n *tpcbSession) Do(ctx context.Context, t tpcb.Transaction, _ bool) (reply tpcb.Reply) {
	reply.Reply = n.d.run(ctx, "transaction", func(x *transaction) workload.Reply {
		if _, there := get(x, n.tables[tpcb.History], t.ID); there {
			return duplicate()
		}
		for table, key := range [...]int64{tpcb.Branches: t.Branch, tpcb.Tellers: t.Teller, tpcb.Accounts: t.Account} {
			row, found := get(x, n.tables[table], key)
			if !found {
				return workload.Reply{Outcome: history.Failed, Class: workload.ClassOther, Err: fmt.Errorf("mem: table %s has no row %d", n.kinds[table].Name, key)}
			}
			last := len(row) - 1
			reply.Balance = row[last] + t.Delta
			set(x, n.tables[table], row, last, reply.Balance)
		}
		put(x, n.tables[tpcb.History], t.ID, t.Values())
		return committed()
	})
	return reply
}

func (n *tpcbSession) Close() {}
