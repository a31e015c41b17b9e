package compare

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/perf/benchmath"

	"assay/internal/expect"
	"assay/report"
)

func cutAll(values ...float64) (all []observation) {
	for _, v := range values {
		all = append(all, observation{v, true})
	}
	return all
}

func measuredAs(values ...float64) (all []observation) {
	for _, v := range values {
		all = append(all, observation{value: v})
	}
	return all
}

// Without values that were cut the test is the U test; with them it claims only what is sure.
func TestProbability(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	for range 50 {
		var x, y []observation
		for range 5 {
			x, y = append(x, observation{value: random.Float64()}), append(y, observation{value: random.Float64() + 0.5})
		}
		uTest := benchmath.AssumeNothing.Compare(benchmath.NewSample(valuesIn(x), &benchmath.DefaultThresholds), benchmath.NewSample(valuesIn(y), &benchmath.DefaultThresholds)).P
		if got := probability([2][]observation{x, y}); math.Abs(got-uTest) > 1e-9 {
			t.Errorf("of %v and %v: %v, the U test has %v", x, y, got, uTest)
		}
	}
	for name, c := range map[string]struct {
		x, y []observation
		want float64
	}{
		"all of one side are longer": {cutAll(22, 22, 22, 22, 22), measuredAs(10, 11, 12, 13, 14), 2.0 / 252},
		"cut before the others":      {cutAll(22, 22, 22, 22, 22), measuredAs(23, 24, 25, 26, 27), 1},
		"both cut":                   {cutAll(22, 22, 22, 22, 22), cutAll(50, 51, 52, 53, 54), 1},
		"of one time, one cut":       {cutAll(5, 5, 5, 5, 5), measuredAs(5, 5, 5, 5, 5), 2.0 / 252},
		// Scores by hand: x has 2, 2, and y -2, -2 of six ways to divide them.
		"two of each": {cutAll(9, 9), measuredAs(1, 2), 2.0 / 6},
	} {
		if got := probability([2][]observation{c.x, c.y}); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	var many, others []observation
	for i := range 40 {
		many, others = append(many, observation{float64(100 + i), i%3 == 0}), append(others, observation{value: float64(i)})
	}
	if p := probability([2][]observation{many, others}); p > 1e-6 {
		t.Errorf("of 40 runs each, all longer: %v", p)
	}
}

// outages is a group of runs with these outages in seconds; one with cut lasted to the run's end.
func outages(name string, cut bool, seconds ...float64) Group {
	g := Group{Name: name, Values: []report.Setting{{Name: "cluster", Value: name}}}
	for _, s := range seconds {
		r := result(100, 1)
		r.Faults = []report.Fault{{Action: "kill", Target: "primary", WriteOutage: s * 1000, WritesAway: cut, ReadOutage: -1, LongestCall: -1}}
		g.Runs = append(g.Runs, Run{Result: r})
	}
	return g
}

// What the end of runs cut is at least so long in tables, intervals, and charts.
func TestCutOutages(t *testing.T) {
	a, b := outages("a", true, 22, 22.1, 22.2, 22.1, 22), outages("b", false, 25, 26, 25, 27, 25)
	m, _ := find(metrics(), outageName)
	if s := a.spread(m); !s.AtLeast || !s.HighAtLeast || shareText(s) != "" {
		t.Errorf("%+v", s)
	}
	mixed := outages("mixed", false, 3, 4, 5)
	mixed.Runs = append(mixed.Runs, outages("", true, 9, 9).Runs...)
	if s := mixed.spread(m); s.AtLeast || !s.HighAtLeast || mixed.figureOver(m) != "5.00 s (3.00 s to at least 9.00 s)" {
		t.Errorf("the median is below what was cut: %+v, %s", s, mixed.figureOver(m))
	}
	c, err := Compare(b, a, Options{Allow: []string{"all"}})
	expect.NoError(t, err)
	var text strings.Builder
	expect.NoError(t, Document([]*Comparison{c}, "").Markdown(&text))
	expect.Text(t, "the comparison", text.String(), "| outage | 25.0 s | 4 % | at least 22.1 s |  | \\~ | 1.000 |")
	plot, err := ParsePlot("outage")
	expect.NoError(t, err)
	_, bars, err := Plots([]Group{a, b}, []Plot{plot}, nil)
	expect.NoError(t, err)
	if drawn := bars[0].Draw("x").Bars; drawn[0].Text != "at\u00a0least\u00a022.1\u00a0s" || strings.Contains(drawn[1].Text, "least") {
		t.Errorf("drawn %q and %q", drawn[0].Text, drawn[1].Text)
	}
}
