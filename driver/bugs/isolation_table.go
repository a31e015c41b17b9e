package bugs

import "slices"

const (
	checkIsolation  = "isolation"
	checkDurability = "durability"
	checkPredicate  = "predicate"
	checkPairs      = "pairs"
)

// isolationBugs are all bugs of workload isolation, in the order of bankBugs.
func isolationBugs() []definition[isolationActions] {
	items := []string{"append", "register"}
	blind := []string{"register", "all"} // where a write can be overwritten before anybody reads it
	bug := func(b Bug, tests []string, begin func(*transaction) bool) definition[isolationActions] {
		b.Tests = tests
		return definition[isolationActions]{b, isolationActions{begin: begin, truncates: b.Name == "truncated-read", lingers: slices.Contains([]string{"stale-read", "duplicate-apply", "truncated-read"}, b.Name)}}
	}
	return []definition[isolationActions]{
		bug(Bug{Name: "duplicate-apply", Check: checkIsolation, Kinds: []string{"duplicate-elements", "lost-update", "G-single-item-realtime", "G-single-item-process"},
			Doc: "the appends of a transaction are applied twice; a register is written again by the write before the last"}, items, applyWritesTwice),
		bug(Bug{Name: "lost-update", Check: checkIsolation, Kinds: []string{"lost-update"},
			Doc: "a list or register that a transaction reads and writes is read as it was before the last transaction that did the same, whose update is overwritten"},
			items, loseUpdate),
		bug(Bug{Name: "lost-ack", Check: checkDurability, Or: checkIsolation, PassingIn: blind,
			Kinds: []string{"lost-append", "lost-write", "lost-update", "G-single-item-realtime"},
			Doc:   "a committed transaction is there for up to eight more calls, and then lost with all that were committed since"}, items, loseSoon),
		bug(Bug{Name: "reported-never-applied", Check: checkDurability, Or: checkIsolation, PassingIn: blind,
			Kinds: []string{"lost-append", "lost-write", "lost-update", "G-single-item-realtime"},
			Doc:   "committed is answered and nothing stays"}, items, loseWrites),
		bug(Bug{Name: "failed-but-applied", Check: checkIsolation, PassingIn: blind, Kinds: []string{"G1a"},
			Doc: "a transaction is applied and answered as failed"}, items, denyCommit),
		bug(Bug{Name: "late-apply",
			Doc: "unknown is answered and the transaction done up to 64 calls later, at the latest before Settle returns; that is allowed and must be found valid"},
			[]string{"append", "register", "predicate", "pairs"}, commitLater),
		bug(Bug{Name: "extra-row", Check: checkIsolation, Kinds: []string{"garbage-read"},
			Doc: "an element that nobody asked for is appended beside, or a value that nobody wrote is in a register"}, items, addWrite),
		bug(Bug{Name: "truncated-read", Check: checkIsolation, Or: checkDurability,
			Kinds: []string{"internal", "G-single-item", "G-single-item-realtime", "G-nonadjacent-item-realtime", "G2-item", "lost-update"},
			Doc:   "a read ends early and without an error: a transaction does not get the last element of a list, or does not find a register, or the tail of them is missing when the database is read back (found by durability)"},
			items, cutRead),
		bug(Bug{Name: "dirty-read", Check: checkIsolation, Kinds: []string{"G1b"},
			Doc: "what another transaction wrote more than once is read as it was in the middle of it"}, items, readMiddle),
		bug(Bug{Name: "aborted-read", Check: checkIsolation, Kinds: []string{"G1a"},
			Doc: "a transaction is made to fail, and the next one that reads what it wrote sees it all the same"}, items, abortTransaction),
		bug(Bug{Name: "read-skew", Check: checkIsolation, Kinds: []string{"G-single-item"},
			Doc: "of what one transaction wrote, another sees only a part"}, items, readSkewed),
		bug(Bug{Name: "write-skew", Check: checkIsolation, Or: checkPairs, Kinds: []string{"G2-item", "write-skew"}, PassingIn: []string{"pairs", "all"},
			Doc: "a transaction reads an older state, as under snapshot isolation, and writes what nobody has written since (found by pairs as well)"},
			[]string{"append", "register", "pairs"}, writeSkewed),
		bug(Bug{Name: "long-fork", Check: checkIsolation, Kinds: []string{"G-nonadjacent-item", "G-nonadjacent-item-realtime", "G2-item", "long-fork"},
			Doc: "two transactions are seen in one order by one reader and in the other by another"}, items, forkLong),
		bug(Bug{Name: "stale-read", Check: checkIsolation, Kinds: []string{"G-single-item-realtime", "G-nonadjacent-item-realtime"},
			Doc: "a transaction that only reads sees an older state, but none older than its session knows: serializable, not strictly so"},
			items, readStale),
		bug(Bug{Name: "session-rollback", Check: checkIsolation,
			Kinds: []string{"G-single-item-process", "G-nonadjacent-item-process"}, Model: "strong-session-serializable",
			Doc: "a transaction that only reads sees the state from before its own session's last commit (named a matter of real time where that is promised)"},
			items, rollBackSession),
		bug(Bug{Name: "split-brain", Check: checkIsolation, Or: checkDurability, Passing: true,
			Kinds: []string{"incompatible-order", "lost-update", "G-single-item", "G-single-item-realtime", "G2-item"},
			Doc:   "an append or a write reaches only one of two copies; every second session reads the other, and the first is read back; nobody may come to read what the other lacks"},
			items, splitBrain),
		bug(Bug{Name: "phantom", Check: checkPredicate, Kinds: []string{"phantom"},
			Doc: "a group that is counted twice is counted first as it was before its last change"}, []string{"predicate"}, countPhantom),
		bug(Bug{Name: "predicate-skew", Check: checkPredicate, Kinds: []string{"G2"},
			Doc: "a transaction counts groups as they were before the last one that counted and inserted into the same as it does, as under snapshot isolation"},
			[]string{"predicate"}, countSkewed),
		bug(Bug{Name: "internal", Check: checkIsolation, Kinds: []string{"internal"},
			Doc: "a transaction does not see what it wrote itself"}, items, forgetOwn),
	}
}
