package ledger

import (
	"math"
	"strings"
	"testing"

	"assay/history"
	"assay/internal/expect"
)

func unknown(d *testOp) { d.outcome = history.Unknown }
func unheard(d *testOp) { d.unheard = true }

func TestOrderTales(t *testing.T) {
	judgeTales(t, []tale{
		{"a version given twice",
			testHistory{give(1, 1, 2, 1, 0, 9), give(1, 2, 3, 1, 0, 9), give(1, 2, 4, 1, 0, 9).but(unheard)},
			testHistory{give(1, 1, 2, 1, 0, 9), give(1, 2, 3, 1, 0, 9), give(1, 3, 4, 1, 0, 9).but(unheard)},
			"order:lost-update",
			"transfer 1099511627776 (client 1, operation 0) and transfer 2199023255552 (client 2, operation 0) both gave account 1 version 2: one of the two updates is lost"},
		{"a version given twice, and more after it",
			testHistory{give(1, 1, 2, 1, 0, 9), give(1, 1, 3, 1, 0, 9), give(1, 2, 4, 1, 0, 9), give(1, 3, 5, 1, 0, 9)},
			testHistory{give(1, 1, 2, 1, 0, 9), give(1, 4, 3, 1, 0, 9), give(1, 2, 4, 1, 0, 9), give(1, 3, 5, 1, 0, 9)},
			"order:lost-update", "both gave account 1 version 1"},
		{"a version missing",
			testHistory{give(1, 1, 2, 1, 0, 9), give(1, 3, 3, 1, 0, 9).but(unheard)},
			testHistory{give(1, 1, 2, 1, 0, 9), give(1, 2, 3, 1, 0, 9).but(unheard)},
			"order:missing-version", "no journal row gave account 1 version 2, though transfer 1099511627776 (client 1, operation 0) gave it version 3"},
		{"the first versions missing",
			testHistory{give(1, 3, 2, 1, 0, 9), give(1, 4, 2, 2, 0, 9)},
			testHistory{give(1, 1, 2, 1, 0, 9), give(1, 2, 2, 2, 0, 9)},
			"order:missing-version", "gave account 1 any of the versions 1 to 2"},
		{"version nought",
			testHistory{give(1, 0, 2, 1, 0, 9), give(1, 1, 2, 2, 0, 9)},
			testHistory{give(1, 2, 2, 2, 0, 9), give(1, 1, 2, 1, 0, 9)},
			"order:impossible-version", "gave account 1 version 0; versions count from 1"},
		{"a version beyond all rows",
			testHistory{give(1, 1, 2, 1, 0, 9), give(1, 5, 2, 2, 0, 9)},
			testHistory{give(1, 1, 2, 1, 0, 9), give(1, 2, 2, 2, 0, 9)},
			"order:impossible-version", "gave account 1 version 5, but only 2 journal rows touch it"},
		{"a gap, and a version beyond all rows",
			testHistory{give(1, 1, 2, 1, 0, 9), give(1, 3, 2, 2, 0, 9), give(1, 50, 2, 3, 0, 9)},
			testHistory{give(1, 1, 2, 1, 0, 9), give(1, 2, 2, 2, 0, 9), give(1, 3, 2, 3, 0, 9)},
			"order:impossible-version", "version 50"},
		{"two transfers in opposite orders",
			testHistory{give(1, 1, 2, 2, 0, 9), give(1, 2, 2, 1, 0, 9)},
			testHistory{give(1, 1, 2, 1, 0, 9), give(1, 2, 2, 2, 0, 9)},
			"order:dirty-write",
			"2 transfers each come before the next and the last before the first (dirty write, G0): "},
		{"three transfers in a ring",
			testHistory{give(1, 1, 2, 2, 0, 9), give(2, 1, 3, 2, 0, 9), give(3, 1, 1, 2, 0, 9)},
			testHistory{give(1, 1, 2, 2, 0, 9), give(2, 1, 3, 2, 0, 9), give(3, 1, 1, 0, 0, 9).but(func(d *testOp) { d.source, d.destination, d.versions = 4, 3, [2]int64{1, 1} })},
			"order:dirty-write", "3 transfers"},
		{"opposite orders, with others between on one account",
			testHistory{give(1, 1, 2, 4, 0, 9), give(1, 2, 2, 1, 0, 9), give(3, 1, 2, 2, 0, 9), give(3, 2, 2, 3, 0, 9)},
			testHistory{give(1, 2, 2, 4, 0, 9), give(1, 1, 2, 1, 0, 9), give(3, 1, 2, 2, 0, 9), give(3, 2, 2, 3, 0, 9)},
			"order:dirty-write", "2 transfers"},
		{"acknowledged before it started, on one account",
			testHistory{give(1, 2, 2, 1, 0, 9), give(1, 1, 3, 1, 10, 20)},
			testHistory{give(1, 2, 2, 1, 0, 9), give(1, 1, 3, 1, 9, 20)},
			"order:stale-order", "transfer 0 (client 0, operation 0) had ended at 0.000000 s when transfer 1099511627776 (client 1, operation 0) was started at 0.000000 s, and yet comes after it: " +
				"transfer 1099511627776 gave account 1 version 1 and transfer 0 gave it version 2"},
		{"over another one, which was in flight all the time",
			testHistory{give(1, 2, 2, 1, 0, 9), give(1, 1, 3, 2, 5, 15), give(3, 1, 4, 1, 10, 20)},
			testHistory{give(1, 2, 2, 1, 0, 10), give(1, 1, 3, 2, 5, 15), give(3, 1, 4, 1, 10, 20)},
			"order:stale-order", "transfer 2199023255552 gave account 3 version 1 and transfer 1099511627776 (client 1, operation 0) gave it version 2; transfer 1099511627776 gave account 1 version 1"},
		{"before the run began",
			testHistory{give(1, 2, 2, 1, -50, -40), give(1, 1, 3, 1, -30, -20)},
			testHistory{give(1, 2, 2, 1, -50, -30), give(1, 1, 3, 1, -30, -20)},
			"order:stale-order", "transfer 1099511627776 gave account 1 version 1 and transfer 0 gave it version 2"},
		{"over one whose end nobody saw",
			testHistory{give(1, 2, 2, 1, 0, 9), give(1, 1, 3, 2, 5, 6).but(unknown), give(3, 1, 4, 1, 10, 20)},
			testHistory{give(1, 2, 2, 1, 0, 9).but(unknown), give(1, 1, 3, 2, 5, 6).but(unknown), give(3, 1, 4, 1, 10, 20)},
			"order:stale-order", "gave account 3 version 1"},
		{"over one without a record",
			testHistory{give(1, 2, 2, 1, 0, 9), give(1, 1, 3, 2, 5, 6).but(func(d *testOp) { d.unrecorded = true }), give(3, 1, 4, 1, 10, 20)},
			testHistory{give(1, 2, 2, 1, 0, 9), give(1, 1, 3, 2, 5, 6), give(3, 1, 4, 1, 10, 20).but(func(d *testOp) { d.unrecorded = true })},
			"order:stale-order", "gave account 3 version 1"},
		{"one that came much too early is told once",
			testHistory{give(1, 2, 2, 1, 0, 1), give(1, 3, 3, 1, 2, 3), give(1, 4, 4, 1, 4, 5), give(1, 1, 5, 1, 10, 20)},
			testHistory{give(1, 2, 2, 1, 0, 10), give(1, 3, 3, 1, 2, 10), give(1, 4, 4, 1, 4, 10), give(1, 1, 5, 1, 10, 20)},
			"order:stale-order", "version 2"},
		{"a balance acknowledged otherwise",
			testHistory{give(1, 1, 2, 1, 0, 9), give(1, 2, 3, 1, 0, 9).but(func(d *testOp) { d.told = map[int]int64{0: 7} }), give(1, 3, 4, 1, 0, 9)},
			testHistory{give(1, 1, 2, 1, 0, 9), give(1, 2, 3, 1, 0, 9).but(func(d *testOp) { d.unheard = true }), give(1, 3, 4, 1, 0, 9)},
			"order:acknowledged-balance", "was acknowledged with 997 in account 1 at version 2; the 1 version before and the transfer make it 990: off by 7"},
		{"all balances from one on acknowledged otherwise",
			testHistory{give(1, 1, 2, 1, 0, 9), give(1, 2, 3, 1, 0, 9).but(func(d *testOp) { d.told = map[int]int64{0: 7} }),
				give(1, 3, 4, 1, 0, 9).but(func(d *testOp) { d.told = map[int]int64{0: 7} }), give(1, 4, 4, 2, 0, 9).but(func(d *testOp) { d.told = map[int]int64{0: 7} })},
			testHistory{give(1, 1, 2, 1, 0, 9), give(1, 2, 3, 1, 0, 9), give(1, 3, 4, 1, 0, 9), give(1, 4, 4, 2, 0, 9)},
			"order:acknowledged-balance", "at version 2"},
		{"a destination's balance acknowledged otherwise",
			testHistory{give(1, 1, 2, 1, 0, 9), give(1, 2, 2, 2, 0, 9).but(func(d *testOp) { d.told = map[int]int64{2: -1} })},
			testHistory{give(1, 1, 2, 1, 0, 9), give(1, 2, 2, 2, 0, 9)},
			"order:acknowledged-balance", "with 1009 in account 2 at version 2; the 1 version before and the transfer make it 1010: off by -1"},
	})
}

func TestTheOrderDoesNotRepeatTransfers(t *testing.T) {
	whole := testHistory{give(1, 1, 2, 1, 0, 9), give(1, 2, 2, 2, 10, 19), give(1, 3, 3, 1, 20, 29), give(3, 2, 1, 4, 30, 39),
		read(40, 50, 1, 4, 2, 2, 3, 2), readAll(40, 50, 6, 6000, 8)}
	if got := convictions(whole.run().results(t)); got != "" {
		t.Fatalf("convicted of %q", got)
	}
	for name, spoil := range map[string]func(r *run){
		"doubled": func(r *run) { r.rows = append(r.rows, r.rows[1]) },
		"doubled, applied": func(r *run) {
			r.rows = append(r.rows, r.rows[1])
			r.rows[4].SourceVersion, r.rows[4].DestinationVersion = 5, 3
		},
		"another amount":       func(r *run) { r.rows[1].Amount++ },
		"another account":      func(r *run) { r.rows[1].Destination = 4 },
		"no such account":      func(r *run) { r.rows[1].Source = 99 },
		"to itself":            func(r *run) { r.rows[1].Destination = 1 },
		"another id":           func(r *run) { r.rows[1].ID = -5 },
		"of an audit":          func(r *run) { r.rows[1].ID = r.books.ID(4, 0) },
		"of nobody, in excess": func(r *run) { r.rows = append(r.rows, Row{-1, 1, 2, 3, 2, 2}) },
		"of nobody, without versions, but money moved": func(r *run) {
			r.rows = append(r.rows, Row{-1, 1, 2, 3, 2, 2})
			r.ops[2].Values[0] -= 3
			r.ops[3].Values[2] -= 3
			r.ops[4].Values[0] -= 3
			r.ops[4].Values[2] += 3
		},
		"of nobody, with versions": func(r *run) {
			r.rows[2].SourceVersion, r.rows[3].DestinationVersion = 23, 24
			r.ops[2].Values[1], r.ops[3].Values[3], r.ops[4].Values[1] = 23, 24, 24
			for version := range int64(20) {
				r.rows = append(r.rows, Row{-1 - version, 1, 9, 0, 3 + version, 0})
			}
		},
	} {
		r := whole.run()
		spoil(&r)
		results := r.results(t)
		for _, check := range []string{"order", "snapshots"} {
			if results[check].Found != 0 {
				t.Errorf("%s: %s found %v", name, check, results[check].Evidence)
			}
		}
		if results["transfers"].Found == 0 {
			t.Errorf("%s: transfers found nothing", name)
		}
	}
}

// An account with an impossible version is not also reported for gaps, even if another account has
// one.
func TestNoGapsBelowAnImpossibleVersion(t *testing.T) {
	for want, s := range map[string]testHistory{
		"2 impossible-version":                    {give(1, 2, 3, 1, 0, 9), give(1, 50, 3, 2, 0, 9).but(unheard), give(2, 50, 3, 3, 0, 9).but(unheard)},
		"1 missing-version, 1 impossible-version": {give(1, 2, 3, 1, 0, 9), give(1, 3, 3, 2, 0, 9).but(unheard), give(2, 50, 3, 3, 0, 9).but(unheard)},
	} {
		if got := s.run().results(t)["order"]; !strings.HasSuffix(got.Detail, ": "+want) {
			t.Errorf("%s, want %s: %v", got.Detail, want, got.Evidence)
		}
	}
}

func TestBalancesAfterAGap(t *testing.T) {
	gap := func(d *testOp) { d.absent = true }
	large := func(d *testOp) { d.amount, d.absent = 1<<33, true }
	last := func(d *testOp) { d.told = map[int]int64{0: 5} }
	for name, c := range map[string]struct {
		testHistory testHistory
		convicted   string
	}{
		"nothing wrong":                                   {testHistory{give(1, 1, 2, 1, 0, 9).but(gap), give(1, 2, 3, 1, 0, 9), give(1, 3, 4, 1, 0, 9), read(0, 9, 1, 3)}, ""},
		"nobody acknowledged":                             {testHistory{give(1, 1, 2, 1, 0, 9).but(gap), give(1, 2, 3, 1, 0, 9).but(unheard), read(0, 9, 1, 2)}, ""},
		"more went than the lowest bits show":             {testHistory{give(1, 1, 2, 1, 0, 9).but(large), give(1, 2, 3, 1, 0, 9), give(1, 3, 4, 1, 0, 9), read(0, 9, 1, 3)}, ""},
		"the last one wrong":                              {testHistory{give(1, 1, 2, 1, 0, 9).but(gap), give(1, 2, 3, 1, 0, 9), give(1, 3, 4, 1, 0, 9).but(last)}, "order:acknowledged-balance"},
		"a wrong reading":                                 {testHistory{give(1, 1, 2, 1, 0, 9).but(gap), give(1, 2, 3, 1, 0, 9), read(0, 9, 1, 2).but(last)}, "snapshots:dirty-read"},
		"an audit that read what was, not what was parts": {testHistory{give(1, 1, 2, 1, 0, 9), give(1, 2, 3, 1, 0, 9).but(last), read(0, 9, 1, 2)}, "order:acknowledged-balance"},
		"an audit that read what was parts":               {testHistory{give(1, 1, 2, 1, 0, 9), give(1, 2, 3, 1, 0, 9).but(last), read(0, 9, 1, 2).but(last)}, "order:acknowledged-balance"},
	} {
		results := c.testHistory.run().without(Journal).results(t)
		for name := range results {
			if name != "order" && name != "snapshots" {
				delete(results, name)
			}
		}
		if got := convictions(results); got != c.convicted {
			t.Errorf("%s: convicted of %q, want %q: %v", name, got, c.convicted, results)
		}
	}
}

func TestTransfersToItselfHaveNoOrder(t *testing.T) {
	self := give(1, 1, 1, 1, 0, 9)
	results := testHistory{self, give(1, 2, 2, 1, 0, 9), give(3, 1, 2, 2, 10, 20), read(15, 30, 2, 2, 3, 1), readAll(10, 20, 6, 6000, 5)}.run().results(t)
	if results["order"].Found+results["snapshots"].Found != 0 {
		t.Errorf("%v, %v", results["order"], results["snapshots"])
	}
}

// If versions do not count transfers, full audits are not compared with the number of transfers.
func TestFullAuditsAreNotCountedWhereVersionsAreInDisorder(t *testing.T) {
	all := readAll(15, 20, 6, 6000, 3)
	for name, s := range map[string]testHistory{
		"given twice":  {give(1, 1, 2, 1, 0, 9), give(1, 1, 2, 2, 0, 9), all},
		"missing":      {give(1, 1, 2, 1, 0, 9), give(1, 3, 2, 2, 0, 9), all},
		"impossible":   {give(1, 1, 2, 1, 0, 9), give(1, 0, 2, 2, 0, 9), all},
		"far too high": {give(1, 1, 2, 1, 0, 9), give(1, 9, 2, 2, 0, 9), all},
	} {
		results := s.run().results(t)
		if results["order"].Found != 1 || results["snapshots"].Found != 0 {
			t.Errorf("%s: %v, %v", name, results["order"], results["snapshots"])
		}
	}
	if got := (testHistory{give(1, 1, 2, 1, 0, 9), give(1, 2, 2, 2, 0, 9), all}).run().results(t)["snapshots"]; got.Found != 1 {
		t.Errorf("in order: %v", got)
	}
}

func TestSpansAreAsWideAsTheyCanBe(t *testing.T) {
	j, err := New(books(3))
	expect.NoError(t, err)
	for seq, op := range []history.Op{
		{First: 5, End: 9, Last: true, Final: history.Committed},
		{First: 5, End: 9, Last: true, Final: history.Unknown},
		{First: 5, End: 9},
		{First: 5, End: 4, Last: true, Final: history.Committed},
		{First: math.MaxInt64 - 3, End: math.MaxInt64, Last: true, Final: history.Committed},
		{First: math.MaxInt64 - 5e9 - 1e5, End: math.MaxInt64, Last: true, Final: history.Committed},
		{First: math.MinInt64, End: math.MaxInt64, Last: true, Final: history.Committed},
		{First: 5, End: 9, Final: history.Failed}, // only the last attempt decides
		{First: 5, End: 9, Final: history.Committed},
	} {
		op.Seq, op.Kind = uint64(seq), kindTransfer
		j.Op(&op)
	}
	j.Op(&history.Op{Seq: blockOps - 1, First: 7, Last: true, Final: history.Failed, Kind: kindTransfer})
	j.Op(&history.Op{Seq: blockOps - 2, First: 7, Last: true, Final: history.Committed, Kind: kindAudit})
	j.Op(&history.Op{Seq: blockOps - 3, First: 7, Last: true, Final: history.Committed}) // whatever kind 0 is
	j.Op(&history.Op{Seq: blockOps - 4, First: 7, Last: true, Final: history.Rejected, Kind: kindTransfer})
	b := j.ops.list[0]
	for i, want := range [][2]int64{{5, 9}, {5, math.MaxInt64}, {5, math.MaxInt64}, {5, math.MaxInt64},
		{math.MaxInt64 - 3, math.MaxInt64}, {math.MaxInt64 - 5e9 - 1e5, math.MaxInt64}, {math.MinInt64, math.MaxInt64}, {5, math.MaxInt64}, {5, math.MaxInt64}} {
		if first, end := b.page[i].span(); first != want[0] || end != want[1] {
			t.Errorf("operation %d: %d to %d, want %v", i, first, end, want)
		}
	}
	for i := blockOps - 4; i < blockOps; i++ {
		if first, end := b.page[i].span(); first != math.MinInt64 || end != math.MaxInt64 {
			t.Errorf("operation %d, which has no effect: %d to %d", i, first, end)
		}
	}
}
