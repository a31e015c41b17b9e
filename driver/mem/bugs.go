package mem

import "assay/workload/bank"

// Bug is one way of breaking a promise, in one workload.
type Bug struct {
	// Name is as in mem://?bug=NAME:PROBABILITY.
	Name string
	// Check names the check that must find it, the first if several do; empty
	// if it is no violation and must be found valid.
	Check string
	// Or names a second check if the bug has a form that only this one finds;
	// else it is empty.
	Or string
	// Kinds are what the check finds: one of these comes with enough strikes,
	// though a single one may show as something else. Empty where the kind hangs
	// on what is left.
	Kinds []string
	// Model is the consistency model that a run must be judged against for
	// Kinds to be named; empty for the one that the database promises.
	Model string
	// Passing is true if what the bug does can be over, or turn out right, before
	// anybody looks, or if it can be where nobody looks.
	// Of any other bug every run in which it has struck is found violated.
	Passing bool
	// Doc says what it does.
	Doc string

	// Of the bank.

	// transfer is done instead of a transfer; nil if the bug is not in
	// transfers. It is only called for transfers that suits allows.
	transfer func(d *Database, t bank.Transfer, refusal bank.Reply) bank.Reply
	// refused is true if the bug can also strike at a transfer that is refused
	// for lack of funds, onlyRefused if at no other.
	refused, onlyRefused bool
	// occasion says whether the bug can strike at a transfer that suits; nil if
	// at every one.
	occasion func(d *Database, t bank.Transfer) bool
	// audit changes what an Audit read, and total what an AuditAll read; false
	// means that there was no occasion and nothing was changed. They are nil if
	// the bug is not in audits. Of a bug that has transfer as well, the audit
	// that sees what the transfer left is what counts as a strike.
	audit func(d *Database, ids []int64, states []bank.State) bool
	total func(d *Database, t *bank.Totals) bool
	// looksBack is true if the bug needs Database.trail or Database.past.
	looksBack bool
	// read decides how much a Read gives; nil if the bug is not in reading.
	read func(d *Database, accounts, rows int64) (int64, int64)

	// Of workload isolation.

	// strike changes how a transaction that has just begun will go; false
	// means that it had no occasion and did nothing.
	strike func(*transaction) bool
	// cut decides which keys a Read gives; nil if the bug is not in reading.
	cut func(d *Multiversion, lists, registers []int64) ([]int64, []int64)
}

// Names of the checks, as in a result.
const (
	checkTotal     = "total"
	checkAccounts  = "accounts"
	checkTransfers = "transfers"
	checkOrder     = "order"
	checkSnapshots = "snapshots"
	checkReplicas  = "replicas"

	checkIsolation  = "isolation"
	checkDurability = "durability"
	checkPredicate  = "predicate"
)

// Bugs returns all that can be switched on in the bank.
func Bugs() []Bug {
	var bugs []Bug
	for _, e := range table() {
		if e.bank.Doc != "" {
			e.bank.Name = e.name
			bugs = append(bugs, e.bank)
		}
	}
	return bugs
}

// IsolationBugs returns all that can be switched on in workload isolation.
func IsolationBugs() []Bug {
	var bugs []Bug
	for _, e := range table() {
		if e.isolation.Doc != "" {
			e.isolation.Name = e.name
			bugs = append(bugs, e.isolation)
		}
	}
	return bugs
}
