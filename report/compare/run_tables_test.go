package compare

import (
	"strings"
	"testing"

	"assay/internal/expect"
	"assay/report"
)

// TestTablesOfWork: what only some runs have gets a table, with a line for each run.
func TestTablesOfWork(t *testing.T) {
	plain := &report.Result{Workload: "bank"}
	full := &report.Result{
		Workload: "availability",
		Faults: []report.Fault{
			{Action: "kill", Target: "primary", Proven: true, NewPrimary: "n2", NewPrimaryAfter: 11_300, WriteOutage: 12_300, ReadOutage: -1, LongestCall: 5_000,
				Errors: []report.ErrorCount{{Class: "timeout", Outcome: "unknown", Attempts: 9}, {Class: "connection lost", Outcome: "failed", Attempts: 1}}},
			{Action: "pause", Target: "any", Skipped: true, WriteOutage: 4_000, WritesAway: true},
		},
		WorkloadFigures: report.WorkloadFigures{
			Availability: &report.Availability{Policy: "retry", HungWrites: 2, HungReads: 1, Lost: 4, Duplicates: 11, Stale: 3},
			Entity:       &report.Entity{Writes: report.Flow{PerSecond: 120, Max: 150, Mean: 2}},
		},
		Rounds: []report.Round{{Name: "fill", Clients: 8, Seconds: 2, Size: &report.RoundSize{Bytes: 2_000_000}, Facts: []report.Setting{{Name: "lock waits", Value: "5"}}}},
	}
	var text strings.Builder
	d := Runs([]Group{{Name: "a", Runs: []Run{{Folder: "one", Result: plain}, {Folder: "two", Result: full}}}})
	expect.NoError(t, d.Markdown(&text))
	expect.Text(t, "the tables", text.String(),
		"## Faults", "| 2 availability | kill primary | yes | 11.3 s | 12.3 s | - | 5.00 s | 9 timeout (unknown), 1 connection lost (failed) |", "pause any (skipped) | no |", "at least 4.00 s",
		"| 2 availability | retry |", "| 3 | 4 | 11 | 3 |", "## Entities", "| 120 | 150 | 2.00 ms |", "| 2 availability | fill | 8 | 2.00 s |", "| 2 availability | fill | 2.00 MB | lock waits=5 |")
	if d := Runs([]Group{{Name: "a", Runs: []Run{{Folder: "one", Result: plain}}}}); len(d.Tables) != 5 {
		t.Errorf("a run without faults and rounds has %d tables", len(d.Tables))
	}
}

// TestTablesFitAPage: no table has more than eight columns, which 80 columns of text and a window hold.
func TestTablesFitAPage(t *testing.T) {
	faulted := outages("a", false, 3, 4, 5)
	for i := range faulted.Runs {
		r := faulted.Runs[i].Result
		r.Faults[0].Proven, r.Faults[0].NewPrimary = true, "n2"
	}
	rounds := group("b", 1000)
	rounds.Runs[0].Result.Rounds = []report.Round{{Name: "fill", Seconds: 2, Size: &report.RoundSize{Bytes: 1000}, Facts: []report.Setting{{Name: "rows", Value: "5"}}}}
	available := group("c", 1000)
	available.Runs[0].Result.Faults = faulted.Runs[0].Result.Faults
	available.Runs[0].Result.Availability = &report.Availability{WriteOutage: 3, ReadOutage: 2}
	swept := &Sweep{Workload: "bank", Groups: []Group{group("clients=1", 1000), group("clients=2", 1900, 2000)}}
	pair, err := Compare(faulted, outages("d", false, 4, 5, 6), Options{Allow: []string{"all"}})
	expect.NoError(t, err)
	trend, err := FindTrend(nights(12, 6), TrendOptions{})
	expect.NoError(t, err)
	for name, d := range map[string]report.Document{
		"runs": Runs([]Group{faulted, rounds, available}), "a series with faults": Summary("bank", []Group{faulted}), "a series of rounds": Summary("churn", []Group{rounds, rounds}),
		"a series of availability": Summary("availability", []Group{available}), "a sweep": swept.Document(), "a comparison": Document([]*Comparison{pair}, ""),
		"two comparisons": Document([]*Comparison{pair, pair}, ""), "a trend": trend.Document(""),
	} {
		if len(d.Tables) == 0 {
			t.Errorf("%s has no table", name)
		}
		for _, table := range d.Tables {
			for _, row := range append([][]string{table.Head}, table.Rows...) {
				if len(row) > 8 || len(row) != len(table.Head) {
					t.Errorf("%s: the table %q has %d columns: %q", name, table.Title, len(row), row)
				}
			}
		}
	}
	if tables := summaryTables([]Group{faulted}); len(tables) != 2 || strings.Join(tables[1].Head, ", ") != ", outage, ±" || tables[1].Rows[0][1] != "4.00 s" {
		t.Errorf("%+v", tables)
	}
}

// TestSweepMarksWhatIsKnown: where no measurement is valid there is no peak and no knee.
func TestSweepMarksWhatIsKnown(t *testing.T) {
	s := &Sweep{Workload: "bank", Groups: []Group{group("clients=1", 1000), group("clients=2", 1900)}}
	for i := range s.Groups {
		s.Groups[i].Runs[0].Result.Load.Clients = i + 1
	}
	marks := func() string { rows := s.table().Rows; return rows[0][7] + "/" + rows[1][7] }
	if got := marks(); got != "/peak" && got != "knee/peak" {
		t.Error(got)
	}
	s.Groups[1].Runs = append(s.Groups[1].Runs, s.Groups[1].Runs[0])
	if got := marks(); !strings.HasSuffix(got, "1 run/peak, 2 runs") {
		t.Error(got)
	}
	for _, g := range s.Groups {
		g.Runs[0].Result.Measurement.Verdict = "invalid"
	}
	s.Groups[1].Runs = s.Groups[1].Runs[:1]
	if got := marks(); got != "invalid/invalid" {
		t.Errorf("all are invalid: %s", got)
	}
}

// TestSummaryOfAvailability: a series of that workload is summed up by its outages, and a
// line lacks what its faults did not bring about.
func TestSummaryOfAvailability(t *testing.T) {
	run := func(name string, write, read float64, primary string, twice int64) Run {
		r := result(100, 1)
		r.Workload = "availability"
		r.Faults = []report.Fault{{Action: "kill", Target: "n1", WriteOutage: write, ReadOutage: read, LongestCall: 5_000, NewPrimary: primary, NewPrimaryAfter: 11_000}}
		r.Availability = &report.Availability{Duplicates: twice, Lost: 1, Stale: 2}
		return Run{Folder: name, Result: r}
	}
	with := Group{Name: "with", Runs: []Run{run("a", 12_000, 11_500, "n2", 3), run("b", 10_000, 9_500, "n2", 4)}}
	without := Group{Name: "without", Runs: []Run{run("c", 6_000, 200, "", 0), run("d", 6_000, 200, "", 0)}}
	var text strings.Builder
	expect.NoError(t, Summary("availability", []Group{with, without}).Markdown(&text))
	expect.Text(t, "the summary", text.String(),
		"|  | valid | outage | ± | read outage | ± | new primary | ± |",
		"| with | 2 of 2 | 11.0 s | 10 % | 10.5 s | 10 % | 11.0 s | 0 % |",
		"| without | 2 of 2 | 6.00 s | 0 % | 200 ms | 0 % | - |  |",
		"|  | lost | done twice | stale reads |", "| with | 2 | 7 | 4 |", "| without | 2 | 0 | 4 |", "| longest call | 5.00 s |")
}

// TestLostOfAnUnreadRun: what was lost in a run that was not read back is no figure.
func TestLostOfAnUnreadRun(t *testing.T) {
	r := result(100, 1)
	r.Availability = &report.Availability{NotRead: "nobody could read it back"}
	g := Group{Name: "a", Runs: []Run{{Result: r}}}
	if m, _ := find(metrics(), "lost"); everyRunHas([]Group{g}, m) {
		t.Error("it has lost nothing")
	}
	if tables := availabilityTable([]Group{g}); tables[0].Rows[0][1] != "at least 0" {
		t.Errorf("%q", tables[0].Rows)
	}
}

// TestSummaryOfRounds: work in rounds is summed up by its rounds, and has no throughput of
// all of them together.
func TestSummaryOfRounds(t *testing.T) {
	run := func(name string, seconds float64) Run {
		r := result(100, 1)
		r.Rounds = []report.Round{
			{Name: "fill", Seconds: seconds, RowsPerSecond: 1000 / seconds, Service: report.Latency{Count: 10, P50: 3}},
			{Name: "delete", Seconds: 2 * seconds},
		}
		return Run{Folder: name, Result: r}
	}
	a, b := Group{Name: "a", Runs: []Run{run("1", 2), run("2", 2)}}, Group{Name: "b", Runs: []Run{run("3", 4), run("4", 5)}}
	var text strings.Builder
	expect.NoError(t, Summary("churn", []Group{a, b, {Name: "c", Runs: a.Runs}}).Markdown(&text))
	expect.Text(t, "the summary", text.String(),
		"|  | valid |", "## Rounds by configuration", "|  | round | took | ± | rows | ± | p50 | ± |",
		"| a | fill | 2 s | 0 % | 500/s | 0 % | 3.00 ms | 0 % |", "| b | fill | 4.5 s |", "| b | delete | 9 s | 12 % | - |  | - |  |", "## fill: took")
	if strings.Contains(text.String(), "## throughput") {
		t.Errorf("the summary has a throughput of all rounds:\n%s", text.String())
	}
}
