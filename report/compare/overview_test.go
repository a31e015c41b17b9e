package compare

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/check"
	"assay/internal/expect"
	"assay/measure/servers"
	"assay/report"
)

// convicted gives a run a finding, which the settings may allow.
func convicted(r *report.Result, kind string, promised bool) {
	r.Verdict = check.Violated
	kept := !promised
	r.Promise = &report.Promise{Kept: &kept}
	c := check.Result{Name: "transfers", Verdict: check.Violated, Found: 3, Findings: []check.Finding{{Kind: kind, Found: 3, Promised: &promised}},
		Evidence: []check.Evidence{{Kind: kind, Text: "transfer 7 of client 1 is gone"}}}
	if !promised {
		r.Verdict, c.Verdict = check.Allowed, check.Allowed
		c.Findings[0].Source, c.Findings[0].Manual = "w=1", "the manual"
	}
	r.Checks = append(r.Checks, c)
}

// systems are runs of three systems, the second of which costs twice the first; the third has
// none.
func systems() Experiment {
	e := Experiment{Found: map[string]string{"system=b": "#found-b"}}
	for i, name := range []string{"a", "b"} {
		g := configured([]string{"system=" + name}, around(1000)...)
		for j := range g.Runs {
			use := 0.25 * float64(i+1)
			g.Runs[j].Result.Servers = &servers.Summary{Nodes: []servers.NodeSummary{{Node: servers.Node{Name: "n1", CPUs: 2}, CPUMean: &use}, {Node: servers.Node{Name: "assay", Tester: true}}}}
			g.Runs[j].Result.Availability = &report.Availability{Lost: int64(i * j)}
			g.Runs[j].Result.Database.Settings = nil
			if i == 0 {
				g.Runs[j].Result.Cluster = &report.Cluster{Spec: "a:1"}
				g.Runs[j].Result.Database.Settings = []report.Setting{{Name: "fsync", Value: "on"}, {Name: "w", Value: "1"}}
			}
		}
		e.Groups = append(e.Groups, g)
	}
	e.LeftOut = []LeftOut{{Values: []report.Setting{{Name: "system", Value: "c"}}, Why: "not possible: it has no transactions"}}
	return e
}

func overviewOf(columns ...OverviewColumn) Overview {
	for i := range columns {
		columns[i].Title, columns[i].Of = "column", "x"
	}
	return Overview{Title: "All", Rows: "system", Values: []string{"a", "b", "c"}, Columns: columns}
}

func cells(t *testing.T, e Experiment, c OverviewColumn) (all []string, links map[[2]int]string) {
	t.Helper()
	table, err := overviewOf(c).Table(map[string]Experiment{"x": e})
	expect.NoError(t, err)
	for _, row := range table.Rows {
		all = append(all, row[1])
	}
	return all, table.Links
}

func TestOverviewVerdicts(t *testing.T) {
	e := systems()
	convicted(e.Groups[1].Runs[2].Result, "lost", true)
	convicted(e.Groups[1].Runs[3].Result, "lost", false)
	e.Groups[1].Runs[4].Result.Verdict = check.Unknown
	e.Groups[1].Failed, e.Groups[1].Problem = 1, "no room"
	got, links := cells(t, e, OverviewColumn{})
	want := []string{"✓ valid in 5 of 5 runs",
		"✗ violated in 1 of 5 runs; ? unknown in 1 of 5 runs; ! allowed in 1 of 5 runs; ✓ valid in 2 of 5 runs; 1 run could not be made: no room",
		"not possible: it has no transactions"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if len(links) != 1 || links[[2]int{1, 1}] != "#found-b" {
		t.Errorf("%v", links)
	}
	found := FindingsOf(e.Groups)
	if len(found) != 1 || found[0].Group != "system=b" || len(found[0].Lines) != 1 ||
		found[0].Lines[0] != "transfers, lost: 6 findings in 2 of 5 runs, which breaks a promise of the vendor's; such as: transfer 7 of client 1 is gone" {
		t.Errorf("%q", found)
	}
	empty := Experiment{Groups: []Group{{Name: "system=a", Values: e.Groups[0].Values, Failed: 2, Problem: "no server"}}}
	if got, _ := cells(t, empty, OverviewColumn{}); !slices.Equal(got, []string{"could not be made: no server", "-", "-"}) {
		t.Errorf("%q", got)
	}
}

// TestNoVerdictIsNoConviction: runs without a verdict, or of which nothing was to be judged, convict
// nobody.
func TestNoVerdictIsNoConviction(t *testing.T) {
	g := configured([]string{"system=a"}, around(1000)...)
	g.Runs[0].Result.Verdict = check.Unknown
	if v := VerdictOf([]Group{g}); v.Verdict != check.Unknown || v.Text != "UNKNOWN in 1 of 5 runs, VALID in 4 of 5 runs" {
		t.Errorf("%+v", v)
	}
	for i := range g.Runs {
		g.Runs[i].Result.Verdict, g.Runs[i].Result.Unasked = check.Unknown, "no invariant was declared"
	}
	if v := VerdictOf([]Group{g}); v.Verdict != check.Unknown || v.Text != "NOT JUDGED in 5 of 5 runs" {
		t.Errorf("%+v", v)
	}
	if text := g.verdicts(); text != "? not judged in 5 of 5 runs" {
		t.Error(text)
	}
	convicted(g.Runs[1].Result, "lost", true)
	if v := VerdictOf([]Group{g}); v.Verdict != check.Violated || !strings.HasPrefix(v.Text, "VIOLATED in 1 of 5 runs, NOT JUDGED in 4") {
		t.Errorf("a broken promise: %+v", v)
	}
}

// TestAllowedFindings: what the settings allow is neither good nor bad, and is said to be allowed.
func TestAllowedFindings(t *testing.T) {
	g := configured([]string{"system=a"}, around(1000)...)
	convicted(g.Runs[0].Result, "lost", false)
	if v := VerdictOf([]Group{g}); v.Verdict != check.Allowed || !strings.Contains(v.Text, "ALLOWED in 1 of 5 runs, VALID in 4") {
		t.Errorf("%+v", v)
	}
	if lines := FindingsOf([]Group{g})[0].Lines; !strings.Contains(lines[0], "in 1 of 5 runs, allowed by w=1; the manual; such as") {
		t.Errorf("%q", lines)
	}
	convicted(g.Runs[1].Result, "lost", true)
	if v := VerdictOf([]Group{g}); v.Verdict != check.Violated {
		t.Errorf("a broken promise: %+v", v)
	}
}

func TestOverviewFigures(t *testing.T) {
	for _, c := range []struct {
		column OverviewColumn
		want   []string
	}{
		{OverviewColumn{Show: "server cpu", Ratio: "a"}, []string{"1", "2.00 (1.96 to 2.04)"}},
		{OverviewColumn{Show: "server cpu"}, []string{"500 µs (495 µs to 505 µs)", "1.00 ms (990 µs to 1.01 ms)"}},
		{OverviewColumn{Show: "lost"}, []string{"0 in 5 runs", "10 in 5 runs"}},
		{OverviewColumn{Show: "clients"}, []string{"4", "4"}},
		{OverviewColumn{Show: "indexes"}, []string{"-", "-"}},
		{OverviewColumn{Show: "cluster"}, []string{"a:1", "-"}},
		{OverviewColumn{Show: "settings"}, []string{"fsync=on, w=1", "-"}},
	} {
		got, links := cells(t, systems(), c.column)
		if want := append(c.want, "not possible: it has no transactions"); !slices.Equal(got, want) || len(links) != 0 {
			t.Errorf("%+v: %q, %v, want %q", c.column, got, links, want)
		}
	}
	doubted := systems()
	for i := range doubted.Groups[0].Runs {
		doubted.Groups[0].Runs[i].Result.Measurement.Verdict = "invalid"
	}
	if got, _ := cells(t, doubted, OverviewColumn{Show: "server cpu", Ratio: "a"}); !strings.HasSuffix(got[0], "?") || !strings.HasSuffix(got[1], "?") {
		t.Errorf("of invalid measurements: %q", got)
	}
}

func TestOverviewOfPowerCuts(t *testing.T) {
	e := systems()
	newest, oldest := 4.0, 186.0
	for i := range e.Groups[0].Runs {
		r := e.Groups[0].Runs[i].Result
		r.Durability = &report.Durability{Class: "system crash", Source: "fsync=on", Tried: true}
		r.Faults = []report.Fault{{Action: "power-cut", CutAt: &time.Time{}}}
		r.Lost = &report.Lost{}
		if i == 2 {
			r.Lost = &report.Lost{Operations: 42, Beyond: 2, Newest: &newest, Oldest: &oldest}
		}
		if i == 3 {
			r.Lost = nil
		}
	}
	if got, _ := cells(t, e, OverviewColumn{Show: ShowLoss}); got[1] != "no power was cut" ||
		got[0] != "42 operations acknowledged, in 1 of 4 runs, 4 to 186 ms before the cut, 2 of them more than the manual allows; not known of 1 run" {
		t.Errorf("%q", got)
	}
	unread := systems()
	for i := range unread.Groups[0].Runs {
		unread.Groups[0].Runs[i].Result.Faults = []report.Fault{{Action: "power-cut", CutAt: &time.Time{}}}
		killed := unread.Groups[1].Runs[i].Result
		killed.Durability, killed.Lost = &report.Durability{Tried: true}, &report.Lost{Operations: 5}
	}
	if got, _ := cells(t, unread, OverviewColumn{Show: ShowLoss}); got[0] != "not known of 5 runs" || got[1] != "no power was cut" {
		t.Errorf("%q", got)
	}
	unpromised := systems()
	for i := range unpromised.Groups[0].Runs {
		unpromised.Groups[0].Runs[i].Result.Faults = []report.Fault{{Action: "power-cut", CutAt: &time.Time{}}}
		unpromised.Groups[0].Runs[i].Result.Lost = &report.Lost{}
	}
	if got, _ := cells(t, unpromised, OverviewColumn{Show: ShowLoss}); got[0] != "nothing in 5 runs" || got[1] != "no power was cut" {
		t.Errorf("of a database that promises nothing: %q", got)
	}
	if got, _ := cells(t, e, OverviewColumn{Show: ShowDurability}); got[0] != "system crash (fsync=on)" || got[1] != "not known" {
		t.Errorf("%q", got)
	}
}

// TestOverviewOfSeveralConfigurations: a cell names the other values, those alike together.
func TestOverviewOfSeveralConfigurations(t *testing.T) {
	var e Experiment
	for _, level := range []string{"weak", "strong", "strongest"} {
		g := configured([]string{"system=a", "level=" + level}, around(1000)...)
		for i := range g.Runs {
			g.Runs[i].Result.Database.Promise = "serializable"
		}
		e.Groups = append(e.Groups, g)
	}
	for i, kind := range []string{"G2-item", "G1a", "G2-item"} {
		convicted(e.Groups[0].Runs[i].Result, kind, false)
	}
	convicted(e.Groups[2].Runs[0].Result, "G2-item", true)
	got, _ := cells(t, e, OverviewColumn{Show: ShowAnomalies})
	if want := "level=weak: serializable promised; shows G1a, G2-item; level=strong: serializable promised; no anomaly in 5 runs; " +
		"level=strongest: serializable ✗ promised and broken; shows G2-item"; got[0] != want {
		t.Errorf("%q, want %q", got[0], want)
	}
	for i := range e.Groups { // such as by a schema that is gone with the power
		for j := range e.Groups[i].Runs {
			e.Groups[i].Runs[j].Result.Checks = nil
		}
	}
	if got, _ := cells(t, e, OverviewColumn{Show: ShowAnomalies}); !strings.Contains(got[0], "no anomaly in 5 runs; level=strongest: serializable ✗ promised and broken; violated in 1 of 5 runs, by what has no kind") {
		t.Errorf("without kinds: %q", got[0])
	}
	if got, _ := cells(t, e, OverviewColumn{Show: "clients"}); got[0] != "4" {
		t.Errorf("all alike: %q", got[0])
	}
	if got, _ := cells(t, e, OverviewColumn{Where: []string{"strong"}}); got[0] != "✓ valid in 5 of 5 runs" {
		t.Errorf("one of them: %q", got[0])
	}
}

func TestOverviewErrors(t *testing.T) {
	of := append(systems().Groups, Group{Values: []report.Setting{{Name: "system", Value: "c"}}})
	for want, c := range map[string]OverviewColumn{
		`cannot show "verdikt"`:       {Show: "verdikt"},
		`did you mean verdict`:        {Show: "verdikt"},
		`no configuration of x has d`: {Of: "x", Where: []string{"d"}},
		`"verdict" is no figure`:      {Ratio: "a"},
	} {
		if err := c.Check(of); !errors.As(err, new(*LayoutError)) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", c, err, want)
		}
	}
	for _, c := range []OverviewColumn{{}, {Show: "tps", Ratio: "a"}, {Show: "fill: took"}, {Show: "database"}, {Where: []string{"c"}}} {
		expect.NoError(t, c.Check(of))
	}
}
