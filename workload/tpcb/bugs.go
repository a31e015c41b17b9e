package tpcb

import (
	"assay/store/bug"
	"assay/workload/journal"
)

// Bugs are the faults that the checks must find.
func Bugs() []bug.Bug {
	figures := []string{"bbalance", "tbalance", "abalance"}
	return append(journal.Bugs("a transaction", "history", "delta", ""),
		bug.Bug{Name: "half-done", Check: CheckBalances, Kinds: []string{"balance"}, Or: CheckTotal,
			Doc: "a transaction does not change its teller", Act: bug.Act{Does: bug.Forgets, Table: "tellers", Columns: figures}},
		bug.Bug{Name: "wrong-answer", Check: CheckOrder, Kinds: []string{"order"},
			Doc: "the balance that is answered is another than the one that is there", Act: bug.Act{Does: bug.Misanswers, Columns: figures}},
		bug.Late("transaction done"))
}
