package ledger

import (
	"testing"

	"assay/check"
)

func (s testHistory) limited(t *testing.T, steps, looks int64) (order, snapshots check.Result) {
	t.Helper()
	j := s.run().judge(t)
	c := newVersionOrder(j, newFindings(orderKinds))
	c.steps, c.visits = steps, looks
	a := newAuditCheck(c, newFindings(snapshotKinds))
	j.orderResult(&order, c.found, c.judge(a), "")
	j.snapshotsResult(&snapshots, a.found, a, "")
	return order, snapshots
}

// After a search that gave up, for cycles of transfers or of audits, snapshots is not valid.
func TestSnapshotsAfterASearchThatWasGivenUp(t *testing.T) {
	const reason = "the transfers have no order that audits could be compared with"
	knot := testHistory{give(1, 1, 2, 2, 0, 9), give(1, 2, 2, 1, 0, 9), read(5, 9, 5, 0)}
	fork := testHistory{give(1, 1, 2, 1, 0, 99), give(3, 1, 4, 1, 0, 99), read(0, 99, 1, 1, 3, 0), read(0, 99, 2, 0, 4, 1)}
	for name, s := range map[string]testHistory{"transfers": knot, "audits": fork} {
		if _, r := s.limited(t, 1, maxSortVisits); r.Verdict != check.Unknown || r.Detail != reason || r.Found != 0 {
			t.Errorf("%s: %v: %s", name, r.Verdict, r.Detail)
		}
	}
	if order, r := knot.limited(t, 100, maxSortVisits); order.Found != 1 || r.Verdict != check.Valid {
		t.Errorf("with time enough: %v, %v", order, r)
	}
	if _, r := fork.limited(t, 100, maxSortVisits); r.Verdict != check.Violated || !has(r, KindLongFork) {
		t.Errorf("with time enough: %v", r)
	}
}

// Audits are compared with an order without cycles, so a cycle of transfers is not blamed on them.
func TestAuditsAreNotBlamedForTheTransfers(t *testing.T) {
	for _, knot := range []bool{true, false} {
		s := testHistory{give(1, 1, 2, 2, 0, 9), give(1, 2, 2, 1, 0, 9), read(5, 9, 1, 0)}
		if !knot {
			s[1].versions, s[0].versions = [2]int64{1, 1}, [2]int64{2, 2}
		}
		c := newVersionOrder(s.run().judge(t), newFindings(orderKinds))
		a := newAuditCheck(c, newFindings(snapshotKinds))
		all := newTopologicalSort(c, a)
		all.run()
		if all.gaveUp != knot || a.found.String() != "" {
			t.Errorf("knot %v: given up is %v: %v", knot, all.gaveUp, a.found)
		}
	}
}

// The search for short cycles returns its unused visits, and reports a longer cycle at its limit.
func TestTheSearchForShortCyclesIsBounded(t *testing.T) {
	// 2 precedes 1, 3 precedes 2, and 1 precedes 3; but 0 and 3 are a shorter cycle.
	s := testHistory{give(1, 2, 2, 2, 0, 9), give(1, 1, 5, 2, 0, 9), give(5, 1, 2, 3, 0, 9), give(2, 1, 1, 3, 0, 9)}
	steps := func(looks int64) (told, left int64) {
		c := newVersionOrder(s.run().judge(t), newFindings(orderKinds))
		c.visits = looks
		transfers := newTopologicalSort(c, nil)
		transfers.run()
		var r check.Result
		c.found.AddTo(&r)
		if len(r.Evidence) == 0 {
			t.Fatalf("%v", r)
		}
		return r.Evidence[0].Fields["steps"], transfers.visits
	}
	if told, left := steps(maxSortVisits); told != 2 || left >= maxSortVisits || left < maxSortVisits-100 {
		t.Errorf("%d steps, %d looks left of %d", told, left, int64(maxSortVisits))
	}
	if told, left := steps(1); told != 3 || left != 0 {
		t.Errorf("%d steps, %d looks left of 1", told, left)
	}
	// A ring longer than a search may reach.
	ring := func(length node) []step {
		return search(0, 0, func(n node, visit func(step) bool) { visit(step{(n + 1) % length, n, n%2 + 1}) })
	}
	if got := ring(100); len(got) != 100 || got[0].from != 0 || got[99].to != 0 {
		t.Errorf("%d steps of 100", len(got))
	}
	if got := ring(maxSearchNodes); got != nil {
		t.Errorf("%d steps found", len(got))
	}
	if got := ring(maxSearchNodes - 1); len(got) != maxSearchNodes-1 {
		t.Errorf("%d steps of %d", len(got), maxSearchNodes-1)
	}
}

// An incomplete journal has room for versions of missing rows, but not for any number of them.
func TestRoomForVersions(t *testing.T) {
	for _, c := range []struct {
		version int64
		whole   bool
		places  int
	}{
		{15, false, 15 + 1}, // 16 for one row
		{16, false, 2 + 1},
		{1 << 31, false, 2 + 1},
		{15, true, 2 + 1},
		{1, true, 1 + 1},
	} {
		r := testHistory{give(1, c.version, 2, 1, 0, 9)}.run()
		if !c.whole {
			r = r.without(Journal)
		}
		found := newFindings(orderKinds)
		if chains := newVersionOrder(r.judge(t), found); len(chains.slots) != c.places {
			t.Errorf("version %d, whole %v: %d places, want %d", c.version, c.whole, len(chains.slots), c.places)
		}
		if told := found.String(); (told != "") != (c.whole && c.version > 1) {
			t.Errorf("version %d, whole %v: %s", c.version, c.whole, told)
		}
	}
}
