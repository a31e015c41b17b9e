package mem

import (
	"context"
	"fmt"

	"assay/history"
	"assay/workload"
	"assay/workload/smallbank"
)

// smallBankStore is a smallbank.Store.
type smallBankStore struct{ journalStore }

// OpenSmallBank is as OpenBank.
func OpenSmallBank(_ context.Context, target workload.Target) (smallbank.Store, error) {
	return opened(target, func(b baseStore) smallbank.Store { return &smallBankStore{newJournalStore(b, smallbank.Tables())} })
}

func (s *smallBankStore) Promise() string { return "strict-serializable" }

// smallBankSession is one client's.
type smallBankSession struct{ *smallBankStore }

func (s *smallBankStore) Session(context.Context) (smallbank.Session, error) {
	return &smallBankSession{s}, s.ready()
}

func (n *smallBankSession) Do(ctx context.Context, o smallbank.Operation) (reply smallbank.Reply) {
	reply.Reply = n.d.run(ctx, "operation", func(x *transaction) workload.Reply {
		if _, there := get(x, n.tables[smallbank.Journal], o.ID); there {
			return duplicate()
		}
		saving, saves := get(x, n.tables[smallbank.Saving], o.Customer)
		checking, checks := get(x, n.tables[smallbank.Checking], o.Customer)
		other, others := checking, checks
		if o.Other != 0 {
			other, others = get(x, n.tables[smallbank.Checking], o.Other)
		}
		if !saves || !checks || !others {
			return workload.Reply{Outcome: history.Failed, Class: workload.ClassOther, Err: fmt.Errorf("mem: customer %d or %d has no accounts", o.Customer, o.Other)}
		}
		r := &reply.Result
		if o.Kind == smallbank.KindBalance || o.Kind == smallbank.KindAmalgamate || o.Kind == smallbank.KindWriteCheck {
			r.SavingRead, r.CheckingRead = smallbank.State{Balance: saving[1], Writer: saving[2]}, smallbank.State{Balance: checking[1], Writer: checking[2]}
		}
		amount := o.Charged(r)
		change := func(table int, row []int64, balance int64) smallbank.State {
			put(x, n.tables[table], row[0], []int64{row[0], balance, o.ID, row[2]})
			return smallbank.State{Balance: balance, Writer: row[2]}
		}
		switch o.Kind {
		case smallbank.KindDepositChecking:
			r.Checking = change(smallbank.Checking, checking, checking[1]+amount)
		case smallbank.KindTransactSaving:
			if saving[1]+amount < 0 {
				return workload.Reply{Outcome: history.Rejected, Class: smallbank.ClassNoFunds}
			}
			r.Saving = change(smallbank.Saving, saving, saving[1]+amount)
		case smallbank.KindWriteCheck:
			r.Checking = change(smallbank.Checking, checking, checking[1]-amount)
		case smallbank.KindAmalgamate:
			r.Saving, r.Checking = change(smallbank.Saving, saving, 0), change(smallbank.Checking, checking, 0)
			r.Other = change(smallbank.Checking, other, other[1]+amount)
		}
		if o.Writes() {
			entry := smallbank.EntryOf(&o, r)
			put(x, n.tables[smallbank.Journal], o.ID, entry.Values())
		}
		return committed()
	})
	if !o.Writes() && reply.Outcome == history.Unknown {
		reply.Outcome = history.Failed // it has no effect
	}
	return reply
}

func (n *smallBankSession) Close() {}
