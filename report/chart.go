package report

import (
	"math"
	"slices"

	"assay/internal/quantity"
)

// course is a run over time, as its charts show it.
type course struct {
	series *Series
	// end is where the last interval ends, at the run's end.
	end float64
	// axis is where all charts end, since looks at servers may go on after the run.
	axis  float64
	bands []Band
}

func courseOf(r *Result) course {
	c := course{series: drawnSeries(r), end: seriesEnd(r)}
	c.axis = c.end
	if from := c.series.MeasureStart; from > 0 {
		c.bands = append(c.bands, Band{Name: "warm-up", To: from, Unmeasured: true})
	}
	if to := c.series.MeasureEnd; to < c.end {
		c.bands = append(c.bands, Band{Name: "after", From: to, To: c.end, Unmeasured: true})
	}
	for i := range r.Faults {
		f := &r.Faults[i]
		band := Band{Name: f.name(), From: f.InjectedSecond, To: math.Inf(1)}
		if f.healed() {
			band.To = f.HealedSecond
		}
		c.bands = append(c.bands, band)
	}
	if fall := r.Series.Degradation; fall != nil {
		c.bands = append(c.bands, Band{Name: "degradation", From: *fall, To: *fall})
	}
	return c
}

func drawnSeries(r *Result) *Series {
	if r.Merged != nil && points(r.Merged) > 0 {
		return r.Merged
	}
	return &r.Series
}

func seriesEnd(r *Result) float64 {
	s := &r.Series
	if points(s) == 0 {
		return 0
	}
	return s.Start[points(s)-1] + s.IntervalSeconds
}

const sinceStart = "seconds since the start of the run"

func (c course) chart(title, up string, format func(float64) string) LineChart {
	return LineChart{Title: title, Across: sinceStart, Up: up, Low: true, Levels: true, Format: format, Bands: c.bands}
}

// line has a value for each interval, NaN for none.
func (c course) line(name string, of func(i int) float64) ChartLine {
	line := ChartLine{Name: name}
	for i := range points(c.series) {
		line.Points = append(line.Points, [2]float64{c.series.Start[i], of(i)})
	}
	line.Points = append(line.Points, [2]float64{c.end, math.NaN()}, [2]float64{c.axis, math.NaN()})
	return line
}

// rate is in operations a second. The run may end within its last interval.
func (c course) rate(name string, counts []int64) ChartLine {
	line := c.line(name, func(i int) float64 {
		width := min(c.series.IntervalSeconds, c.end-c.series.Start[i])
		if width <= 0 {
			return math.NaN()
		}
		return float64(counts[i]) / width
	})
	line.Head = name + "/s"
	return line
}

func (c course) committed() LineChart {
	chart := c.chart("Committed per second", "committed a second", short)
	chart.Lines = []ChartLine{c.rate("committed", c.series.Committed)}
	return chart
}

// uncommitted has a line for each other outcome, so that rejected operations hide no unknown one.
func (c course) uncommitted() LineChart {
	chart := c.chart("Not committed, per second", "operations a second", short)
	chart.Rare = true
	for i, counts := range [][]int64{c.series.Rejected, c.series.Failed, c.series.Unknown} {
		if n := points(c.series); slices.Max(append(counts[:n:n], 0)) > 0 {
			chart.Lines = append(chart.Lines, c.rate([]string{"rejected", "failed", "unknown"}[i], counts))
		}
	}
	return chart
}

// times are the response times. Too few operations for a percentile leave out its line.
func (c course) times() LineChart {
	chart := c.chart("Response time of committed operations", "response time", millis)
	chart.Logarithmic = true
	typical := c.typical()
	for _, of := range []struct {
		name   string
		least  int64
		values []float64
	}{{"p50", 1, c.series.P50}, {"p95", 20, c.series.P95}, {"p99", 100, c.series.P99}, {"max", 1, c.series.Max}} {
		if typical >= of.least {
			chart.Lines = append(chart.Lines, c.line(of.name, func(i int) float64 {
				if of.values[i] < 0 {
					return math.NaN()
				}
				return max(of.values[i], leastMillis)
			}))
		}
	}
	return chart
}

func (c course) charts() []LineChart {
	if points(c.series) == 0 {
		return nil
	}
	return slices.DeleteFunc([]LineChart{c.committed(), c.uncommitted(), c.times()}, func(x LineChart) bool { return len(x.Lines) == 0 })
}

// leastMillis is drawn in place of shorter times.
const leastMillis = 0.001

// typical is the usual number of operations in an interval with committed ones, or 0.
func (c course) typical() int64 {
	counts := slices.DeleteFunc(slices.Clone(c.series.Committed[:points(c.series)]), func(n int64) bool { return n <= 0 })
	if len(counts) == 0 {
		return 0
	}
	slices.Sort(counts)
	return counts[len(counts)/2]
}

func omittedPercentiles(times LineChart) string {
	switch len(times.Lines) {
	case 3:
		return "Most intervals hold fewer than 100 committed operations: their p99 is their maximum, and has no line. "
	case 2:
		return "Most intervals hold fewer than 20 committed operations: their p95 and p99 are their maximum, and have no line. "
	}
	return ""
}

func sizesChart(r *Result) LineChart {
	after := map[float64]string{}
	chart := LineChart{Title: "Size on disk over time", Across: sinceStart, Up: "size", Low: true,
		Format: func(v float64) string { return size(int64(v)) }, Moment: func(at float64) string { return short(at) + ", after " + after[at] }}
	disk, payload := ChartLine{Name: "on disk", Points: [][2]float64{{0, math.NaN()}}}, ChartLine{Name: "payload"}
	for _, x := range sizedRounds(r) {
		at := x.EndSecond()
		after[at] = x.Name
		disk.Points = append(disk.Points, [2]float64{at, float64(x.Size.Bytes)})
		payload.Points = append(payload.Points, [2]float64{at, float64(x.Size.Payload)})
	}
	if len(after) > 0 {
		chart.Lines = []ChartLine{disk, payload}
	}
	return chart
}

// curveChart gives each further nine the same width, and the slowest operation the last place.
func curveChart(r *Result) LineChart {
	chart := LineChart{Title: "By percentile", Across: "percentile", Up: "time", Percentiles: true, Logarithmic: true, Format: quantity.Milliseconds}
	for _, of := range []struct {
		name string
		*Latency
	}{{"response", &r.Latency}, {"service", &r.ServiceTime}, {"uncommitted", &r.Uncommitted}} {
		if len(of.Curve) > 0 {
			chart.Lines = append(chart.Lines, ChartLine{Name: of.name, Points: of.Curve})
			chart.Operations = max(chart.Operations, of.Count)
		}
	}
	return chart
}

func drawn(id string, c LineChart) []DrawnChart {
	if len(c.Lines) == 0 {
		return nil
	}
	return []DrawnChart{c.Draw(id)}
}
