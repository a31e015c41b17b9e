package interleaving

import "assay/check/cycle"

// Scripts returns Hermitage's tests, in its order. The weakest models that forbid
// each are Adya's (PhD thesis, MIT 1999) and, of OTV, those of Bailis et al.,
// "Highly Available Transactions", VLDB 2014. What needs a predicate is not
// forbidden by repeatable read (PL-2.99), which speaks of items alone.
func Scripts() []Script {
	return append(append(dirty(), preceders()...), append(skews(), antiDependencies()...)...)
}

// dirty are anomalies of transactions that have not committed yet.
func dirty() []Script {
	committed := []cycle.Model{cycle.ReadCommitted}
	return []Script{
		{Anomaly: "G0", Title: "dirty write", forbid: []cycle.Model{cycle.ReadUncommitted},
			steps: []step{write(t1, 1, 11), write(t2, 1, 12), write(t1, 2, 21), commit(t1), write(t2, 2, 22), commit(t2)},
			shown: func(o *observation) bool {
				return o.have(t1, t2) && (o.left(1) == 11 && o.left(2) == 22 || o.left(1) == 12 && o.left(2) == 21)
			}},
		{Anomaly: "G1a", Title: "aborted read", forbid: committed,
			steps: []step{write(t1, 1, 101), readAll(t2), abort(t1), readAll(t2), commit(t2)},
			shown: func(o *observation) bool {
				return o.have(t2) && (o.saw(t2, 0, 1) == 101 || o.saw(t2, 1, 1) == 101)
			}},
		{Anomaly: "G1b", Title: "intermediate read", forbid: committed,
			steps: []step{write(t1, 1, 101), readAll(t2), write(t1, 1, 11), commit(t1), readAll(t2), commit(t2)},
			shown: func(o *observation) bool {
				return o.have(t1, t2) && (o.saw(t2, 0, 1) == 101 || o.saw(t2, 1, 1) == 101)
			}},
		{Anomaly: "G1c", Title: "circular information flow", forbid: committed,
			steps: []step{write(t1, 1, 11), write(t2, 2, 22), read(t1, 2), read(t2, 1), commit(t1), commit(t2)},
			shown: func(o *observation) bool { return o.have(t1, t2) && o.saw(t1, 0, 2) == 22 && o.saw(t2, 0, 1) == 11 }},
		{Anomaly: "OTV", Title: "observed transaction vanishes", forbid: []cycle.Model{cycle.MonotonicAtomicView, cycle.MonotonicView},
			steps: []step{write(t1, 1, 11), write(t1, 2, 19), write(t2, 1, 12), commit(t1), read(t3, 1), read(t3, 2),
				write(t2, 2, 18), read(t3, 2), commit(t2), read(t3, 2), read(t3, 1), commit(t3)},
			shown: func(o *observation) bool {
				seen := false // T2, of which a later read shows what was before
				for i, id := range []int64{1, 2, 2, 2, 1} {
					switch o.saw(t3, i, id) {
					case 12, 18:
						seen = true
					case 11, 19:
						if seen {
							return o.have(t1, t2, t3)
						}
					}
				}
				return false
			}},
	}
}

// preceders are anomalies of a predicate that is evaluated on several states.
func preceders() []Script {
	view := []cycle.Model{cycle.ConsistentView}
	return []Script{
		{Anomaly: "PMP", Title: "predicate-many-preceders, by a read", forbid: view,
			steps: []step{readEqual(t1, 30), insert(t2, 3, 30), commit(t2), readMultiple(t1, 3), commit(t1)},
			shown: func(o *observation) bool {
				return o.have(t1, t2) && !has(o.found(t1, 0), 30) && has(o.found(t1, 1), 30)
			}},
		{Anomaly: "PMP-write", Title: "predicate-many-preceders, by a write", forbid: view,
			steps: []step{addAll(t1, 10), readEqual(t2, 20), deleteEqual(t2, 20), commit(t1), readEqual(t2, 20), commit(t2)},
			// What T2 deletes is what it read: row 2 before T1, row 1 after it.
			shown: func(o *observation) bool {
				before := o.saw(t2, 0, 2) == 20 && o.left(1) == 20 && o.left(2) == 0
				after := o.saw(t2, 0, 1) == 20 && o.left(1) == 0 && o.left(2) == 30
				return o.have(t1, t2) && !before && !after
			}},
	}
}

// skews are lost updates and reads of two states.
func skews() []Script {
	view := []cycle.Model{cycle.ConsistentView}
	return []Script{
		{Anomaly: "P4", Title: "lost update", forbid: []cycle.Model{cycle.CursorStability, cycle.UpdateAtomic},
			steps: []step{read(t1, 1), read(t2, 1), write(t1, 1, 11), write(t2, 1, 12), commit(t1), commit(t2)},
			shown: func(o *observation) bool { return o.have(t1, t2) && o.saw(t1, 0, 1) == 10 && o.saw(t2, 0, 1) == 10 }},
		{Anomaly: "G-single", Title: "read skew", forbid: []cycle.Model{cycle.ConsistentView, cycle.RepeatableRead},
			steps: []step{read(t1, 1), read(t2, 1), read(t2, 2), write(t2, 1, 12), write(t2, 2, 18), commit(t2), read(t1, 2), commit(t1)},
			shown: func(o *observation) bool { return o.have(t1, t2) && o.saw(t1, 0, 1) == 10 && o.saw(t1, 1, 2) == 18 }},
		{Anomaly: "G-single-predicate", Title: "read skew, by predicates", forbid: view,
			steps: []step{readMultiple(t1, 5), write(t2, 1, 12), commit(t2), readMultiple(t1, 3), commit(t1)},
			shown: func(o *observation) bool { return o.have(t1, t2) && o.saw(t1, 0, 1) == 10 && o.saw(t1, 1, 1) == 12 }},
		{Anomaly: "G-single-write", Title: "read skew, by the predicate of a write", forbid: view,
			steps: []step{read(t1, 1), readAll(t2), write(t2, 1, 12), write(t2, 2, 18), commit(t2), deleteEqual(t1, 20), read(t1, 2), commit(t1)},
			// What T1 read is before T2, so that its delete would have had a row.
			shown: func(o *observation) bool { return o.have(t1, t2) && o.saw(t1, 0, 1) == 10 && o.left(2) == 18 }},
	}
}

// antiDependencies are cycles of two or more anti-dependencies.
func antiDependencies() []Script {
	return []Script{
		{Anomaly: "G2-item", Title: "write skew", forbid: []cycle.Model{cycle.RepeatableRead, cycle.UpdateSerializable},
			steps: []step{readAll(t1), readAll(t2), write(t1, 1, 11), write(t2, 2, 21), commit(t1), commit(t2)},
			shown: func(o *observation) bool { return o.have(t1, t2) && o.saw(t1, 0, 2) == 20 && o.saw(t2, 0, 1) == 10 }},
		{Anomaly: "G2", Title: "write skew, by predicates", forbid: []cycle.Model{cycle.UpdateSerializable, cycle.Serializable},
			steps: []step{readMultiple(t1, 3), readMultiple(t2, 3), insert(t1, 3, 30), insert(t2, 4, 42), commit(t1), commit(t2)},
			shown: func(o *observation) bool {
				return o.have(t1, t2) && !has(o.found(t1, 0), 42) && !has(o.found(t2, 0), 30)
			}},
		{Anomaly: "G2-two-edges", Title: "write skew that a third transaction sees", forbid: []cycle.Model{cycle.Serializable},
			steps: []step{readAll(t1), write(t2, 2, 25), commit(t2), readAll(t3), commit(t3), write(t1, 1, 0), commit(t1)},
			shown: func(o *observation) bool {
				return o.have(t1, t2, t3) && o.saw(t1, 0, 2) == 20 && o.saw(t3, 0, 1) == 10 && o.saw(t3, 0, 2) == 25
			}},
	}
}
