package mem

import "assay/workload/bank"

// Bug is one way of breaking a promise, in one workload.
type Bug struct {
	// Name is as in mem://?bug=NAME:PROBABILITY.
	Name string
	// Check names the check that must find it, the first if several do; empty
	// if it is no violation and must be found valid.
	Check string
	// Kinds are what the check finds: each run in which the bug had occasion
	// to strike has evidence of one of these kinds. Empty for the bank.
	Kinds []string
	// Doc says what it does.
	Doc string

	// Of the bank.

	// transfer is done instead of a transfer; nil if the bug is not in
	// transfers. It is only called for transfers that suits allows.
	transfer func(d *Database, t bank.Transfer, refusal bank.Reply) bank.Reply
	// refused is true if the bug can also strike at a transfer that is refused
	// for lack of funds.
	refused bool
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
