package store

import "slices"

// Capability is something that a workload can need and that not every database has.
type Capability string

// The capabilities.
const (
	// Transactions are over several rows of several tables, all or nothing.
	Transactions Capability = "transactions"
	// Snapshots are reads of one state beside transactions that go on (Audit).
	Snapshots Capability = "snapshots"
	// Sets are updates and deletes of all rows that a condition on other columns than the
	// key selects.
	Sets Capability = "updates by a condition"
	// OrderedScans are reads of many rows in the order of the key.
	OrderedScans Capability = "scans in the order of keys"
	// Indexes are reads by other columns than the key. Without Transactions rows of a table
	// that has some are inserted and not changed.
	Indexes Capability = "indexes"
	// Lists are columns of the type Ints.
	Lists Capability = "lists"
	// Compactions are ways to give back space that a client can ask for; see Compacting.
	Compactions Capability = "compaction"
	// Language is statements in a language of the database's own that a user writes
	// (Native), and SQL is that this is SQL with joins. Without SQL they are commands, each a
	// Document.
	Language Capability = "statements of a user's"
	SQL      Capability = "SQL"
	// UpdateInPlace is an Append that does not read the list and write it anew.
	UpdateInPlace Capability = "appends in place"
	// SecondaryUnique is a unique index beside the key.
	SecondaryUnique Capability = "unique indexes"
	// UniqueKeys is that an Insert of a key that is there is refused (Unique). Without it
	// the row is replaced, and an Update makes a row that is not there.
	UniqueKeys Capability = "unique keys"
	// Changes are Put, Update and Delete of a row by its key. Without them rows are inserted
	// and read.
	Changes Capability = "changes of rows"
	// Documents are tables within the rows of others (Table.Within).
	Documents Capability = "documents"
)

// Lacks are the capabilities that a database does not have, each with the reason, as a
// clause: "Cassandra has no transaction over several partitions".
type Lacks map[Capability]string

// LacksAllBut are all capabilities but these, for one reason.
func LacksAllBut(why string, has ...Capability) Lacks {
	lacks := Lacks{}
	for _, c := range []Capability{Transactions, Snapshots, Sets, OrderedScans, Indexes, Lists, Compactions, Language, SQL, UpdateInPlace,
		SecondaryUnique, UniqueKeys, Changes, Documents} {
		if !slices.Contains(has, c) {
			lacks[c] = why
		}
	}
	return lacks
}

// Need is a capability that a workload needs. Why is what would come of doing without, as a
// clause: "a transfer could be half done".
type Need struct {
	Capability Capability
	Why        string
}

// Unmet is why a database that lacks these cannot serve a workload with these needs; empty
// if it can.
func (l Lacks) Unmet(needs []Need) string {
	for _, n := range needs {
		if reason := l[n.Capability]; reason != "" {
			if n.Why == "" {
				return reason
			}
			return reason + ": " + n.Why
		}
	}
	return ""
}
