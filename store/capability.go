package store

import "slices"

// Capability is something that a workload can need and some databases lack.
type Capability string

const (
	// Transactions span several rows of several tables, all or nothing.
	Transactions Capability = "transactions"
	// Snapshots are reads of one state while transactions go on (Audit).
	Snapshots Capability = "snapshots"
	// Sets are updates and deletes of all rows selected by columns outside the key.
	Sets Capability = "updates by a condition"
	// OrderedScans are reads of many rows in key order.
	OrderedScans Capability = "scans in the order of keys"
	// Indexes are reads by columns outside the key. Without Transactions, rows of an indexed
	// table are inserted and never changed.
	Indexes Capability = "indexes"
	Lists   Capability = "lists"
	// Compactions are commands by which a client can have space given back; see Compacting.
	Compactions Capability = "compaction"
	// Language is statements that a user writes in the database's own language (Native). SQL
	// means that this language is SQL with joins. Without SQL each statement is a Document.
	Language Capability = "statements of a user's"
	SQL      Capability = "SQL"
	// UpdateInPlace is an Append that does not read and rewrite the list.
	UpdateInPlace Capability = "appends in place"
	// SecondaryUnique is a unique index other than the key.
	SecondaryUnique Capability = "unique indexes"
	// UniqueKeys refuse an Insert whose key exists (Unique). Without them the Insert replaces the
	// row, and an Update makes a missing row.
	UniqueKeys Capability = "unique keys"
	// Changes are Put, Update and Delete by key. Without them rows are only inserted and read.
	Changes Capability = "changes of rows"
	// Documents are tables within the rows of others (Table.Within).
	Documents Capability = "documents"
)

// Lacks has a reason for each capability: "Cassandra has no transaction over several partitions".
type Lacks map[Capability]string

// LacksAllBut lacks all capabilities but these, for one reason.
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

// Need is a capability that a workload needs. Why says what would go wrong without it, as a
// clause: "a transfer could be half done".
type Need struct {
	Capability Capability
	Why        string
}

// Unmet says why a database that lacks these cannot serve these needs; empty if it can.
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
