package compare

import (
	"strings"
	"testing"

	"assay/internal/expect"
	"assay/measure"
	"assay/report"
)

// growing is a group of runs whose clients grew to 40, each with its point; 0 is none.
func growing(value string, points ...float64) Group {
	g := configured([]string{value}, around(1000)...)
	for i := range g.Runs {
		p := &report.Ramp{WindowSeconds: 1, Degradation: report.RampDegradation{State: "not reached"}}
		if at := points[i]; at > 0 {
			low, high, speed := at-1, at+1, 100*at
			p.Degradation = report.RampDegradation{State: "reached", Clients: &at, ClientsLow: &low, ClientsHigh: &high, PerSecond: &speed}
		}
		for clients := 1.0; clients <= 40; clients++ {
			p.Points = append(p.Points, measure.RampPoint{Clients: clients, PerSecond: 100*min(clients, 20) + float64(i)})
		}
		p.Points = append(p.Points, p.Points[39])
		g.Runs[i].Result.Ramp = p
	}
	return g
}

func TestRampPlot(t *testing.T) {
	p, err := ParsePlot("ramp")
	expect.NoError(t, err)
	some, none := growing("system=A", 20, 21, 19, 22, 0), growing("system=B", 0, 0, 0, 0, 0)
	still := configured([]string{"system=C"}, around(1000)...)
	expect.NoError(t, Layout{Columns: []string{"degradation"}}.Check([]Group{some, none}, []Plot{p}))
	lines, _, err := Plots([]Group{some, none, still}, []Plot{p}, nil)
	expect.NoError(t, err)
	if len(lines) != 1 || len(lines[0].Lines) != 2 || lines[0].Title != "Throughput by active clients" {
		t.Fatalf("%+v", lines)
	}
	a, b := lines[0].Lines[0], lines[0].Lines[1]
	if len(a.Points) != 40 || a.Points[9] != [2]float64{10, 1002} || a.Points[39] != [2]float64{40, 2002} {
		t.Errorf("%v", a.Points)
	}
	if a.Mark == nil || a.Mark.At != [2]float64{20.5, 2050} || a.Mark.Text != "degradation at 20.5 in 4 of 5" || b.Mark != nil {
		t.Errorf("%+v and %+v", a.Mark, b.Mark)
	}
	if of, err := ParsePlot("ramp of A"); err != nil {
		t.Error(err)
	} else if lines, _, err := Plots([]Group{some, none}, []Plot{of}, nil); err != nil || len(lines[0].Lines) != 1 {
		t.Errorf("%+v, %v", lines, err)
	}
}

func TestDegradationColumn(t *testing.T) {
	groups := []Group{growing("system=A", 20, 21, 19, 22, 18), growing("system=B", 20, 0, 0, 0, 0), growing("system=C", 0, 0, 0, 0, 0), configured([]string{"system=D"}, around(1000)...)}
	tables, err := Configurations(groups, Layout{Columns: []string{"degradation"}})
	expect.NoError(t, err)
	for i, want := range []string{"20.0 clients ± 10 %", "reached in 1, not reached in 4", "not reached", "-"} {
		if got := strings.ReplaceAll(tables[0].Rows[i][1], "\u00a0", " "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	c, err := Compare(groups[0], growing("system=B", 30, 31, 29, 32, 28), Options{})
	expect.NoError(t, err)
	found := false
	for _, r := range c.Rows {
		found = found || r.Metric == "degradation" && r.Significant && r.Better
	}
	if !found {
		t.Errorf("the comparison has no better point of degradation: %+v", c.Rows)
	}
}
