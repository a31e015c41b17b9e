package mem

// entry is one bug in the workloads that it can be in: the same fault of a
// database, told in the words of each.
type entry struct {
	name            string
	bank, isolation Bug
}

// table returns all bugs, by what they are faults of.
func table() []entry {
	var all []entry
	for _, part := range [][]entry{effectBugs(), answerBugs(), readingBugs(), concurrencyBugs()} {
		all = append(all, part...)
	}
	return all
}

// effectBugs are faults in what is done to the data: bugs_effect.go and
// isolation_effect.go.
func effectBugs() []entry {
	return []entry{
		{"torn-transfer", Bug{Check: checkTotal, transfer: tornTransfer,
			Doc: "the credit is lost, the debit and the row stay"}, Bug{}},
		{"partial-rollback", Bug{Check: checkAccounts, transfer: partialRollback, refused: true,
			Doc: "a transfer that is rejected for lack of funds, or made to fail, leaves the debit, the credit or the row behind"}, Bug{}},
		{"duplicate-apply", Bug{Check: checkTransfers, transfer: duplicateApply,
			Doc: "a transfer is done twice, or its row is entered twice: two rows of one id"},
			Bug{Check: checkIsolation, Kinds: []string{"duplicate-elements"}, strike: strikeTwice,
				Doc: "the appends of a transaction are applied twice"}},
		{"moved-twice", Bug{Check: checkAccounts, transfer: moveTwice, occasion: canMoveTwice,
			Doc: "a transfer has one row and changes both balances twice"}, Bug{}},
		{"lost-update", Bug{Check: checkOrder, Kinds: []string{"lost-update"}, transfer: lostUpdate, occasion: canOverwrite, looksBack: true,
			Doc: "the last update of one of the two accounts is overwritten by one that did not see it: its version is given again"},
			Bug{Check: checkIsolation, Kinds: []string{"lost-update"}, strike: strikeLostUpdate,
				Doc: "a list or register that a transaction reads and writes is read as it was before the last transaction that did the same, whose update is overwritten"}},
		{"negative-balance", Bug{Check: checkTotal, transfer: negativeBalance, refused: true, onlyRefused: true, Passing: true,
			Doc: "the debit is done without looking at the funds; it shows if an account that ran dry is still below zero at the end"}, Bug{}},
	}
}

// answerBugs are faults in what is answered: bugs_answer.go and
// isolation_answer.go.
func answerBugs() []entry {
	return []entry{
		{"lost-ack", Bug{Check: checkTransfers, transfer: lostAck,
			Doc: "a committed transfer is there until the next call and then lost as a whole, row and both balances"},
			Bug{Check: checkDurability, Kinds: []string{"lost-append", "lost-write"}, strike: strikeLostAck,
				Doc: "a committed transaction is there for up to eight more calls, and then lost with all that were committed since"}},
		{"reported-never-applied", Bug{Check: checkTransfers, transfer: reportedNeverApplied,
			Doc: "committed is answered and nothing is done"},
			Bug{Check: checkDurability, Kinds: []string{"lost-append", "lost-write"}, strike: strikeNeverApplied,
				Doc: "committed is answered and nothing is written"}},
		{"failed-but-applied", Bug{Check: checkTransfers, transfer: failedButApplied,
			Doc: "a transfer is applied and answered as failed"},
			Bug{Check: checkIsolation, Kinds: []string{"G1a"}, strike: strikeFailedButApplied,
				Doc: "a transaction is applied and answered as failed"}},
		{"late-apply", Bug{transfer: lateApply,
			Doc: "unknown is answered and the transfer applied up to 64 calls later, at the latest before Settle returns; that is allowed and must be found valid"},
			Bug{strike: strikeLate,
				Doc: "unknown is answered and the transaction done up to 64 calls later, at the latest before Settle returns; that is allowed and must be found valid"}},
	}
}

// readingBugs are rows that are altered or made up, and reads that end early:
// bugs_journal.go and isolation_answer.go.
func readingBugs() []entry {
	return []entry{
		{"altered-row", Bug{Check: checkTransfers, transfer: alteredRow,
			Doc: "the row has another amount or another destination than the transfer"}, Bug{}},
		{"extra-row", Bug{Check: checkTransfers, transfer: extraRow,
			Doc: "a transfer that nobody asked for is done beside, with balances to match"},
			Bug{Check: checkIsolation, Kinds: []string{"garbage-read"}, strike: strikeExtra,
				Doc: "an element that nobody asked for is appended beside"}},
		{"truncated-read", Bug{Check: checkTotal, Or: checkTransfers, read: truncatedRead,
			Doc: "a read ends early and without an error: the tail of the accounts (found by total) or of the journal (found by transfers) is missing"},
			Bug{Check: checkIsolation, Kinds: []string{"internal", "G-single-item", "G-single-item-realtime", "G-nonadjacent-item-realtime", "G2-item"},
				Or: checkDurability, strike: strikeShort, cut: cutRead,
				Doc: "a read ends early and without an error: a transaction does not get the last element of a list, or the tail of the lists is missing when the database is read back (found by durability)"}},
	}
}

// concurrencyBugs are faults in keeping transactions apart: bugs_audit.go,
// isolation_snapshot.go and isolation_effect.go.
func concurrencyBugs() []entry {
	return []entry{
		{"dirty-read", Bug{Check: checkSnapshots, Kinds: []string{"dirty-read", "read-skew", "audit-sum"},
			audit: auditInTheMiddle, total: totalInTheMiddle, looksBack: true,
			Doc: "an audit sees a transfer in the middle: the debit and not the credit, or of the source the new balance and not yet the new version"}, Bug{Check: checkIsolation, Kinds: []string{"G1b", "G1c"}, Passing: true, strike: strikeDirtyRead,
			Doc: "what others have not committed is read, in the middle of what they do if possible; that is no violation if they then commit just that, and before what the reader writes"}},
		{"aborted-read", Bug{Check: checkSnapshots, Kinds: []string{"dirty-read", "no-such-version", "read-skew", "audit-sum"},
			transfer: abort, audit: auditOfAborted, total: totalOfAborted,
			Doc: "a transfer is made to fail after its debit, and an audit sees the debit all the same"}, Bug{Check: checkIsolation, Kinds: []string{"G1a"}, strike: strikeAborted,
			Doc: "a transaction is made to fail, and the next one that reads what it wrote sees it all the same"}},
		{"read-skew", Bug{Check: checkSnapshots, Kinds: []string{"read-skew", "audit-sum"},
			audit: auditWithoutSnapshot, total: totalWithoutSnapshot, looksBack: true,
			Doc: "an audit reads some accounts before a transfer and some after it"}, Bug{Check: checkIsolation, Kinds: []string{"G-single-item"}, strike: strikeReadSkew,
			Doc: "of what one transaction wrote, another sees only a part"}},
		{"write-skew", Bug{}, Bug{Check: checkIsolation, Kinds: []string{"G2-item"}, strike: strikeWriteSkew,
			Doc: "a transaction reads an older state, as under snapshot isolation, and writes what nobody has written since (found by pairs as well)"}},
		{"long-fork", Bug{Check: checkSnapshots, Kinds: []string{"long-fork"}, audit: auditOfAFork, looksBack: true,
			Doc: "an audit sees a transfer that the audit before did not see, and does not see one that the audit before saw"}, Bug{Check: checkIsolation, Kinds: []string{"G-nonadjacent-item", "G-nonadjacent-item-realtime", "G2-item"}, strike: strikeLongFork,
			Doc: "two transactions are seen in one order by one reader and in the other by another"}},
		{"stale-read", Bug{Check: checkSnapshots, Kinds: []string{"stale-read"}, audit: auditOfThePast, looksBack: true,
			Doc: "an audit of some accounts sees an earlier state, in which a transfer is missing that had been acknowledged before it began"}, Bug{Check: checkIsolation, Kinds: []string{"G-single-item-realtime", "G-nonadjacent-item-realtime"}, strike: strikeStale,
			Doc: "a transaction that only reads sees an older state, but none older than its session knows: serializable, not strictly so"}},
		{"session-rollback", Bug{}, Bug{Check: checkIsolation,
			Kinds: []string{"G-single-item-process", "G-nonadjacent-item-process"}, Model: "strong-session-serializable", strike: strikeRollback,
			Doc: "a transaction that only reads sees the state from before its own session's last commit (told as a matter of real time where that is promised)"}},
		{"split-brain", Bug{Check: checkReplicas, transfer: splitBrain,
			Doc: "a committed transfer is on one of two members only; if it is not on the primary, it is lost as well (found by transfers)"}, Bug{Check: checkIsolation, Kinds: []string{"incompatible-order"}, Passing: true, strike: strikeSplit,
			Doc: "an append reaches only one of two copies; every second session reads the other, and the first is read back; nobody may come to read what the other lacks"}},
		{"phantom", Bug{}, Bug{Check: checkPredicate, Kinds: []string{"phantom"}, strike: strikePhantom,
			Doc: "a group that is counted twice is counted first as it was before its last change"}},
		{"internal", Bug{}, Bug{Check: checkIsolation, Kinds: []string{"internal"}, strike: strikeInternal,
			Doc: "a transaction does not see what it wrote itself"}},
	}
}
