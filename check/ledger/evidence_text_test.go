package ledger

import (
	"fmt"
	"maps"
	"testing"

	"assay/check"
)

func TestDetailsCountWhatWasJudged(t *testing.T) {
	s := testHistory{give(1, 1, 2, 1, 0, 9), give(1, 2, 2, 2, 0, 9).but(unheard), give(3, 1, 4, 1, 0, 9).but(unknown),
		read(10, 20, 1, 2, 2, 2), readAll(10, 20, 6, 6000, 6)}
	results := s.run().results(t)
	for name, want := range map[string]string{
		"order":     "3 journal rows gave each account the versions from 1 on once each, in one order for all accounts that agrees with real time; 2 acknowledged balances follow from it",
		"snapshots": "1 audit of 2 accounts and 1 of all accounts each saw one state of the order, both sides or neither of every transfer, and all that had been acknowledged",
	} {
		if got := results[name]; got.Verdict != check.Valid || got.Detail != want {
			t.Errorf("%s is %v: %s, want %s", name, got.Verdict, got.Detail, want)
		}
	}
}

func TestOneKindOfAuditAlone(t *testing.T) {
	for name, c := range map[string]struct {
		audit   testOp
		change  func(*Config)
		verdict check.Verdict
	}{
		"partial, wrong": {read(10, 20, 1, 1, 2, 0), func(b *Config) { b.FullAuditKind = 0 }, check.Violated},
		"partial":        {read(10, 20, 1, 1, 2, 1), func(b *Config) { b.FullAuditKind = 0 }, check.Valid},
		"full, wrong":    {readAll(10, 20, 6, 6000, 0), func(b *Config) { b.AuditKind, b.Audited = 0, nil }, check.Violated},
		"full":           {readAll(10, 20, 6, 6000, 2), func(b *Config) { b.AuditKind, b.Audited = 0, nil }, check.Valid},
	} {
		r := testHistory{give(1, 1, 2, 1, 0, 9), c.audit}.run()
		c.change(&r.books)
		results := r.judge(t).Results()
		if last := results[len(results)-1]; len(results) != 5 || last.Name != "snapshots" || last.Verdict != c.verdict {
			t.Errorf("%s: %v", name, results)
		}
	}
	r := testHistory{give(1, 1, 2, 1, 0, 9)}.run()
	r.books.AuditKind, r.books.FullAuditKind = 0, 0
	if results := r.judge(t).Results(); len(results) != 4 {
		t.Errorf("without audits: %v", results)
	}
}

func TestFieldsOfWrongReadings(t *testing.T) {
	s := testHistory{give(1, 1, 2, 1, 0, 9), read(5, 9, 1, 1).but(func(d *testOp) { d.told = map[int]int64{0: 7} })}
	got := s.run().results(t)["snapshots"].Evidence
	want := map[string]int64{"client": 1, "operation": 0, "account": 1, "version": 1, "balance": 1002, "expected": 995}
	if len(got) != 1 || got[0].Kind != KindDirtyRead || !maps.Equal(got[0].Fields, want) {
		t.Errorf("%v", got)
	}
}

// An audit that missed what a transfer of stale order also missed is reported too, unless that
// transfer began after it.
func TestAnAuditBesideAStaleOrder(t *testing.T) {
	for _, c := range []struct {
		audit testOp
		found int64
	}{
		{read(30, 40, 1, 1), 1}, // it began last and missed what ended at 9
		{read(30, 40, 1, 2), 0}, // it missed nothing
		{read(10, 40, 1, 1), 0}, // it began with the transfer that is told
		{read(9, 40, 1, 1), 0},
	} {
		s := testHistory{give(1, 2, 2, 1, 0, 9), give(1, 1, 3, 1, 10, 20), c.audit}
		results := s.run().results(t)
		if order, snapshots := results["order"], results["snapshots"]; order.Found != 1 || !has(order, KindStaleOrder) ||
			snapshots.Found != c.found || has(snapshots, KindStaleRead) != (c.found > 0) {
			t.Errorf("%v: %v, %v", c.audit.reads, order, snapshots)
		}
	}
}

// A wrong audit proves nothing about others.
func TestTheWayDoesNotLeadOverAWrongAudit(t *testing.T) {
	late, early, between := give(1, 1, 6, 1, 20, 30), give(3, 2, 5, 1, 0, 9), give(3, 1, 4, 1, 0, 30)
	saw := read(15, 30, 1, 1, 4, 0)
	wrong := read(15, 30, 1, 1, 3, 0)
	for name, c := range map[string]struct {
		second testOp
		steps  int64
	}{
		"right": {wrong, 2},
		"wrong": {wrong.but(func(d *testOp) { d.told = map[int]int64{0: 7} }), 3},
	} {
		var found []string
		for _, e := range (testHistory{late, early, between, saw, c.second}).run().results(t)["snapshots"].Evidence {
			if found = append(found, e.Kind); e.Kind == KindStaleOrder && e.Fields["steps"] != c.steps {
				t.Errorf("%s: %d steps, want %d: %s", name, e.Fields["steps"], c.steps, e.Text)
			}
		}
		if want := map[string]string{"right": "[stale-order]", "wrong": "[dirty-read stale-order]"}[name]; fmt.Sprint(found) != want {
			t.Errorf("%s: found %v, want %s", name, found, want)
		}
	}
}
