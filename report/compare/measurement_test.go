package compare

import (
	"strings"
	"testing"

	"assay/internal/expect"
	"assay/measure"
)

// TestGatesOnInvalidMeasurements: a gate is not answered by figures that are not believed,
// and one that is wide is believed and marked.
func TestGatesOnInvalidMeasurements(t *testing.T) {
	gate, err := ParseGate("throughput>-5%")
	expect.NoError(t, err)
	for name, c := range map[string]struct {
		grades     string // of the runs of B
		unanswered bool
		says       string
	}{
		"valid":       {"valid valid valid valid valid", false, "missed: throughput"},
		"wide":        {"wide wide wide wide wide", false, "missed: throughput"},
		"one invalid": {"valid invalid valid valid valid", false, "missed: throughput"},
		"too few":     {"valid invalid invalid invalid invalid", true, "4 of 10 measurements are invalid"},
		"all invalid": {"invalid invalid invalid invalid invalid", true, "it rests on invalid measurements"},
	} {
		a, b := group("a", 1000, 1010, 990, 1005, 995), group("b", 800, 810, 790, 805, 795)
		for i, grade := range strings.Fields(c.grades) {
			b.Runs[i].Result.Measurement.Verdict = grade
		}
		compared, err := Compare(a, b, Options{Gates: []Gate{gate}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := compared.Gates[0]; Unanswered([]*Comparison{compared}) != c.unanswered || !strings.Contains(got.Detail, c.says) {
			t.Errorf("%s: %+v", name, got)
		}
		if said := strings.Contains(strings.Join(against(b), " "), "no better than ± 10 %"); said != (name == "wide") {
			t.Errorf("%s: %q", name, against(b))
		}
	}
}

// TestGateFromNothing: a change from 0 has no percentage, and says from what to what.
func TestGateFromNothing(t *testing.T) {
	gate, err := ParseGate("outage<+10%")
	expect.NoError(t, err)
	c, err := Compare(outages("a", false, 0, 0, 0, 0, 0), outages("b", false, 3, 4, 3, 5, 4), Options{Gates: []Gate{gate}})
	expect.NoError(t, err)
	if text := c.Gates[0].Detail; !strings.Contains(text, "outage changed from 0 ms to 4.00 s (p=") {
		t.Error(text)
	}
}

// TestSingleRunsHaveTheirIntervals: a run alone has no spread, and its own interval.
func TestSingleRunsHaveTheirIntervals(t *testing.T) {
	a, b := group("a", 1000), group("b", 800)
	low, high := 960.0, 1040.0
	a.Runs[0].Result.Throughput.Low, a.Runs[0].Result.Throughput.High = &low, &high
	a.Runs[0].Result.Latency.Intervals = &measure.Intervals{P99: &measure.Interval{Low: 15, High: 18}}
	c, err := Compare(a, b, Options{})
	expect.NoError(t, err)
	if got := row(t, c, "throughput"); got.A.Low != 960 || got.A.High != 1040 || shareText(got.A) != "4 %" || shareText(got.B) != "" || got.Significant {
		t.Errorf("throughput %+v", got)
	}
	if got := row(t, c, "p99"); got.A.Low != 15 || got.A.High != 18 {
		t.Errorf("p99 %+v", got)
	}
}
