package bugs

const (
	checkIsolation  = "isolation"
	checkDurability = "durability"
	checkPredicate  = "predicate"
)

// isolationBugs are all bugs of workload isolation, in the order of bankBugs.
func isolationBugs() []definition[isolationActions] {
	return []definition[isolationActions]{
		{Bug{Name: "duplicate-apply", Check: checkIsolation, Kinds: []string{"duplicate-elements"},
			Doc: "the appends of a transaction are applied twice"}, isolationActions{begin: (*transaction).appends, end: appendTwice}},
		{Bug{Name: "lost-update", Check: checkIsolation, Kinds: []string{"lost-update"},
			Doc: "a list or register that a transaction reads and writes is read as it was before the last transaction that did the same, whose update is overwritten"},
			isolationActions{begin: loseUpdate}},
		{Bug{Name: "lost-ack", Check: checkDurability, Kinds: []string{"lost-append", "lost-write"},
			Doc: "a committed transaction is there for up to eight more calls, and then lost with all that were committed since"},
			isolationActions{begin: (*transaction).anyWrite, end: loseSoon}},
		{Bug{Name: "reported-never-applied", Check: checkDurability, Kinds: []string{"lost-append", "lost-write"},
			Doc: "committed is answered and nothing stays"}, isolationActions{begin: (*transaction).anyWrite, end: loseWrites}},
		{Bug{Name: "failed-but-applied", Check: checkIsolation, Kinds: []string{"G1a"},
			Doc: "a transaction is applied and answered as failed"}, isolationActions{begin: (*transaction).anyWrite, end: denyCommit}},
		{Bug{Name: "late-apply",
			Doc: "unknown is answered and the transaction done up to 64 calls later, at the latest before Settle returns; that is allowed and must be found valid"},
			isolationActions{begin: (*transaction).always, instead: commitLater}},
		{Bug{Name: "extra-row", Check: checkIsolation, Kinds: []string{"garbage-read"},
			Doc: "an element that nobody asked for is appended beside"}, isolationActions{begin: appendBeside}},
		{Bug{Name: "truncated-read", Check: checkIsolation, Or: checkDurability,
			Kinds: []string{"internal", "G-single-item", "G-single-item-realtime", "G-nonadjacent-item-realtime", "G2-item"},
			Doc:   "a read ends early and without an error: a transaction does not get the last element of a list, or the tail of the lists is missing when the database is read back (found by durability)"},
			isolationActions{begin: cutList, truncates: true}},
		{Bug{Name: "dirty-read", Check: checkIsolation, Kinds: []string{"G1b"},
			Doc: "what another transaction wrote more than once is read as it was in the middle of it"}, isolationActions{begin: readMiddle}},
		{Bug{Name: "aborted-read", Check: checkIsolation, Kinds: []string{"G1a"},
			Doc: "a transaction is made to fail, and the next one that reads what it wrote sees it all the same"}, isolationActions{begin: (*transaction).remains, instead: abortTransaction}},
		{Bug{Name: "read-skew", Check: checkIsolation, Kinds: []string{"G-single-item"},
			Doc: "of what one transaction wrote, another sees only a part"}, isolationActions{begin: readSkewed}},
		{Bug{Name: "write-skew", Check: checkIsolation, Kinds: []string{"G2-item"},
			Doc: "a transaction reads an older state, as under snapshot isolation, and writes what nobody has written since (found by pairs as well)"},
			isolationActions{begin: writeSkewed}},
		{Bug{Name: "long-fork", Check: checkIsolation, Kinds: []string{"G-nonadjacent-item", "G-nonadjacent-item-realtime", "G2-item"},
			Doc: "two transactions are seen in one order by one reader and in the other by another"}, isolationActions{begin: forkLong}},
		{Bug{Name: "stale-read", Check: checkIsolation, Kinds: []string{"G-single-item-realtime", "G-nonadjacent-item-realtime"},
			Doc: "a transaction that only reads sees an older state, but none older than its session knows: serializable, not strictly so"},
			isolationActions{begin: readStale, lingers: true}},
		{Bug{Name: "session-rollback", Check: checkIsolation,
			Kinds: []string{"G-single-item-process", "G-nonadjacent-item-process"}, Model: "strong-session-serializable",
			Doc: "a transaction that only reads sees the state from before its own session's last commit (named a matter of real time where that is promised)"},
			isolationActions{begin: rollBackSession}},
		{Bug{Name: "split-brain", Check: checkIsolation, Kinds: []string{"incompatible-order"}, Passing: true,
			Doc: "an append reaches only one of two copies; every second session reads the other, and the first is read back; nobody may come to read what the other lacks"},
			isolationActions{begin: (*transaction).appendsBlindly, end: split}},
		{Bug{Name: "phantom", Check: checkPredicate, Kinds: []string{"phantom"},
			Doc: "a group that is counted twice is counted first as it was before its last change"}, isolationActions{begin: countPhantom}},
		{Bug{Name: "internal", Check: checkIsolation, Kinds: []string{"internal"},
			Doc: "a transaction does not see what it wrote itself"}, isolationActions{begin: forgetOwn}},
	}
}
