package compare

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"assay/check"
	"assay/internal/expect"
	"assay/report"
)

func TestConfigurations(t *testing.T) {
	groups := series()
	reported := []Reported{
		{Values: []report.Setting{{Name: "cluster", Value: "postgres:2"}, {Name: "clients", Value: "1"}}, Figures: map[string]float64{"tps": 2000}},
		{Values: []report.Setting{{Name: "clients", Value: "512"}}, Figures: map[string]float64{"throughput": 9000}, Remark: "20 nodes"},
	}
	tables, err := Configurations(groups, Layout{Columns: []string{"clients", "tps", "errors", "outage"}, Sort: "throughput", Reported: reported})
	expect.NoError(t, err)
	text := func(t report.Table) (lines []string) {
		for _, row := range append([][]string{t.Head}, t.Rows...) {
			lines = append(lines, strings.Join(row, " | "))
		}
		return lines
	}
	want := []string{
		"cluster | clients | clients | throughput | errors",
		"postgres:2 | 8 | 4 | 4,000/s ± 1 % | 0 %", "mongodb:3 | 8 | 4 | 3,900/s ± 1 % | 0 %",
		"postgres:2 | 1 | 4 | 1,000/s ± 1 % | 0 %", "mongodb:3 | 1 | 4 | 700/s ± 1 % | 0 %",
	}
	if got := text(tables[0]); !slices.Equal(got, want) {
		t.Errorf("\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	want = []string{
		"cluster | clients | source | throughput | machine and size",
		"postgres:2 | 1 | reported | 2,000/s | -", "postgres:2 | 1 | ours | 1,000/s (0.5 times) | 0 rows", "- | 512 | reported | 9,000/s | 20 nodes",
	}
	if got := text(tables[1]); len(tables) != 2 || !slices.Equal(got, want) {
		t.Errorf("\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if groups[0].Values[1].Value != "1" {
		t.Error("the caller's groups are sorted too")
	}
}

// A figure of invalid measurements looks so where it stands; the size of the data is none.
func TestDoubtfulFigures(t *testing.T) {
	g := configured([]string{"clients=1"}, around(1000)...)
	for i := range g.Runs {
		r := g.Runs[i].Result
		r.Measurement, r.Data.Bytes = report.Measurement{Verdict: "invalid", Reasons: []string{"too short: 1 s"}}, 1<<20
	}
	tables, err := Configurations([]Group{g}, Layout{Columns: []string{"throughput", "size"}})
	expect.NoError(t, err)
	if table := tables[0]; !table.Doubted(table.Rows[0][1]) || table.Doubted(table.Rows[0][2]) {
		t.Errorf("%q", table.Rows)
	}
	if v := VerdictOf([]Group{g}); v.Verdict != check.Unknown || !strings.Contains(v.Text, "VALID in 5 of 5 runs; the measurement is INVALID in 5") {
		t.Errorf("%+v", v)
	}
	summary := Summary("bank", []Group{g, configured([]string{"clients=2"}, around(900)...)})
	if first := summary.Tables[0]; !first.Doubted(first.Rows[0][2]) || first.Doubted(first.Rows[1][2]) {
		t.Errorf("%q", first.Rows)
	}
	if _, bars, err := Plots([]Group{g}, nil, nil); err != nil || !bars[0].Bars[0].Doubted {
		t.Errorf("%+v, %v", bars, err)
	}
}

// The size of the data is that of all runs, also of those whose measurement is invalid.
func TestSizesDoNotRestOnTheMeasurement(t *testing.T) {
	g := configured([]string{"clients=1"}, around(1000)...)
	for i := range g.Runs {
		r := g.Runs[i].Result
		r.Data.Bytes = int64(1+i) << 20
		if i > 0 {
			r.Measurement = report.Measurement{Verdict: "invalid", Reasons: []string{"too short: 1 s"}}
		}
	}
	tables, err := Configurations([]Group{g}, Layout{Columns: []string{"size"}})
	expect.NoError(t, err)
	if want := []string{"1", "3.15 MB ± 67 %"}; !slices.Equal(tables[0].Rows[0], want) {
		t.Errorf("%q, want %q", tables[0].Rows[0], want)
	}
}

func TestLayoutErrors(t *testing.T) {
	for want, l := range map[string]Layout{
		"there is no column \"beauty\"":               {Columns: []string{"beauty"}},
		"there is no column to sort by \"cleints\"":   {Sort: "cleints"},
		"there is no figure to be reported \"speed\"": {Reported: []Reported{{Figures: map[string]float64{"speed": 1}}}},
	} {
		var refused *LayoutError
		if err := l.Check(series(), nil); !errors.As(err, &refused) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if err := (Layout{Columns: []string{"tps", "nodes", "fill: took"}, Sort: "clients"}).Check(series(), nil); err != nil {
		t.Error(err)
	}
	if _, err := Configurations(series(), Layout{Columns: []string{"mean"}, Reported: []Reported{{Figures: map[string]float64{"tps": 1}}}}); err == nil || !strings.Contains(err.Error(), "no figure among the columns") {
		t.Errorf("a reported figure without a column: %v", err)
	}
	if _, err := Configurations([]Group{{Name: "none"}}, Layout{}); err == nil {
		t.Error("a table of no run")
	}
}

func TestPlots(t *testing.T) {
	var plots []Plot
	for _, text := range []string{"tps", "p99 by clients", "throughput over time", "response time by percentile"} {
		p, err := ParsePlot(text)
		expect.NoError(t, err)
		plots = append(plots, p)
	}
	expect.NoError(t, Layout{}.Check(series(), plots))
	lines, bars, err := Plots(series(), plots, nil)
	expect.NoError(t, err)
	if len(bars) != 1 || len(bars[0].Bars) != 4 || bars[0].Bars[1].Value != 4000 || len(bars[0].Bars[1].Runs) != 5 || bars[0].Title != "Throughput" {
		t.Errorf("%+v", bars)
	}
	if len(lines) != 3 || lines[0].Title != "P99 by clients" || len(lines[0].Lines) != 2 || lines[0].Lines[0].Name != "cluster=postgres:2" ||
		!slices.Equal(lines[0].Lines[0].Points, [][2]float64{{1, 16}, {8, 4}}) {
		t.Errorf("%+v", lines)
	}
	for _, text := range []string{"beauty", "p99 by shards", "tps by cluster"} {
		p, err := ParsePlot(text)
		expect.NoError(t, err)
		early := Layout{}.Check(series(), []Plot{p})
		if _, _, err := Plots(series(), []Plot{p}, nil); err == nil || early == nil {
			t.Errorf("%s: %v, %v", text, err, early)
		}
	}
}

func TestPlotsOverRounds(t *testing.T) {
	g := configured([]string{"cluster=mongodb:1"}, around(1000)...)
	for i := range g.Runs {
		for round := range 3 {
			g.Runs[i].Result.Rounds = append(g.Runs[i].Result.Rounds, report.Round{Name: "round", Seconds: 2, Size: &report.RoundSize{Bytes: int64(1000 * (round + 1))}})
		}
	}
	tasks := [][2]float64{{0.1, 12}, {0.2, 9}}
	g.Runs[0].Result.Rounds[1] = report.Round{Name: "15 workers", Seconds: 2, Size: &report.RoundSize{Bytes: 2000}, Tasks: tasks}
	for text, want := range map[string][][2]float64{"size over rounds": {{1, 1000}, {2, 2000}, {3, 3000}}, "each task of 15 workers": tasks} {
		p, err := ParsePlot(text)
		expect.NoError(t, err, Layout{}.Check([]Group{g}, []Plot{p}))
		lines, _, err := Plots([]Group{g}, []Plot{p}, nil)
		if err != nil || len(lines) != 1 || !slices.Equal(lines[0].Lines[0].Points, want) {
			t.Errorf("%s: %+v, %v", text, lines, err)
		}
	}
}

// TestFiguresOfParts: an author may ask for the parts of a size, for rounds, and for what became of
// operations, which no invalid measurement puts in doubt. Remarks of a kind are one sentence.
func TestFiguresOfParts(t *testing.T) {
	groups := []Group{configured([]string{"policy=retry"}, around(1000)...), configured([]string{"policy=none"}, around(1000)...)}
	for _, g := range groups {
		for i := range g.Runs {
			r := g.Runs[i].Result
			r.Measurement = report.Measurement{Verdict: "invalid", Reasons: []string{"too short: 1 s"}}
			r.Data = report.Data{Bytes: 3000, Indexes: 1000, Rows: map[string]int64{"a": 20, "b": 10}}
			r.Availability = &report.Availability{Duplicates: 7}
			r.Rounds = []report.Round{{Name: "5 workers", Service: report.Latency{Count: 2, Mean: 1, Max: 12}, Size: &report.RoundSize{Bytes: 500}}}
		}
	}
	columns := []string{"indexes", "bytes a row", "done twice", "lost", "5 workers: size", "5 workers: longest"}
	tables, err := Configurations(groups, Layout{Columns: columns, Sort: "5 workers: longest"})
	expect.NoError(t, err)
	if want := []string{"none", "1.00 kB", "100 B", "7", "0", "500 B", "12.0 ms\u00a0?"}; !slices.Equal(tables[0].Rows[1], want) {
		t.Errorf("%q", tables[0].Rows)
	}
	remarks := Remarks(groups)
	if len(remarks) != 1 || !strings.Contains(remarks[0], "too short (10): policy=retry (5 of 5); policy=none (5 of 5).") {
		t.Errorf("%q", remarks)
	}
}

// TestTablesAreNarrow: what no row has is no column, and columns beyond the eighth stand in a table
// of their own, with what names the rows.
func TestTablesAreNarrow(t *testing.T) {
	g := configured([]string{"clients=1"}, around(1000)...)
	columns := []string{"throughput", "mean", "p50", "p95", "p99", "max", "errors", "nodes", "bandwidth", "clients"}
	tables, err := Configurations([]Group{g}, Layout{Columns: columns})
	expect.NoError(t, err)
	if len(tables) != 2 || len(tables[0].Head) != 8 || !slices.Equal(tables[1].Head, []string{"clients", "clients"}) || tables[1].Title != "continued" || tables[1].Rows[0][0] != "1" {
		t.Errorf("%+v", tables)
	}
	g.Runs[0].Result.Cluster = &report.Cluster{Nodes: []report.ClusterNode{{Bandwidth: 1e9}}}
	tables, err = Configurations([]Group{g}, Layout{Columns: []string{"bandwidth"}})
	if expect.NoError(t, err); !slices.Equal(tables[0].Rows[0], []string{"1", "1Gbit"}) {
		t.Errorf("%q", tables[0].Rows)
	}
}
