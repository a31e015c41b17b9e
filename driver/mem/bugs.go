package mem

import "assay/workload/bank"

// Bug is one way of breaking a promise.
type Bug struct {
	// Name is as in mem://?bug=NAME:PROBABILITY.
	Name string
	// Check names the check that must find it, the first if several do; empty
	// if it is no violation and must be found valid.
	Check string
	// Doc says what it does.
	Doc string

	// transfer is done instead of a transfer; nil if the bug is not in
	// transfers. It is only called for transfers that suits allows.
	transfer func(d *Database, t bank.Transfer, refusal bank.Reply) bank.Reply
	// refused is true if the bug can also strike at a transfer that is refused
	// for lack of funds.
	refused bool
	// read decides how much a Read gives; nil if the bug is not in reading.
	read func(d *Database, accounts, rows int64) (int64, int64)
}

// Names of the checks, as in a result.
const (
	checkTotal     = "total"
	checkAccounts  = "accounts"
	checkTransfers = "transfers"
)

// Bugs returns all that can be switched on.
func Bugs() []Bug {
	return []Bug{
		// In what is done to the accounts: bugs_effect.go.
		{Name: "torn-transfer", Check: checkTotal, transfer: tornTransfer,
			Doc: "the credit is lost, the debit and the row stay"},
		{Name: "partial-rollback", Check: checkAccounts, transfer: partialRollback, refused: true,
			Doc: "a transfer that is rejected for lack of funds, or made to fail, leaves the debit, the credit or the row behind"},
		{Name: "duplicate-apply", Check: checkAccounts, transfer: duplicateApply,
			Doc: "a transfer is applied twice: two rows of one id (found by transfers), or one row and both balances changed twice"},
		{Name: "lost-update", Check: checkAccounts, transfer: lostUpdate,
			Doc: "the update of one of the two accounts is overwritten by one that did not see it: its version is given again"},
		{Name: "negative-balance", Check: checkTotal, transfer: negativeBalance, refused: true,
			Doc: "the debit is done without looking at the funds; it shows if an account that ran dry is still below zero at the end"},
		// In what is answered: bugs_answer.go.
		{Name: "lost-ack", Check: checkTransfers, transfer: lostAck,
			Doc: "a committed transfer is there until the next call and then lost as a whole, row and both balances"},
		{Name: "reported-never-applied", Check: checkTransfers, transfer: reportedNeverApplied,
			Doc: "committed is answered and nothing is done"},
		{Name: "failed-but-applied", Check: checkTransfers, transfer: failedButApplied,
			Doc: "a transfer is applied and answered as failed"},
		{Name: "late-apply", transfer: lateApply,
			Doc: "unknown is answered and the transfer applied up to 64 calls later, at the latest before Settle returns; that is allowed and must be found valid"},
		// In the journal and in reading it: bugs_journal.go.
		{Name: "altered-row", Check: checkTransfers, transfer: alteredRow,
			Doc: "the row has another amount or another destination than the transfer"},
		{Name: "extra-row", Check: checkTransfers, transfer: extraRow,
			Doc: "a transfer that nobody asked for is done beside, with balances to match"},
		{Name: "truncated-read", Check: checkTransfers, read: truncatedRead,
			Doc: "a read ends early and without an error: the tail of the accounts (found by total) or of the journal is missing"},
	}
}
