package ledger

import (
	"maps"
	"math"
	"strings"
	"testing"

	"assay/check"
)

// An acknowledged balance is reported once each time it departs from the earlier ones and the
// journal.
func TestHowOftenAcknowledgedBalancesAreTold(t *testing.T) {
	for _, c := range []struct {
		off   [4]int64 // what is added to the acknowledged balances of versions 1 to 4
		found int64
	}{
		{[4]int64{0, 0, 0, 0}, 0},
		{[4]int64{7, 7, 7, 7}, 1},
		{[4]int64{7, 0, 0, 0}, 1},
		{[4]int64{7, 0, 7, 7}, 2},
		{[4]int64{7, 0, 0, 7}, 2},
		{[4]int64{7, 9, 7, 7}, 2},
		{[4]int64{7, 9, 0, 0}, 3},
		{[4]int64{0, 7, 9, 9}, 2},
	} {
		var s testHistory
		for i, off := range c.off {
			s = append(s, give(1, int64(i)+1, 2, int64(i)+1, 0, 9).but(func(d *testOp) { d.told = map[int]int64{0: off} }))
		}
		if got := s.run().results(t)["order"]; got.Found != c.found || c.found > 0 && !has(got, KindAcknowledgedBalance) {
			t.Errorf("%v: %d found, want %d: %v", c.off, got.Found, c.found, got.Evidence)
		}
	}
}

func TestAcknowledgedBalancesBesideOtherWrongs(t *testing.T) {
	gap := func(d *testOp) { d.absent = true }
	off := func(place int, by int64) func(*testOp) { return func(d *testOp) { d.told = map[int]int64{place: by} } }
	for _, c := range []struct {
		name        string
		testHistory testHistory
		whole       bool
		convicted   string
	}{
		// 0 is the sum of both accounts' additions.
		{"as another account would have it", testHistory{give(1, 1, 2, 1, 0, 9).but(off(2, -1005))}, true, "order:acknowledged-balance"},
		{"a gap in which nothing changed, then a wrong one",
			testHistory{give(1, 1, 2, 1, 0, 9).but(gap), give(3, 1, 1, 2, 0, 9).but(gap), give(1, 3, 4, 1, 0, 9), give(1, 4, 5, 1, 0, 9).but(off(0, 5))},
			false, "order:acknowledged-balance"},
		{"a gap in which nothing changed",
			testHistory{give(1, 1, 2, 1, 0, 9).but(gap), give(3, 1, 1, 2, 0, 9).but(gap), give(1, 3, 4, 1, 0, 9), give(1, 4, 5, 1, 0, 9)},
			false, ""},
		{"what a row without a place took", testHistory{give(1, 1, 3, 1, 0, 9), give(1, 50, 3, 2, 0, 9).but(unheard), give(1, 2, 3, 3, 0, 9).but(off(0, -5))},
			true, "order:impossible-version"},
		{"what no row took", testHistory{give(1, 1, 3, 1, 0, 9), give(1, 3, 3, 3, 0, 9).but(unheard), give(1, 2, 3, 2, 0, 9).but(off(0, -5))},
			true, "order:acknowledged-balance"},
	} {
		r := c.testHistory.run()
		if !c.whole {
			r = r.without(Journal)
		}
		results := r.results(t)
		maps.DeleteFunc(results, func(name string, _ check.Result) bool { return name != "order" && name != "snapshots" })
		if got := convictions(results); got != c.convicted {
			t.Errorf("%s: convicted of %q, want %q: %v", c.name, got, c.convicted, results["order"])
		}
	}
}

func TestFieldsOfFullAudits(t *testing.T) {
	pay := give(1, 1, 2, 1, 10, 20)
	for name, c := range map[string]struct {
		audit testOp
		want  map[string]int64
	}{
		"sum":    {readAll(12, 15, 6, 5993, 2), map[string]int64{"accounts": 6, "balances": 5993, "versions": 2, "off": -7}},
		"far":    {readAll(12, 15, 6, math.MinInt64, 2), map[string]int64{"accounts": 6, "balances": math.MinInt64, "versions": 2}},
		"stale":  {readAll(30, 40, 6, 6000, 0), map[string]int64{"accounts": 6, "balances": 6000, "versions": 0, "saw": 0, "acknowledged": 1}},
		"future": {readAll(1, 5, 6, 6000, 2), map[string]int64{"accounts": 6, "balances": 6000, "versions": 2, "saw": 1, "started": 0}},
	} {
		got := testHistory{pay, c.audit}.run().results(t)["snapshots"].Evidence
		c.want["client"], c.want["operation"] = 1, 0
		if len(got) != 1 || !maps.Equal(got[0].Fields, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestFieldsOfAnAlteredRow(t *testing.T) {
	r := testHistory{give(1, 1, 2, 1, 0, 9)}.run()
	r.rows[0].Amount, r.rows[0].Destination = 6, 3
	got := r.results(t)["transfers"].Evidence
	want := map[string]int64{"id": 0, "source": 1, "destination": 3, "amount": 6, "source_version": 1, "destination_version": 1,
		"expected_source": 1, "expected_destination": 2, "expected_amount": 5}
	if len(got) < 1 || got[0].Kind != kindAltered || !maps.Equal(got[0].Fields, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Operations of another kind are no audits. The first audit that cannot be understood is named. An
// audit whose end precedes its start may have ended at any time.
func TestOddAudits(t *testing.T) {
	pay := give(1, 1, 2, 1, 4, 9)
	r := testHistory{pay, readAll(10, 20, 5, 0, 1), read(10, 20, 1, 1)}.run()
	r.ops[1].Kind = 77
	if got := r.results(t)["snapshots"]; got.Verdict.String() != "valid" || got.Found != 0 {
		t.Errorf("another kind: %v", got)
	}
	short := func(d *testOp) { d.reads = d.reads[:2] }
	for _, malformed := range []testHistory{{pay, readAll(10, 20, 6, 6000, 2).but(short), readAll(10, 20, 6, 6000, 2).but(short)}, {pay, read(10, 20), read(10, 20)}} {
		if got := malformed.run().results(t)["snapshots"]; got.Verdict.String() != "unknown" || !strings.Contains(got.Detail, "audit 0 of client 1 has") {
			t.Errorf("malformed: %v", got)
		}
	}
	if got := convictions(testHistory{pay, read(1, 3, 1, 1)}.run().results(t)); got != "snapshots:future-read" {
		t.Errorf("it ended too early: %q", got)
	}
	odd := testHistory{pay, read(5, 3, 1, 1)}.run()
	if got := convictions(odd.results(t)); got != "" {
		t.Errorf("it ended before it began: %q", got)
	}
}

func TestWordsOfALongFork(t *testing.T) {
	s := testHistory{give(1, 1, 2, 1, 0, 99), give(3, 1, 4, 1, 0, 99), read(0, 99, 1, 1, 3, 0), read(0, 99, 1, 0, 3, 1)}
	got := s.run().results(t)["snapshots"].Evidence
	if len(got) != 1 || got[0].Kind != KindLongFork || !strings.Contains(got[0].Text, "at version 0 and did not see what audit 0 of client") ||
		!strings.HasSuffix(got[0].Text, "saw at version 1") || got[0].Cycle.Steps[0].Kind != "rw" {
		t.Errorf("%v", got)
	}
}
