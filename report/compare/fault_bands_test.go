package compare

import (
	"errors"
	"math"
	"strings"
	"testing"

	"assay/internal/expect"
	"assay/report"
)

// withFault gives the runs of a group a series of ten seconds after two of warm-up, and a fault.
func withFault(g Group, asked string, from, to float64) Group {
	for i := range g.Runs {
		r := g.Runs[i].Result
		r.Series = report.Series{IntervalSeconds: 1, MeasureStart: 2, MeasureEnd: 12}
		for second := range 12 {
			r.Series.Start, r.Series.Committed = append(r.Series.Start, float64(second)), append(r.Series.Committed, 100)
		}
		if asked != "" {
			r.Faults = []report.Fault{{Action: "kill", Target: "primary", Asked: asked, InjectedSecond: from + 2 + float64(i)/10, HealedSecond: to + 2}}
		}
	}
	return g
}

// TestThroughputOverTimeWithFaults: each fault has a chart in which its time is marked, on the axis of
// the measured part, and rows can be chosen.
func TestThroughputOverTimeWithFaults(t *testing.T) {
	groups := []Group{
		withFault(configured([]string{"cluster=postgres:2", "fault=none"}, around(1000)...), "", 0, 0),
		withFault(configured([]string{"cluster=postgres:2", "fault=kill primary at 3s for 4s"}, around(900)...), "kill primary at 3s for 4s", 3, 7),
		withFault(configured([]string{"cluster=mongodb:3", "fault=kill primary at 3s for 4s"}, around(900)...), "kill primary at 3s for 4s", 3, 7),
		withFault(configured([]string{"cluster=mongodb:3", "fault=isolate primary at 3s for ever"}, around(900)...), "isolate primary at 3s for ever", 3, -9),
	}
	draw := func(text string) []report.LineChart {
		p, err := ParsePlot(text)
		expect.NoError(t, err)
		lines, _, err := Plots(groups, []Plot{p}, nil)
		expect.NoError(t, err)
		return lines
	}
	lines := draw("throughput over time")
	if len(lines) != 3 || len(lines[0].Bands) != 0 || len(lines[1].Lines) != 2 || lines[1].Title != "Throughput over time: kill primary at 3s for 4s" {
		t.Fatalf("%+v", lines)
	}
	if got, want := lines[1].Bands, (report.Band{Name: "kill primary at 3s for 4s", From: 3.2, To: 7}); len(got) != 1 || math.Abs(got[0].From-want.From) > 1e-9 || got[0].To != want.To {
		t.Errorf("%+v, want %+v", got, want)
	}
	expect.Text(t, "the remarks", strings.Join(append(lines[1].Remarks(), lines[2].Remarks()...), "\n"),
		"kill primary at 3s for 4s: from 3.2 s to 7 s.", "isolate primary at 3s for ever: from 3.2 s to the end.")
	var during []string
	for _, row := range lines[1].Draw("x").Figures.Table.Rows {
		during = append(during, row[len(row)-1])
	}
	if got := strings.Join(during, ","); got != "-,-,-"+strings.Repeat(",kill primary at 3s for 4s", 4)+",-,-,-" {
		t.Errorf("the table says %s", got)
	}
	if chosen := draw("throughput over time of mongodb & kill primary"); len(chosen) != 1 || len(chosen[0].Lines) != 1 || len(chosen[0].Bands) != 1 {
		t.Errorf("%+v", chosen)
	}
	p, err := ParsePlot("throughput over time of oracle")
	expect.NoError(t, err)
	var refused *LayoutError
	if _, _, err := Plots(groups, []Plot{p}, nil); !errors.As(err, &refused) || !strings.Contains(err.Error(), "no configuration has oracle") {
		t.Errorf("%v", err)
	}
}

// TestLawOfAPlot: throughput by what work is shared among has the scalability law of each line
// with points enough, and a sentence of it; other charts have none.
func TestLawOfAPlot(t *testing.T) {
	var groups []Group
	for clients, perSecond := range map[string]float64{"1": 1000, "2": 1900, "4": 3300, "8": 4900, "16": 5300} {
		groups = append(groups, configured([]string{"cluster=postgres:2", "clients=" + clients}, around(perSecond)...))
	}
	groups = append(groups, configured([]string{"cluster=mongodb:3", "clients=1"}, around(700)...))
	for text, laws := range map[string]int{"tps by clients": 1, "p99 by clients": 0} {
		p, err := ParsePlot(text)
		expect.NoError(t, err)
		lines, _, err := Plots(groups, []Plot{p}, nil)
		expect.NoError(t, err)
		fitted := 0
		for _, line := range lines[0].Lines {
			if line.Fitted {
				fitted++
				if len(line.Points) != lawPoints+1 || line.Points[0][0] != 1 || line.Points[lawPoints][0] != 16 || !strings.Contains(line.Name, "postgres:2") {
					t.Errorf("%+v", line)
				}
			}
		}
		if fitted != laws || len(lines[0].Notes) != laws || len(lines[0].Draw("x").Figures.Table.Head) != 3 {
			t.Errorf("%s: %+v", text, lines[0])
		}
		if laws > 0 {
			expect.Text(t, "the sentence", lines[0].Notes[0], "Scalability law, cluster=postgres:2: ", "/s at clients=1, contention ", "coherency ", "By the law throughput is highest with ")
		}
	}
}
