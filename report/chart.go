package report

import (
	"slices"
	"strconv"

	"assay/internal/quantity"
)

// chart is what the page's script draws.
type chart struct {
	Interval float64 `json:"interval"`
	// End is where the last interval ends: with the run, and so maybe earlier
	// than its length says.
	End    float64            `json:"end"`
	From   float64            `json:"from"`
	To     float64            `json:"to"`
	Start  []float64          `json:"start"`
	Counts []chartLine[int64] `json:"counts"`
	// Times are in milliseconds, -1 for none.
	Times  []chartLine[float64] `json:"times"`
	Curves []chartCurve         `json:"curves"`
	Faults []chartFault         `json:"faults"`
	// Fall is when the throughput fell for good, if it did.
	Fall *float64 `json:"fall,omitempty"`
	// Sizes is what the rows took on disk, round by round; null if nobody asked.
	Sizes *chartSizes `json:"sizes,omitempty"`
	// Servers is what the servers were doing; null where that is not known.
	Servers *ServerCharts `json:"servers,omitempty"`
}

// chartLine is a value for each interval.
type chartLine[V any] struct {
	Name   string `json:"name"`
	Values []V    `json:"values"`
}

type chartCurve struct {
	Name   string       `json:"name"`
	Count  int64        `json:"count"`
	Points [][2]float64 `json:"points"`
}

// chartSizes are sizes in bytes, At seconds since the start of the run, when
// Rounds had ended.
type chartSizes struct {
	At      []float64 `json:"at"`
	Rounds  []string  `json:"rounds"`
	Disk    []int64   `json:"disk"`
	Payload []int64   `json:"payload"`
}

type chartFault struct {
	Name string  `json:"name"`
	From float64 `json:"from"`
	To   float64 `json:"to"` // 0 if it was never healed
}

func chartOf(r *Result) chart {
	s := drawnSeries(r)
	n := points(s)
	c := chart{
		Interval: s.IntervalSeconds, End: seriesEnd(r), From: s.MeasureStart, To: s.MeasureEnd, Start: s.Start[:n],
		Counts: []chartLine[int64]{}, Times: chartTimesOf(s),
		Curves: []chartCurve{}, Faults: []chartFault{}, Fall: r.Series.Degradation, Sizes: chartSizesOf(r),
	}
	for i, counts := range []chartLine[int64]{{"committed", s.Committed[:n]}, {"rejected", s.Rejected[:n]},
		{"failed", s.Failed[:n]}, {"unknown", s.Unknown[:n]}} {
		// A line along the bottom says nothing but that there is none.
		if i == 0 || slices.Max(append(counts.Values[:n:n], 0)) > 0 {
			c.Counts = append(c.Counts, counts)
		}
	}
	for _, curve := range curves(r) {
		if len(curve.Points) > 1 {
			c.Curves = append(c.Curves, curve)
		}
	}
	for _, f := range r.Faults {
		to := 0.0
		if f.healed() {
			to = f.HealedSecond
		}
		c.Faults = append(c.Faults, chartFault{f.name(), f.InjectedSecond, to})
	}
	return c
}

// drawnSeries is the series with intervals long enough for their percentiles.
func drawnSeries(r *Result) *Series {
	if r.Merged != nil && points(r.Merged) > 0 {
		return r.Merged
	}
	return &r.Series
}

// seriesEnd is where the run ends, as far as its intervals tell.
func seriesEnd(r *Result) float64 {
	s := &r.Series
	if points(s) == 0 {
		return 0
	}
	return s.Start[points(s)-1] + s.IntervalSeconds
}

// chartTimesOf are the lines of response times. A percentile of so few operations
// that it is the maximum by definition has none.
func chartTimesOf(s *Series) []chartLine[float64] {
	n := points(s)
	var counts []int64
	for _, committed := range s.Committed[:n] {
		if committed > 0 {
			counts = append(counts, committed)
		}
	}
	if len(counts) == 0 {
		return []chartLine[float64]{}
	}
	slices.Sort(counts)
	typical := counts[len(counts)/2]
	lines := []chartLine[float64]{{"p50", s.P50[:n]}}
	if typical >= 20 {
		lines = append(lines, chartLine[float64]{"p95", s.P95[:n]})
	}
	if typical >= 100 {
		lines = append(lines, chartLine[float64]{"p99", s.P99[:n]})
	}
	return append(lines, chartLine[float64]{"max", s.Max[:n]})
}

// omittedPercentiles describes which percentiles have no line, and why.
func omittedPercentiles(c *chart) string {
	switch {
	case len(c.Times) == 0 || len(c.Times) == 4:
		return ""
	case len(c.Times) == 3:
		return "Most intervals hold fewer than 100 committed operations: their p99 is their maximum, and has no line. "
	}
	return "Most intervals hold fewer than 20 committed operations: their p95 and p99 are their maximum, and have no line. "
}

func chartSizesOf(r *Result) *chartSizes {
	rounds := sizedRounds(r)
	if len(rounds) == 0 {
		return nil
	}
	var c chartSizes
	for _, x := range rounds {
		c.At, c.Rounds = append(c.At, x.EndSecond()), append(c.Rounds, x.Name)
		c.Disk, c.Payload = append(c.Disk, x.Size.Bytes), append(c.Payload, x.Size.Payload)
	}
	return &c
}

func curves(r *Result) []chartCurve {
	return []chartCurve{{"response", r.Latency.Count, r.Latency.Curve},
		{"service", r.ServiceTime.Count, r.ServiceTime.Curve},
		{"uncommitted", r.Uncommitted.Count, r.Uncommitted.Curve}}
}

// seriesTable holds the figures of the charts over time.
func seriesTable(r *Result) Table {
	s, end := drawnSeries(r), seriesEnd(r)
	t := Table{Title: "Figures over time", Head: []string{"from", "part", "committed/s", "rejected/s", "failed/s", "unknown/s",
		"p50", "p95", "p99", "max"}, Words: []int{1}}
	for i := range points(s) {
		part := "measured"
		switch {
		case s.Start[i] < s.MeasureStart:
			part = "warm-up"
		case s.Start[i] >= s.MeasureEnd:
			part = "after"
		}
		row := []string{strconv.FormatFloat(s.Start[i], 'f', -1, 64) + nbsp + "s", part}
		for _, n := range []int64{s.Committed[i], s.Rejected[i], s.Failed[i], s.Unknown[i]} {
			row = append(row, perSecond(n, min(s.IntervalSeconds, end-s.Start[i])))
		}
		for _, ms := range []float64{s.P50[i], s.P95[i], s.P99[i], s.Max[i]} {
			text := none
			if ms >= 0 {
				text = millis(ms)
			}
			row = append(row, text)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func perSecond(n int64, interval float64) string {
	if interval <= 0 {
		return none
	}
	return short(float64(n) / interval)
}

// curveTable holds the figures of the chart of percentiles.
func curveTable(r *Result) Table {
	c := LineChart{Title: "Figures by percentile", Across: "percentile", Percentiles: true, Format: quantity.Milliseconds}
	for _, curve := range curves(r) {
		if len(curve.Points) > 0 {
			c.Lines = append(c.Lines, ChartLine{Name: curve.Name, Points: curve.Points})
		}
	}
	return c.figures()
}
