package compare

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/check"
	"assay/internal/expect"
	"assay/measure"
	"assay/report"
)

// nights is a group of a run a night, which from one of them on is slower by a tenth.
func nights(n, slowerFrom int) Group {
	rng := rand.New(rand.NewPCG(3, 4))
	var rates []float64
	for i := range n {
		rate := 1000 + 10*rng.NormFloat64()
		if i >= slowerFrom {
			rate *= 0.9
		}
		rates = append(rates, rate)
	}
	g := group("nightly", rates...)
	for i := range g.Runs {
		g.Runs[i].Result.Started = time.Date(2026, 11, 1+i, 2, 0, 0, 0, time.UTC)
	}
	return g
}

func TestTrendFindsTheRun(t *testing.T) {
	g := nights(30, 17)
	g.Runs[0], g.Runs[29] = g.Runs[29], g.Runs[0] // the order is that of time and not of names
	found, err := FindTrend(g, TrendOptions{})
	expect.NoError(t, err)
	for _, m := range found.Metrics {
		switch m.Metric {
		case "throughput", "p50", "p99":
			if len(m.Changes) != 1 || m.Changes[0].Index != 17 || m.better(m.Changes[0]) {
				t.Errorf("%s changed at %+v", m.Metric, m.Changes)
			}
		}
	}
	d := found.Document("assay trend nightly")
	var text, page, program bytes.Buffer
	expect.NoError(t, errors.Join(d.Text(&text, report.TextOptions{}), d.HTML(&page), WriteTrends(&program, []*Trend{found})))
	expect.Text(t, "the text", text.String(), "✗ run 18: throughput changed by -1", "run 18 is nightly17, begun 2026-11-18 02:00:00 UTC", "<0.001")
	expect.Text(t, "the page", page.String(), "mean between changes", "each run", "Line chart of throughput by run")
	var read struct {
		Trends []struct {
			Runs    []struct{ Folder string }
			Metrics []struct {
				Metric  string
				Values  []float64
				Changes []struct {
					Run                      int
					Folder                   string
					Before, After, Change, P float64
				}
			}
		}
	}
	if err := json.Unmarshal(program.Bytes(), &read); err != nil || len(read.Trends) != 1 || len(read.Trends[0].Runs) != 30 {
		t.Fatalf("%v: %s", err, program.String())
	}
	if m := read.Trends[0].Metrics[0]; m.Metric != "throughput" || len(m.Values) != 30 || m.Changes[0].Run != 18 || m.Changes[0].Folder != "nightly17" || m.Changes[0].Change > -0.05 || m.Changes[0].P > 0.001 {
		t.Errorf("for programs it is %+v", m)
	}
}

// TestTrendWithoutInvalidRuns: what is said of a run is about that run, though others are left out.
func TestTrendWithoutInvalidRuns(t *testing.T) {
	g := nights(30, 17)
	for _, i := range []int{2, 5, 20} {
		g.Runs[i].Result.Measurement.Verdict = string(measure.Invalid)
	}
	found, err := FindTrend(g, TrendOptions{})
	expect.NoError(t, err)
	d := found.Document("")
	var program bytes.Buffer
	expect.NoError(t, WriteTrends(&program, []*Trend{found}))
	expect.Text(t, "for programs it", strings.Join(strings.Fields(program.String()), ""), `"run":16,"folder":"nightly17"`)
	expect.Text(t, "the notes", strings.Join(d.Notes, "\n"), "run 16 is nightly17", "3 runs with an invalid measurement left out")
	for _, m := range found.Metrics {
		if len(m.Values) != 27 || len(found.Group.Runs) != 27 {
			t.Errorf("%s has %d values of %d runs", m.Metric, len(m.Values), len(found.Group.Runs))
		}
	}
	few := nights(12, 6)
	few.Runs[3].Result.Measurement.Verdict, few.Runs[4].Result.Measurement.Verdict, few.Runs[5].Result.Measurement.Verdict = string(measure.Invalid), string(measure.Invalid), string(measure.Invalid)
	if _, err := FindTrend(few, TrendOptions{}); err == nil || !strings.Contains(err.Error(), "9 runs with figures to believe, and 3 with an invalid measurement") {
		t.Errorf("of nine runs to believe it says %v", err)
	}
	for i := range g.Runs {
		g.Runs[i].Result.Measurement.Verdict = string(measure.Invalid)
	}
	if found, err := FindTrend(g, TrendOptions{}); err != nil || found.Invalid != 0 || len(found.Group.Runs) != 30 {
		t.Errorf("all are invalid: %+v, %v", found, err)
	}
}

// TestTrendOfWhatNobodyMayBelieve: where every measurement is invalid, no figure that needs it is said to
// be better, worse or the same; a size is.
func TestTrendOfWhatNobodyMayBelieve(t *testing.T) {
	for name, from := range map[string]int{"a change": 17, "no change": 30} {
		g := nights(30, from)
		for i := range g.Runs {
			g.Runs[i].Result.Measurement.Verdict = string(measure.Invalid)
			if g.Runs[i].Result.Data.Bytes = 1_000_000 + int64(i%3); i >= from {
				g.Runs[i].Result.Data.Bytes = 2_000_000 + int64(i%3)
			}
		}
		found, err := FindTrend(g, TrendOptions{})
		expect.NoError(t, err)
		d := found.Document("")
		for _, v := range d.Verdicts {
			if size := strings.Contains(v.Text, ": size "); v.Verdict == check.Valid || (v.Verdict == check.Unknown) == size {
				t.Errorf("%s: %+v", name, v)
			}
		}
		if at := slices.IndexFunc(d.Tables, func(t report.Table) bool { return t.Title == "Figures" }); len(d.Verdicts) == 0 || !d.Tables[at].Doubted(d.Tables[at].Rows[0][1]) {
			t.Errorf("%s: %+v, %+v", name, d.Verdicts, d.Tables)
		}
	}
}

// TestTrendOfCutFigures: what the run's end cut is a bound, and a change that it may have made itself is
// not sure. A change from 0 has no percentage.
func TestTrendOfCutFigures(t *testing.T) {
	trendOf := func(before, after float64, cutBefore, cutAfter bool) report.Document {
		var short, long []float64
		for i := range 10 {
			short, long = append(short, before*(1+float64(i%3)/100)), append(long, after*(1+float64(i%3)/100))
		}
		g := outages("nightly", cutBefore, short...)
		g.Runs = append(g.Runs, outages("", cutAfter, long...).Runs...)
		for i := range g.Runs {
			g.Runs[i].Folder, g.Runs[i].Result.Started = fmt.Sprint(i), time.Date(2026, 11, 1+i, 2, 0, 0, 0, time.UTC)
		}
		found, err := FindTrend(g, TrendOptions{})
		expect.NoError(t, err)
		return found.Document("")
	}
	for name, c := range map[string]struct {
		d    report.Document
		want report.DocumentVerdict
		row  string
	}{
		"longer than what was cut": {trendOf(4, 12, false, true), report.DocumentVerdict{Text: "run 11: outage changed by at least +200.0 %", Verdict: check.Violated}, "outage, 4.00 s, at least 12.0 s, 4.00 s, at least 12.2 s, 1"},
		"cut, then shorter":        {trendOf(12, 4, true, false), report.DocumentVerdict{Text: "run 11: outage changed by at most -66.7 %", Verdict: check.Valid}, "outage, at least 12.0 s, 4.00 s, 4.00 s, at least 12.2 s, 1"},
		"shorter, and cut":         {trendOf(12, 4, false, true), report.DocumentVerdict{Text: "run 11: outage changed by at least -66.7 %"}, "outage, 12.0 s, at least 4.00 s, at least 4.00 s, at least 12.2 s, 1"},
		"from none":                {trendOf(0, 12, false, false), report.DocumentVerdict{Text: "run 11: outage changed from 0 ms to 12.1 s", Verdict: check.Violated}, "outage, 0 ms, 12.0 s, 0 ms, 12.2 s, 1"},
	} {
		if !slices.Contains(c.d.Verdicts, c.want) {
			t.Errorf("%s: %+v", name, c.d.Verdicts)
		}
		if rows := c.d.Tables[len(c.d.Tables)-1].Rows; !slices.ContainsFunc(rows, func(row []string) bool { return strings.Join(row, ", ") == c.row }) {
			t.Errorf("%s: %q", name, rows)
		}
	}
}

// TestOutageThatIsNotKnown: without a write no outage of writes is known, and it is no outage of 0.
func TestOutageThatIsNotKnown(t *testing.T) {
	r := &report.Result{Faults: []report.Fault{{WriteOutage: -1, ReadOutage: 3}, {Skipped: true, WriteOutage: 7}}}
	if ms, known := outage(false)(r); known {
		t.Errorf("%g ms", ms)
	}
	r.Faults[0].WriteOutage = 0
	if ms, known := outage(false)(r); ms != 0 || !known {
		t.Errorf("%g ms, known %v", ms, known)
	}
}

func TestTrendWithoutChange(t *testing.T) {
	for name, o := range map[string]TrendOptions{"nothing changed": {}, "too small a change": {MinChange: 0.2}} {
		g := nights(30, 30)
		if o.MinChange > 0 {
			g = nights(30, 17)
		}
		found, err := FindTrend(g, o)
		expect.NoError(t, err)
		d := found.Document("")
		if len(d.Verdicts) != 1 || d.Verdicts[0].Text != "no figure changed" || d.Verdicts[0].Verdict != check.Valid {
			t.Errorf("%s: %+v", name, d.Verdicts)
		}
	}
}

func TestTrendRefuses(t *testing.T) {
	var few *report.FileError
	if _, err := FindTrend(nights(9, 5), TrendOptions{}); !errors.As(err, &few) || !strings.Contains(err.Error(), "9 runs with figures") {
		t.Errorf("of nine runs it says %v", err)
	}
	g := nights(12, 6)
	g.Runs[3].Result.Throughput.Seconds = 0 // it was cut before it measured anything
	g.Runs[5].Result.Load.Clients = 8
	var unlike *DifferentError
	if _, err := FindTrend(g, TrendOptions{}); !errors.As(err, &unlike) || !strings.Contains(err.Error(), "the runs of nightly cannot be compared: they differ in load") {
		t.Errorf("of unlike runs it says %v", err)
	}
	found, err := FindTrend(g, TrendOptions{Allow: []string{"load"}})
	expect.NoError(t, err)
	notes := strings.Join(found.Document("").Notes, "\n")
	if found.Unmeasured != 1 || len(found.Group.Runs) != 11 || !strings.Contains(notes, "The runs differ in load") || !strings.Contains(notes, "1 run without figures left out") {
		t.Errorf("%d left out, notes %s", found.Unmeasured, notes)
	}
}
