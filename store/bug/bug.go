// Package bug names ways of breaking a database's promise. A workload lists, as values, which of
// its checks must find which. The wrapper in driver/bugs carries them out and knows no workload.
package bug

import "slices"

// Bug is one way of breaking a promise, in one workload.
type Bug struct {
	// Name is as in bug=NAME:PROBABILITY.
	Name string
	// Check names the first check that must find it; empty if it must be found valid.
	Check string
	// Or names a second check for a form of the bug that only it finds.
	Or string
	// Kinds are what the check finds. One of them comes if the bug took effect often enough; a
	// single time may show as something else. Empty where the kind depends on what is left.
	Kinds []string
	// Model is the model to judge against for Kinds to be named; empty for the promised one.
	Model string
	// Tests are the tests of workload isolation, beside "all", in which the bug can take effect.
	Tests []string
	// Passing is true if the bug's effect can vanish, turn out right, or lie where nothing looks.
	// Every run in which another bug took effect is found violated.
	Passing bool
	// PassingIn are the tests of workload isolation in which Passing holds.
	PassingIn []string
	// Doc says what the bug does, for users.
	Doc string
	Act Act
}

// MayPass reports whether the bug can take effect unnoticed, in a test of workload isolation, or
// in its workload if test is empty.
func (b Bug) MayPass(test string) bool { return b.Passing || slices.Contains(b.PassingIn, test) }

// Act is what a bug does to a transaction, a statement or a read of everything.
type Act struct {
	Does Does
	// Table, or Tables, limit the act to their rows; empty for any.
	Table  string
	Tables []string
	// Columns are altered by the act, or one of them must have changed for the act to leave a
	// trace. For Adds they mark, beside the key, that nobody wrote the row. Empty for any but the
	// key.
	Columns []string
	// To is what the transaction must have done to the row; empty for what Does says, or for
	// anything.
	To To
	// Calls is the most calls by which the act comes late.
	Calls uint64
	// Stepped limits Loses to sessions whose transactions stop while others go on. It loses a
	// transaction that begins while others have uncommitted changes, and does not carry it out.
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

// Ways in which a commit goes wrong. A statement alone counts as a transaction.
const (
	// Loses acknowledges a transaction and keeps nothing of it.
	Loses Does = "loses"
	// Forgets leaves out the change of one row (an update, unless To says otherwise), ForgetsSome
	// of some rows but not all, ForgetsAll of all such rows. Other changes stay.
	Forgets     Does = "forgets one row"
	ForgetsSome Does = "forgets some rows"
	ForgetsAll  Does = "forgets all such rows"
	// Overwrites changes a row as it was before the last transaction that changed it.
	Overwrites Does = "overwrites"
	// Doubles adds once more what a transaction's updates added, or repeats the Put before it.
	Doubles Does = "doubles"
	// Denies answers that a committed transaction failed. Delays answers unknown, and carries it
	// out up to Calls calls later.
	Denies Does = "denies"
	Delays Does = "delays"
	// Splits lets a transaction reach only the primary, or only the other members.
	Splits Does = "splits"
)

const (
	// Alters changes one of Columns of a row (an inserted one, unless To says otherwise).
	Alters Does = "alters"
	// Repeats shows a row twice. Adds shows one more like it that nobody wrote: by an insert alone,
	// or by the whole batch that inserts it, done again under another key, which a floor may refuse.
	Repeats Does = "repeats"
	Adds    Does = "adds"
	// Renumbers shows rows with one less in each of Columns, which are keys.
	Renumbers Does = "renumbers"
	// Truncates ends a read of everything early, without an error.
	Truncates Does = "truncates"
	// Miscounts reports one changed row too few.
	Miscounts Does = "miscounts"
)

const (
	// Misanswers changes one of Columns in a row of the answer.
	Misanswers Does = "misanswers"
	// Drops leaves out one of several rows, Cuts the last ones.
	Drops Does = "drops a row"
	Cuts  Does = "cuts rows"
)

const (
	// ReadsMiddle sees some rows or columns after a transaction and others before it.
	ReadsMiddle Does = "reads the middle"
	// ReadsSkewed sees one row before and another after the same transaction.
	ReadsSkewed Does = "reads skewed"
	// ReadsForked misses a transaction that an earlier reader saw, and sees another that it
	// missed.
	ReadsForked Does = "reads a fork"
	// ReadsOlder sees a row as it was before its last change.
	ReadsOlder Does = "reads older"
	// ReadsStale sees a state from before a transaction that was known to have ended.
	ReadsStale Does = "reads stale"
	// ReadsBeforeOwn misses the session's last transaction. ReadsWithoutOwn misses a change that
	// the transaction itself made to a row.
	ReadsBeforeOwn  Does = "reads what was before its own"
	ReadsWithoutOwn Does = "reads without its own"
	// ReadsCrossed misses a transaction that read what this one changes and changed what this one
	// reads: by row, or by a condition.
	ReadsCrossed Does = "reads crossed"
	// ReadsPhantom counts rows a second time as they were before the last change.
	ReadsPhantom Does = "reads a phantom"
	// ReadsPassed misses a transaction and sees a later one, as snapshot isolation allows a
	// reader (A. Fekete, E. O'Neil, P. O'Neil, "A Read-Only Transaction Anomaly Under Snapshot
	// Isolation", SIGMOD Record 33(3), 2004).
	ReadsPassed Does = "reads what it passed"
)

// LateApply is the name of the bug Late.
const LateApply = "late-apply"

// Late is in every workload that has bugs. done says what happens late, such as "insert done".
func Late(done string) Bug {
	return Bug{Name: LateApply, Act: Act{Does: Delays, Calls: 64}, Doc: "unknown is answered and the " + done +
		" up to 64 calls later, at the latest before Settle returns; that is allowed and must be found valid"}
}
