package smallbank

import (
	"assay/store/bug"
	"assay/workload/journal"
)

// Bugs are the faults that the checks must find.
func Bugs() []bug.Bug {
	const operations = journal.CheckOperations
	balance, figures := []string{"balance"}, []string{"balance", "acknowledged", "overwritten"}
	return []bug.Bug{
		{Name: "lost-ack", Check: operations, Kinds: []string{journal.KindLost}, Or: CheckAccounts,
			Doc: "an operation is acknowledged and nothing of it is there", Act: bug.Act{Does: bug.Loses}},
		{Name: "lost-update", Check: CheckAccounts, Kinds: figures,
			Doc: "the balance that an operation changed is overwritten with what it was before; its journal row stays",
			Act: bug.Act{Does: bug.ForgetsAll, Columns: balance}},
		{Name: "write-skew", Check: CheckIsolation, Kinds: []string{"G2-item"}, Model: "serializable",
			Doc: "a Balance sees a TransactSaving and not the WriteCheck that came before it, as snapshot isolation allows",
			Act: bug.Act{Does: bug.ReadsPassed}},
		{Name: "failed-but-applied", Check: operations, Kinds: []string{journal.KindFailed},
			Doc: "failed is answered to an operation that is done", Act: bug.Act{Does: bug.Denies}},
		{Name: "altered-row", Check: operations, Kinds: []string{journal.KindAltered},
			Doc: "a journal row has another amount than was moved", Act: bug.Act{Does: bug.Alters, Columns: []string{"amount"}}},
		{Name: "duplicate-row", Check: operations, Kinds: []string{journal.KindDoubled},
			Doc: "an operation has two journal rows", Act: bug.Act{Does: bug.Repeats}},
		{Name: "extra-row", Check: operations, Kinds: []string{journal.KindForeign},
			Doc: "there is a journal row of nobody's beside that of an operation", Act: bug.Act{Does: bug.Adds}},
		bug.Late("operation done"),
	}
}
