package isolation

import "assay/store/bug"

// Bugs are the faults that the checks must find.
func Bugs() []bug.Bug {
	const isolation, durability, predicate, pairs = "isolation", "durability", "predicate", "pairs"
	items, tables := []string{"append", "register"}, []string{"list", "register"}
	blind := []string{"register", "all"} // where a write can be overwritten before anybody reads it
	lost := []string{"lost-append", "lost-write", "lost-update", "G-single-item-realtime"}
	act := func(does bug.Does) bug.Act { return bug.Act{Does: does, Tables: tables} }
	late := bug.Late("transaction done")
	late.Tests = []string{"append", "register", "predicate", "pairs"}
	return []bug.Bug{
		{Name: "duplicate-apply", Check: isolation, Kinds: []string{"duplicate-elements", "lost-update", "G-single-item-realtime", "G-single-item-process"}, Tests: items, PassingIn: blind,
			Doc: "the appends of a transaction are applied twice; a register is written again by the write before the last", Act: act(bug.Doubles)},
		{Name: "lost-update", Check: isolation, Kinds: []string{"lost-update"}, Tests: items,
			Doc: "a list or register that a transaction reads and writes is read as it was before the last transaction that did the same, whose update is overwritten", Act: act(bug.Overwrites)},
		{Name: "lost-ack", Check: durability, Or: isolation, Kinds: lost, Tests: items, PassingIn: blind,
			Doc: "committed is answered and nothing stays", Act: act(bug.Loses)},
		{Name: "failed-but-applied", Check: isolation, Kinds: []string{"G1a"}, Tests: items, PassingIn: blind,
			Doc: "a transaction is applied and answered as failed", Act: act(bug.Denies)},
		late,
		{Name: "extra-row", Check: isolation, Kinds: []string{"garbage-read"}, Tests: items,
			Doc: "a list that is read has an element that nobody appended, or a register a value that nobody wrote",
			Act: bug.Act{Does: bug.Misanswers, Tables: tables, Columns: []string{"elements", "value"}}},
		{Name: "dirty-read", Check: isolation, Kinds: []string{"G1b"}, Tests: items,
			Doc: "what another transaction wrote more than once is read as it was in the middle of it", Act: act(bug.ReadsMiddle)},
		{Name: "read-skew", Check: isolation, Kinds: []string{"G-single-item"}, Tests: items,
			Doc: "of what one transaction wrote, another sees only a part", Act: act(bug.ReadsSkewed)},
		{Name: "write-skew", Check: isolation, Or: pairs, Kinds: []string{"G2-item", "write-skew"}, Tests: []string{"append", "register", "pairs"}, PassingIn: []string{"pairs", "all"},
			Doc: "a transaction reads an older state, as under snapshot isolation, and writes what nobody has written since (found by pairs as well)",
			Act: bug.Act{Does: bug.ReadsCrossed, Tables: []string{"list", "register", "pair"}}},
		{Name: "long-fork", Check: isolation, Kinds: []string{"G-nonadjacent-item", "G-nonadjacent-item-realtime", "G2-item", "long-fork"}, Tests: items,
			Doc: "two transactions are seen in one order by one reader and in the other by another", Act: act(bug.ReadsForked)},
		{Name: "stale-read", Check: isolation, Kinds: []string{"G-single-item-realtime", "G-nonadjacent-item-realtime"}, Tests: items,
			Doc: "a transaction that only reads sees an older state, but none older than its session knows: serializable, not strictly so", Act: act(bug.ReadsStale)},
		{Name: "session-rollback", Check: isolation, Model: "strong-session-serializable", Tests: items,
			Kinds: []string{"G-single-item-process", "G-nonadjacent-item-process", "G-single-item-realtime", "G-nonadjacent-item-realtime"},
			Doc:   "a transaction that only reads sees the state from before its own session's last commit (named a matter of real time where that is promised)", Act: act(bug.ReadsBeforeOwn)},
		{Name: "phantom", Check: predicate, Kinds: []string{"phantom"}, Tests: []string{"predicate"},
			Doc: "a group that is counted twice is counted the second time as it was before its last change", Act: bug.Act{Does: bug.ReadsPhantom, Tables: []string{"member"}}},
		{Name: "predicate-skew", Check: predicate, Kinds: []string{"G2"}, Tests: []string{"predicate"},
			Doc: "a transaction counts groups as they were before the last one that counted and inserted into the same as it does, as under snapshot isolation",
			Act: bug.Act{Does: bug.ReadsCrossed, Tables: []string{"member"}}},
		{Name: "internal", Check: isolation, Kinds: []string{"own-write-not-seen"}, Tests: items,
			Doc: "a transaction does not see what it wrote itself", Act: act(bug.ReadsWithoutOwn)},
	}
}
