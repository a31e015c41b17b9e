package bugs

// Names of the checks, as in a result.
const (
	checkTotal     = "total"
	checkAccounts  = "accounts"
	checkTransfers = "transfers"
	checkOrder     = "order"
	checkSnapshots = "snapshots"
	checkReplicas  = "replicas"
)

// bankBugs are all bugs of the bank: first those in what is done, then those in
// what is answered, in rows and in reading, and in keeping transactions apart.
func bankBugs() []definition[bankActions] {
	return []definition[bankActions]{
		{Bug{Name: "torn-transfer", Check: checkTotal,
			Doc: "the credit is lost, the debit and the row stay"}, bankActions{after: tearTransfer}},
		{Bug{Name: "partial-rollback", Check: checkAccounts,
			Doc: "a transfer that is rejected for lack of funds, or made to fail, leaves the debit, the credit or the row behind"},
			bankActions{after: rollBackPartially, refused: true}},
		{Bug{Name: "duplicate-apply", Check: checkTransfers,
			Doc: "a transfer is done twice, or its row is entered twice: two rows of one id"}, bankActions{after: applyTwice}},
		{Bug{Name: "moved-twice", Check: checkAccounts,
			Doc: "a transfer has one row and changes both balances twice"}, bankActions{after: moveTwice, occasion: canMoveTwice}},
		{Bug{Name: "lost-update", Check: checkOrder, Kinds: []string{"lost-update"},
			Doc: "the last update of one of the two accounts is overwritten by one that did not see it: its version is given again"},
			bankActions{after: overwrite, occasion: canOverwrite}},
		{Bug{Name: "negative-balance", Check: checkTotal, Passing: true,
			Doc: "the debit is done without looking at the funds; it shows if an account that ran dry is still below zero at the end"},
			bankActions{after: overdraw, refused: true, onlyRefused: true}},
		{Bug{Name: "lost-ack", Check: checkTransfers,
			Doc: "a committed transfer is there until the next call and then lost as a whole, row and both balances"}, bankActions{after: loseNext}},
		{Bug{Name: "reported-never-applied", Check: checkTransfers,
			Doc: "committed is answered and nothing stays"}, bankActions{after: loseNow}},
		{Bug{Name: "failed-but-applied", Check: checkTransfers,
			Doc: "a transfer is applied and answered as failed"}, bankActions{after: denyApplied}},
		{Bug{Name: "late-apply",
			Doc: "unknown is answered and the transfer applied up to 64 calls later, at the latest before Settle returns; that is allowed and must be found valid"},
			bankActions{instead: applyLater}},
		{Bug{Name: "altered-row", Check: checkTransfers,
			Doc: "the row has another amount or another destination than the transfer"}, bankActions{after: alterRow}},
		{Bug{Name: "extra-row", Check: checkTransfers,
			Doc: "a transfer that nobody asked for is done beside, with balances to match"}, bankActions{after: addTransfer}},
		{Bug{Name: "truncated-read", Check: checkTotal, Or: checkTransfers,
			Doc: "a read ends early and without an error: the tail of the accounts (found by total) or of the journal (found by transfers) is missing"},
			bankActions{truncates: true}},
		{Bug{Name: "dirty-read", Check: checkSnapshots, Kinds: []string{"dirty-read", "read-skew", "audit-sum"},
			Doc: "an audit sees a transfer in the middle: the debit and not the credit, or of the source the new balance and not yet the new version"},
			bankActions{audit: auditInTheMiddle, total: totalInTheMiddle}},
		{Bug{Name: "aborted-read", Check: checkSnapshots, Kinds: []string{"dirty-read", "no-such-version", "read-skew", "audit-sum"},
			Doc: "a transfer is made to fail after its debit, and an audit sees the debit all the same"},
			bankActions{instead: abort, audit: auditOfAborted, total: totalOfAborted}},
		{Bug{Name: "read-skew", Check: checkSnapshots, Kinds: []string{"read-skew", "audit-sum"},
			Doc: "an audit reads some accounts before a transfer and some after it"},
			bankActions{audit: auditWithoutSnapshot, total: totalWithoutSnapshot}},
		{Bug{Name: "long-fork", Check: checkSnapshots, Kinds: []string{"long-fork"},
			Doc: "an audit sees a transfer that the audit before did not see, and does not see one that the audit before saw"},
			bankActions{audit: auditOfAFork}},
		{Bug{Name: "stale-read", Check: checkSnapshots, Kinds: []string{"stale-read"},
			Doc: "an audit of some accounts sees an earlier state, in which a transfer is missing that had been acknowledged before it began"},
			bankActions{audit: auditOfThePast}},
		{Bug{Name: "split-brain", Check: checkReplicas,
			Doc: "a committed transfer is on the primary only or on the other members only; if it is not on the primary, it is lost as well (found by transfers)"},
			bankActions{after: splitMembers}},
	}
}
