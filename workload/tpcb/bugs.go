package tpcb

import (
	"assay/store/bug"
	"assay/workload/journal"
)

// Bugs are the faults that the checks must find.
func Bugs() []bug.Bug {
	const operations, balances = journal.CheckOperations, CheckBalances
	figures := []string{"bbalance", "tbalance", "abalance"}
	return []bug.Bug{
		{Name: "lost-ack", Check: operations, Kinds: []string{journal.KindLost},
			Doc: "a transaction is acknowledged and nothing of it is there", Act: bug.Act{Does: bug.Loses}},
		{Name: "half-done", Check: balances, Kinds: []string{"balance"}, Or: CheckTotal,
			Doc: "a transaction does not change its teller", Act: bug.Act{Does: bug.Forgets, Table: "tellers", Columns: figures}},
		{Name: "wrong-answer", Check: CheckOrder, Kinds: []string{"order"},
			Doc: "the balance that is answered is another than the one that is there", Act: bug.Act{Does: bug.Misanswers, Columns: figures}},
		{Name: "failed-but-applied", Check: operations, Kinds: []string{journal.KindFailed},
			Doc: "failed is answered to a transaction that is done", Act: bug.Act{Does: bug.Denies}},
		{Name: "altered-row", Check: operations, Kinds: []string{journal.KindAltered},
			Doc: "a history row has another amount than was asked for", Act: bug.Act{Does: bug.Alters, Columns: []string{"delta"}}},
		{Name: "duplicate-row", Check: operations, Kinds: []string{journal.KindDoubled},
			Doc: "a transaction has two history rows", Act: bug.Act{Does: bug.Repeats}},
		{Name: "extra-row", Check: operations, Kinds: []string{journal.KindForeign},
			Doc: "a transaction is done again under an id of nobody's", Act: bug.Act{Does: bug.Adds}},
		bug.Late("transaction done"),
	}
}
