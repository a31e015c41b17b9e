package smallbank

import (
	"assay/store/bug"
	"assay/workload/journal"
)

// Bugs are the faults that the checks must find.
func Bugs() []bug.Bug {
	balance, figures := []string{"balance"}, []string{"balance", "acknowledged", "overwritten"}
	return append(journal.Bugs("an operation", "journal", "amount", CheckAccounts),
		bug.Bug{Name: "lost-update", Check: CheckAccounts, Kinds: figures,
			Doc: "the balance that an operation changed is overwritten with what it was before; its journal row stays",
			Act: bug.Act{Does: bug.ForgetsAll, Columns: balance}},
		bug.Bug{Name: "write-skew", Check: CheckIsolation, Kinds: []string{"G2-item"}, Model: "serializable",
			Doc: "a Balance sees a TransactSaving and not the WriteCheck that came before it, as snapshot isolation allows",
			Act: bug.Act{Does: bug.ReadsPassed}},
		bug.Late("operation done"))
}
