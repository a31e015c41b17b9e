// Package promise says whether a finding breaks the vendor's promise, or is allowed by the manual
// under the run's settings and after its faults.
//
// A check tests a Property. A table of rules (rules.go), each with a page of the manual, says
// what is not promised of it; package durability does so for acknowledged work. What no rule
// takes away is promised: in doubt a finding is not excused.
//
// It must not know any driver, workload or report: it is a function of a product's name, its
// settings and what happened to it.
package promise

// Property is what a check tests.
type Property string

const (
	// Rules hold under any settings: no row twice, none that nobody wrote, none altered, no
	// account below zero. This zero value is the default.
	Rules Property = ""
	// Atomicity: a transaction is there as a whole or not at all.
	Atomicity Property = "atomicity"
	// Isolation: transactions overwrite nothing unseen and show nothing that their model forbids.
	Isolation Property = "isolation"
	// Snapshot: a transaction reads one state between two commits.
	Snapshot Property = "snapshot"
	// Durability: acknowledged work is there.
	Durability Property = "durability"
	// LastWrite: of two acknowledged writes, one after the other, the later stays.
	LastWrite Property = "last write"
	// Recency: a read shows what was acknowledged before it began.
	Recency Property = "recency"
	// CommitOrder: all readers, on any node, see commits in one order.
	CommitOrder Property = "commit order"
	// Permanence: what a read has shown is not taken back, acknowledged or not.
	Permanence Property = "permanence"
	// Agreement: replicas are equal once they have caught up.
	Agreement Property = "agreement"
	// Invariant: a user's own rule over several rows, which serial transactions keep.
	Invariant Property = "invariant"
)

// Loss reports whether acknowledged work is gone where the property does not hold.
func (p Property) Loss() bool { return p == Durability || p == LastWrite }

// Name is the property's name for people.
func (p Property) Name() string {
	if p == Rules {
		return "rules that no setting allows to break"
	}
	return string(p)
}
