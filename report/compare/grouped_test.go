package compare

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"assay/internal/expect"
	"assay/report"
)

// TestGroupedTable: rows stand under the values of their group, sorted within it.
func TestGroupedTable(t *testing.T) {
	reported := []Reported{
		{Values: []report.Setting{{Name: "cluster", Value: "postgres:2"}, {Name: "clients", Value: "1"}}, Figures: map[string]float64{"tps": 2000}},
		{Values: []report.Setting{{Name: "cluster", Value: "mongodb:3"}, {Name: "clients", Value: "512"}}, Figures: map[string]float64{"tps": 9000}},
		{Values: []report.Setting{{Name: "clients", Value: "512"}}, Figures: map[string]float64{"tps": 8000}},
	}
	tables, err := Configurations(series(), Layout{Columns: []string{"tps"}, Sort: "tps", Group: []string{"cluster"}, Reported: reported})
	expect.NoError(t, err)
	table := tables[0]
	var got []string
	for i, row := range table.Rows {
		got = append(got, table.Parts[i]+": "+strings.Join(row, " "))
	}
	want := []string{"cluster=postgres:2: 8 4,000/s ± 1 %", ": 1 1,000/s ± 1 %", "cluster=mongodb:3: 8 3,900/s ± 1 %", ": 1 700/s ± 1 %"}
	if beside := tables[1]; len(beside.Rows) != 4 || strings.Join(beside.Rows[1], " ") != "postgres:2 1 ours 1,000/s (0.5 times) 0 rows" {
		t.Errorf("%q", beside.Rows)
	}
	if !slices.Equal(got, want) || table.Head[0] != "clients" {
		t.Errorf("%q\n%s\nwant\n%s", table.Head, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	var refused *LayoutError
	if err := (Layout{Group: []string{"colour"}}).Check(series(), nil); !errors.As(err, &refused) {
		t.Errorf("%v", err)
	}
}

// TestGroupedBars: bars stand under the values of their group, whatever the order of the
// configurations, and several figures under each configuration.
func TestGroupedBars(t *testing.T) {
	names := func(text string, group ...string) (all []string) {
		p, err := ParsePlot(text)
		expect.NoError(t, err)
		_, bars, err := Plots(series(), []Plot{p}, group)
		expect.NoError(t, err)
		for _, b := range bars[0].Bars {
			if len(b.Runs) != 5 {
				t.Errorf("%s of %s has the runs %v", b.Name, b.Group, b.Runs)
			}
			all = append(all, b.Group+"/"+b.Name)
		}
		return all
	}
	for _, c := range []struct{ got, want []string }{
		{names("tps", "clients"), []string{"clients=1/cluster=postgres:2", "clients=1/cluster=mongodb:3", "clients=8/cluster=postgres:2", "clients=8/cluster=mongodb:3"}},
		{names("tps"), []string{"/cluster=postgres:2, clients=1", "/cluster=postgres:2, clients=8", "/cluster=mongodb:3, clients=1", "/cluster=mongodb:3, clients=8"}},
		{names("p50 and p99")[:3], []string{"cluster=postgres:2, clients=1/p50", "cluster=postgres:2, clients=1/p99", "cluster=postgres:2, clients=8/p50"}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
	p, err := ParsePlot("tps and p99")
	expect.NoError(t, err)
	if _, _, err := Plots(series(), []Plot{p}, nil); err == nil || !strings.Contains(err.Error(), "two units") {
		t.Errorf("%v", err)
	}
}

// TestDefaultPlots: what is drawn of an experiment that names no charts follows from its kind.
func TestDefaultPlots(t *testing.T) {
	of := func(change func(*report.Result), values ...string) []Group {
		g := configured(values, around(1000)...)
		for i := range g.Runs {
			change(g.Runs[i].Result)
		}
		return []Group{g}
	}
	round := []report.Round{{Name: "round", Seconds: 2, Size: &report.RoundSize{Bytes: 1000}}}
	for name, c := range map[string]struct {
		groups []Group
		want   []string
	}{
		"clients":    {series(), []string{"Throughput by clients", "P99 by clients"}},
		"bulkupdate": {of(func(r *report.Result) { r.Rounds = []report.Round{{Name: "round", Seconds: 2}} }, "cluster=a"), []string{"Took over rounds"}},
		"churn":      {of(func(r *report.Result) { r.Rounds = round }, "cluster=a"), []string{"Size over rounds"}},
		"candles": {of(func(r *report.Result) {
			r.Rounds, r.Data.Bytes = []report.Round{{Name: "ingest", Seconds: 2, RowsPerSecond: 10}}, 1000
		}, "engine=a"), []string{"Ingest: rows", "Throughput", "Size"}},
		"availability": {of(func(r *report.Result) { r.Availability = &report.Availability{WriteOutage: 5} }, "fault=kill", "policy=retry"), []string{"Outage under fault=kill: policy=retry"}},
		"faults":       {of(func(r *report.Result) { r.Faults = []report.Fault{{Action: "kill", WriteOutage: 5}} }, "fault=kill"), []string{"Throughput", "Outage"}},
		"engines":      {of(func(*report.Result) {}, "engine=a"), []string{"Throughput", "P50", "P99"}},
	} {
		lines, bars, err := Plots(c.groups, nil, nil)
		expect.NoError(t, err)
		var got []string
		for _, b := range bars {
			title := b.Title
			if b.Bars[0].Group != "" {
				title += " under " + b.Bars[0].Group + ": " + b.Bars[0].Name
			}
			got = append(got, title)
		}
		for _, l := range lines {
			got = append(got, l.Title)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
