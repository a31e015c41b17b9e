// Package promise says whether what a check has found breaks what the database's vendor
// promises, or is what the manual allows under the settings of the run and after the
// faults that there were.
//
// A check tests a Property. What is promised of a property is a table of rules
// (rules.go), each with the page of the manual, and, of the durability of what was
// acknowledged, package durability. What no rule allows is promised: in doubt a finding
// is not excused.
//
// It must not know any driver, workload or report: it is a function of a product's name,
// its settings and what happened to it.
package promise

// Property is what a check tests.
type Property string

const (
	// Rules are what no setting allows: a row twice, one that nobody wrote, one that was
	// altered, an account below zero. It is the zero value, which holds for
	// whatever is not said to be something else.
	Rules Property = ""
	// Atomicity: all of a transaction is there, or nothing.
	Atomicity Property = "atomicity"
	// Isolation: transactions neither overwrite what they have not seen nor show what
	// the model forbids against which they are judged.
	Isolation Property = "isolation"
	// Snapshot: what a transaction reads is one state between two commits.
	Snapshot Property = "snapshot"
	// Durability: what was acknowledged is there.
	Durability Property = "durability"
	// Recency: a read shows what had been acknowledged before it began.
	Recency Property = "recency"
	// CommitOrder: all that read, wherever they read, see commits in one order.
	CommitOrder Property = "commit order"
	// Permanence: what a read has shown is not taken back, acknowledged or not.
	Permanence Property = "permanence"
	// Agreement: replicas hold the same once they have caught up.
	Agreement Property = "agreement"
	// Invariant: a user's own rule over several rows, which transactions keep that run
	// one after the other.
	Invariant Property = "invariant"
)

// Name is the property's name for people.
func (p Property) Name() string {
	if p == Rules {
		return "rules that no setting allows to break"
	}
	return string(p)
}
