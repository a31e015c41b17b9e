// Package bug names ways of breaking a promise of a database, so that a workload can say,
// as values, which of its checks must find which. What the ways do is done by a wrapper of a
// store.Database (driver/bugs), which knows no workload.
package bug

import "slices"

// Bug is one way of breaking a promise, in one workload.
type Bug struct {
	// Name is as in bug=NAME:PROBABILITY.
	Name string
	// Check names the check that must find it, the first if several do; empty
	// if it is no violation and must be found valid.
	Check string
	// Or names a second check if the bug has a form that only this one finds;
	// else it is empty.
	Or string
	// Kinds are what the check finds: one of these comes when the bug has taken
	// effect often enough, though a single time may show as something else. Empty
	// where the kind depends on what is left.
	Kinds []string
	// Model is the consistency model that a run must be judged against for
	// Kinds to be named; empty for the one that the database promises.
	Model string
	// Tests are the tests of workload isolation in which the bug can take effect,
	// beside "all"; empty for other workloads.
	Tests []string
	// Passing is true if what the bug does can be over, or turn out right, before
	// anybody looks, or if it can be where nobody looks.
	// Of any other bug every run in which it has taken effect is found violated.
	Passing bool
	// PassingIn are the tests of workload isolation in which it is as Passing says.
	PassingIn []string
	// Doc says what it does.
	Doc string
	// Act is what it does, in terms of the contract of package store.
	Act Act
}

// MayPass reports whether the bug can take effect and leave nothing to be found, in
// a test of workload isolation, or in the workload that it is for if test is empty.
func (b Bug) MayPass(test string) bool { return b.Passing || slices.Contains(b.PassingIn, test) }

// Act is what a bug does to a transaction, a statement or a read of everything.
type Act struct {
	Does Does
	// Table is the one whose rows it is about, or Tables are; empty for any.
	Table  string
	Tables []string
	// Columns are those that it is about: one of those that are altered; those of which
	// one must have changed so that the act leaves a trace; those of a row of nobody's that
	// say so beside the key. Empty for any but the key.
	Columns []string
	// To is what a transaction must have done to a row that it is about; empty for what Does
	// says, or for anything.
	To To
	// Calls is how many calls later it is done, at most, of what is done later.
	Calls uint64
	// Stepped is true of a Loses in sessions alone whose transactions stop while others go on: of
	// one that is begun while others have changed something and not ended, without being done.
	Stepped bool
}

// To is what a transaction does to a row.
type To string

const (
	Inserted To = "inserted"
	Updated  To = "updated"
	Deleted  To = "deleted"
)

// Does is a way of breaking a promise.
type Does string

// Ways in which a commit goes wrong. What they say of a transaction holds for a statement
// alone as well.
const (
	// Loses acknowledges a transaction of which nothing stays.
	Loses Does = "loses"
	// Forgets leaves out what a transaction did to one row (To, by itself an update),
	// ForgetsSome to some rows and not all, ForgetsAll to all such rows: what it did to
	// others stays.
	Forgets     Does = "forgets one row"
	ForgetsSome Does = "forgets some rows"
	ForgetsAll  Does = "forgets all such rows"
	// Overwrites has a transaction change a row as it was before the last transaction that
	// changed it.
	Overwrites Does = "overwrites"
	// Doubles adds once more what the updates of a transaction added; a row that one has
	// put is put once more by the one before.
	Doubles Does = "doubles"
	// Denies answers that a transaction failed that was committed, Delays that it is
	// unknown of one that is done up to Calls calls later.
	Denies Does = "denies"
	Delays Does = "delays"
	// Splits has a transaction reach the primary alone or the other members alone.
	Splits Does = "splits"
)

// Ways in which rows go wrong.
const (
	// Alters changes one of Columns of a row (To, by itself one that was inserted).
	Alters Does = "alters"
	// Repeats has such a row be there twice, Adds adds one like it of nobody's.
	Repeats Does = "repeats"
	Adds    Does = "adds"
	// Renumbers has such rows be shown with one less in each of Columns, which are of keys.
	Renumbers Does = "renumbers"
	// Truncates ends a read of everything early, without an error.
	Truncates Does = "truncates"
	// Miscounts says that one row less was changed.
	Miscounts Does = "miscounts"
)

// Ways in which the answer to a statement goes wrong.
const (
	// Misanswers changes one of Columns in a row of it.
	Misanswers Does = "misanswers"
	// Drops leaves out one of several rows, Cuts the last ones.
	Drops Does = "drops a row"
	Cuts  Does = "cuts rows"
)

// Ways in which a read sees a wrong state.
const (
	// ReadsMiddle sees a transaction in the middle: some of its rows, or of the columns of
	// one row, are as it left them and others as it found them.
	ReadsMiddle Does = "reads the middle"
	// ReadsSkewed sees one row of a transaction as it left it and another as it found it.
	ReadsSkewed Does = "reads skewed"
	// ReadsForked sees a transaction that a reader before did not see, and does not see
	// one that this reader saw.
	ReadsForked Does = "reads a fork"
	// ReadsOlder sees a row as it was before the last transaction that changed it.
	ReadsOlder Does = "reads older"
	// ReadsStale sees a state from before a transaction whose end was known before the
	// read began.
	ReadsStale Does = "reads stale"
	// ReadsBeforeOwn sees the state from before the last transaction of its own session,
	// ReadsWithoutOwn a row as it was before the transaction itself changed it.
	ReadsBeforeOwn  Does = "reads what was before its own"
	ReadsWithoutOwn Does = "reads without its own"
	// ReadsCrossed sees the state from before a transaction that has read what this one
	// changes, and changed what this one reads: row by row, or rows by a condition.
	ReadsCrossed Does = "reads crossed"
	// ReadsPhantom counts rows for the second time as before the last change of what is counted.
	ReadsPhantom Does = "reads a phantom"
	// ReadsPassed sees what came after a transaction and not the transaction itself, as
	// snapshot isolation allows of one that only reads (A. Fekete, E. O'Neil, P. O'Neil, "A
	// Read-Only Transaction Anomaly Under Snapshot Isolation", SIGMOD Record 33(3), 2004).
	ReadsPassed Does = "reads what it passed"
)

// LateApply is the name of the bug Late.
const LateApply = "late-apply"

// Late is the bug that is in all workloads where it is in any; done says what is done, such
// as "insert done".
func Late(done string) Bug {
	return Bug{Name: LateApply, Act: Act{Does: Delays, Calls: 64}, Doc: "unknown is answered and the " + done +
		" up to 64 calls later, at the latest before Settle returns; that is allowed and must be found valid"}
}
