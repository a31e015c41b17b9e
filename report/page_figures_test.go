package report

import (
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"

	"assay/history"
	"assay/internal/expect"
)

// cardsOf are the names and values at the top of a page.
func cardsOf(page string) map[string]string {
	found := map[string]string{}
	for _, m := range regexp.MustCompile(`<div><dt>([^<]*)</dt><dd><b>([^<]*)</b>`).FindAllStringSubmatch(page, -1) {
		found[html.UnescapeString(m[1])] = strings.ReplaceAll(html.UnescapeString(m[2]), nbsp, " ")
	}
	return found
}

// churnedRun asked for the size on disk after each of its rounds but one.
func churnedRun() *Result {
	r := inRounds(true)
	r.Workload = "churn"
	r.Rounds = []Round{
		{Name: "fill", StartSecond: 1, Seconds: 4, Size: &RoundSize{Bytes: 6_000_000, Rows: 20_000, Payload: 4_000_000},
			Facts: []Setting{{"bytes on disk", "6000000"}}},
		{Name: "delete 1", StartSecond: 5, Seconds: 2, Size: &RoundSize{Bytes: 9_000_000, Rows: 10_000, Payload: 2_000_000}},
		{Name: "refill 1", StartSecond: 7, Seconds: 3},
		{Name: "VACUUM", StartSecond: 10, Seconds: 1, Apart: true, Size: &RoundSize{Bytes: 4_400_000, Rows: 20_000, Payload: 4_000_000}},
	}
	return r
}

// TestSizesAreACourse: the size on disk after each round stands at its time, in the
// chart, in a table and at the top.
func TestSizesAreACourse(t *testing.T) {
	page := htmlOf(t, churnedRun(), Page{})
	want := [][]string{{"seconds since the start of the run", "on disk", "payload"}, {"5, after fill", "6.00 MB", "4.00 MB"},
		{"7, after delete 1", "9.00 MB", "2.00 MB"}, {"11, after VACUUM", "4.40 MB", "4.00 MB"}}
	if sizes := tableOf(t, page, "Size on disk over time"); !slices.EqualFunc(sizes, want, slices.Equal) {
		t.Errorf("the chart's table is %q, want %q", sizes, want)
	}
	if strings.Count(page, `id="sizes"`) != 1 {
		t.Error("the page has no chart of sizes")
	}
	if row := []string{"fill", "6,000,000", "4,000,000", "5 s"}; !slices.Equal(tableOf(t, page, "What else is known of the rounds")[1], row) {
		t.Errorf("the table has no row %q", row)
	}
	cards := cardsOf(page)
	if cards["on disk, at most"] != "9.00 MB" || cards["on disk, at last"] != "4.40 MB" {
		t.Errorf("the cards are %q", cards)
	}
	if other := htmlOf(t, inRounds(true), Page{}); strings.Contains(other, `id="sizes"`) {
		t.Error("a run whose sizes nobody asked for has a chart of them")
	}
}

// TestCardsOfRows: rows per second and the 99th percentile of each kind of round,
// the last one of it.
func TestCardsOfRows(t *testing.T) {
	r := inRounds(true)
	r.Rounds = []Round{
		{Name: "ingest", RowsPerSecond: 26_246, Service: Latency{Count: 200, P99: 270, Max: 289}},
		{Name: "quick, cold", RowsPerSecond: 9_000, Service: Latency{Count: 10_000, P99: 90, Max: 200}},
		{Name: "quick, warm", RowsPerSecond: 42_882, Service: Latency{Count: 10_000, P99: 11.8, Max: 154}},
		{Name: "day, warm", RowsPerSecond: 93_751, Service: Latency{Count: 1, P99: 2130, Max: 2130}},
	}
	want := []card{
		{"ingest, rows/s", "26,246", "p99 270" + nbsp + "ms, longest 289" + nbsp + "ms"},
		{"quick, warm, rows/s", "42,882", "p99 11.8" + nbsp + "ms, longest 154" + nbsp + "ms"},
		{"day, warm, rows/s", "93,751", "longest 2.13" + nbsp + "s"},
	}
	if got := cards(r)[1:4]; !slices.Equal(got, want) {
		t.Errorf("the cards are %q, want %q", got, want)
	}
}

// TestCardsOfOutages: the longest time without a write or a read, whatever fault
// it overlaps.
func TestCardsOfOutages(t *testing.T) {
	r := violatedRun()
	r.Faults[1].WriteOutage, r.Faults[1].WritesAway = 11_100, true
	got := cards(r)
	for _, want := range []card{
		{"write outage", "at" + nbsp + "least" + nbsp + "11.1" + nbsp + "s", "pause any (n2)"},
		{"read outage", "10.4" + nbsp + "s", "kill primary (n1)"},
	} {
		if !slices.Contains(got, want) {
			t.Errorf("no card %q in %q", want, got)
		}
	}
	r.Faults[1].WriteOutage = 1
	if got := cards(r); !slices.ContainsFunc(got, func(c card) bool {
		return c.Name == "write outage" && strings.HasPrefix(c.Value, "at") && c.Note == "kill primary (n1)"
	}) {
		t.Errorf("a shorter one was cut, and the cards are %q", got)
	}
	for _, c := range cards(validRun()) {
		if strings.Contains(c.Name, "away") {
			t.Errorf("a run without faults has the card %q", c)
		}
	}
}

// fewRun has some operations in each interval, and longer intervals beside them.
func fewRun() *Result {
	r := validRun()
	r.Series = seriesOf(50, 10, 50, 7)
	merged := seriesOf(10, 10, 50, 35)
	merged.IntervalSeconds = 5.5
	for i := range merged.Start {
		merged.Start[i] *= 5.5
	}
	r.Merged = &merged
	return r
}

// TestLongerIntervalsAreDrawn: charts and table show the series whose percentiles
// can be told apart, and end with the run.
func TestLongerIntervalsAreDrawn(t *testing.T) {
	r := fewRun()
	c := courseOf(r)
	line := c.committed().Lines[0].Points
	if c.end != 50 || len(line) != 12 || line[9] != [2]float64{49.5, float64(r.Merged.Committed[9]) / 0.5} || line[10][0] != 50 {
		t.Errorf("the chart is drawn to %v through %v", c.end, line)
	}
	page := htmlOf(t, r, Page{})
	rows := tableOf(t, page, "Figures over time")
	if len(rows) != 11 || rows[10][0] != "49.5" || rows[10][1] != short(float64(r.Merged.Committed[9])/0.5) {
		t.Errorf("the table is %q", rows)
	}
	expect.Text(t, "the page", page, "an interval of 5.5"+nbsp+"s, as shorter ones hold too few")
}

// TestNoLineWithoutAnything: lines that would say nothing, and their names in the
// legend, are left out, and which percentiles are is said.
func TestNoLineWithoutAnything(t *testing.T) {
	names := func(c LineChart) (all []string) {
		for _, line := range c.Lines {
			all = append(all, line.Name)
		}
		return all
	}
	for _, c := range []struct {
		rate           float64
		rejected       int64
		counts, times  []string
		saysWhatIsLeft bool
	}{
		{2271, 5, []string{"rejected"}, []string{"p50", "p95", "p99", "max"}, false},
		{2271, 0, nil, []string{"p50", "p95", "p99", "max"}, false},
		{50, 0, nil, []string{"p50", "p95", "max"}, true},
		{5, 0, nil, []string{"p50", "max"}, true},
		{0, 0, nil, nil, false},
	} {
		r := validRun()
		r.Series = seriesOf(60, 10, 60, c.rate)
		for i := range r.Series.Start {
			r.Series.Rejected[i], r.Series.Failed[i] = c.rejected, 0
		}
		counts, times := names(courseOf(r).uncommitted()), names(courseOf(r).times())
		if !slices.Equal(counts, c.counts) || !slices.Equal(times, c.times) {
			t.Errorf("%v/s: lines %q and %q, want %q and %q", c.rate, counts, times, c.counts, c.times)
		}
		page := htmlOf(t, r, Page{})
		if strings.Contains(page, "their maximum, and ha") != c.saysWhatIsLeft || strings.Contains(page, `id="over-time-response-time-of-committed-operations"`) != (len(times) > 0) {
			t.Errorf("%v/s: the page says something else", c.rate)
		}
	}
}

// TestKindsAreOnThePage, of whatever workload.
func TestKindsAreOnThePage(t *testing.T) {
	r := validRun()
	r.Kinds = []Kind{{"transfer", Flow{PerSecond: 2000, Mean: 7, P50: 5, P95: 12, P99: 15, Longest: 20}}, {"audit", Flow{PerSecond: 10}}}
	rows := tableOf(t, htmlOf(t, r, Page{}), "Kinds of operations")
	if want := []string{"transfer", "2,000", "7.00 ms", "5.00 ms", "12.0 ms", "15.0 ms", "20.0 ms", "0"}; len(rows) != 3 || !slices.Equal(rows[1], want) {
		t.Errorf("%q, want %q", rows, want)
	}
}

// TestRoundsAreDrawn: a bar for each round, and one for the times of its operations if it had any.
func TestRoundsAreDrawn(t *testing.T) {
	charts := drawRounds(inRounds(true).Rounds)
	if len(charts) != 2 || len(charts[0].Bars) != 2 || len(charts[1].Bars) != 1 || charts[1].Bars[0].Text != "341"+nbsp+"ms" {
		t.Errorf("%+v", charts)
	}
	page := htmlOf(t, inRounds(true), Page{})
	expect.Text(t, "the page", page, `id="length-of-the-rounds"`, `id="times-of-the-rounds-operations"`)
}

// What the run's end cut took at least so long, wherever it stands.
func TestWhatTheEndCutIsAtLeast(t *testing.T) {
	r := violatedRun()
	atLeast := "at" + nbsp + "least" + nbsp
	r.Errors = append(r.Errors, ErrorCount{Class: history.ClassHung, Outcome: "unknown", Attempts: 1})
	r.Uncommitted = Latency{Count: 1, Max: 22_100}
	table := latencyTable(r, false)
	at := slices.IndexFunc(table.Rows, func(row []string) bool { return row[0] == "uncommitted" })
	if at < 0 || table.Rows[at][len(table.Rows[at])-1] != atLeast+"22.1"+nbsp+"s" {
		t.Errorf("%q", table.Rows)
	}
	a := Availability{Policy: "none", LongestWrite: 22_100, LongestWriteCut: true, WriteOutage: 22_100, WritesAway: true, ReadOutage: 100}
	if text := availabilityLine(&a); !strings.Contains(text, "write outage "+atLeast+"22.1") || !strings.Contains(text, "longest call "+atLeast+"22.1") {
		t.Errorf("%q", text)
	}
	if a.NotRead = "nobody could read it back"; !strings.Contains(availabilityLine(&a), "what was lost or done twice is not known") || availabilityTable(&a).Rows[8][1] != "not known" {
		t.Errorf("not read back: %q, %q", availabilityLine(&a), availabilityTable(&a).Rows)
	}
	if a.WriteOutage = -1; strings.Contains(availabilityLine(&a), "outage") || availabilityTable(&a).Rows[5][1] != none {
		t.Errorf("without a write: %q, %q", availabilityLine(&a), availabilityTable(&a).Rows[5])
	}
	e := Entity{NotRead: a.NotRead}
	if rows := entityTable(&e).Rows; !slices.ContainsFunc(rows, func(row []string) bool { return row[0] == "acknowledged and lost" && row[1] == "not known" }) || strings.Contains(entityLine(&e), "none stale") {
		t.Errorf("not read back: %q, %q", entityLine(&e), rows)
	}
	f := Fault{Action: "kill", Target: "n1", WriteOutage: 22_100, WritesAway: true, LongestCall: 22_100, LongestCallCut: true, ReadOutage: 100}
	if text := faultLine(&f); !strings.Contains(text, "write outage "+atLeast+"22.1") || !strings.Contains(text, "longest call "+atLeast+"22.1") || strings.Contains(text, "read outage at") {
		t.Errorf("%q", text)
	}
}
