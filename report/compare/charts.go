package compare

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"assay/internal/quantity"
	"assay/report"
)

const pieces = 60

// charts draws throughput over the measured part and response time by percentile. It leaves out
// groups without these, such as baselines and runs in rounds, and charts of fewer than two lines.
func charts(groups []Group) []report.LineChart {
	both := []report.LineChart{throughputOverTime(groups), timesByPercentile(groups)}
	return slices.DeleteFunc(both, func(c report.LineChart) bool { return len(c.Lines) < 2 })
}

func throughputOverTime(groups []Group) report.LineChart {
	return report.LineChart{Title: "Throughput over time", Across: "seconds since the measured part began",
		Up: "committed a second, median over the runs", Format: quantity.Short, Lines: linesOf(groups, overTime)}
}

func timesByPercentile(groups []Group) report.LineChart {
	return report.LineChart{Title: "Response time by percentile", Across: "share of the operations that took at most as long",
		Up: "response time, median over the runs", Percentiles: true, Logarithmic: true, Format: quantity.Milliseconds, Lines: linesOf(groups, byPercentile)}
}

func linesOf(groups []Group, of func(Group) report.ChartLine) (lines []report.ChartLine) {
	for _, g := range groups {
		if line := of(g); len(line.Points) > 1 {
			lines = append(lines, line)
		}
	}
	return lines
}

// overTime is the median throughput of a group's runs, piece by piece. Runs measured for another
// time than the first do not count.
func overTime(g Group) report.ChartLine {
	line := report.ChartLine{Name: g.Name}
	first := &g.Runs[0].Result.Series
	length := first.MeasureEnd - first.MeasureStart
	step := length / pieces
	if first.IntervalSeconds > 0 {
		step = max(step, first.IntervalSeconds)
	}
	if !(length > 0) || len(g.Runs[0].Result.Rounds) > 0 {
		return line
	}
	for from := 0.0; from+step <= length+1e-9; from += step {
		var rates []float64
		for _, r := range g.Runs {
			if rate, ok := rateWithin(&r.Result.Series, from, from+step); ok {
				rates = append(rates, rate)
			}
		}
		if len(rates) > 0 {
			line.Points = append(line.Points, [2]float64{math.Round((from+step/2)*100) / 100, quantity.Median(rates)})
		}
	}
	return line
}

// rateWithin is the commits a second in the intervals that begin in a part; false if none does.
func rateWithin(s *report.Series, from, to float64) (float64, bool) {
	count, width := int64(0), 0.0
	for i, start := range s.Start {
		at := start - s.MeasureStart
		if at >= from-1e-9 && at < to-1e-9 && start+s.IntervalSeconds <= s.MeasureEnd+1e-9 {
			count += s.Committed[i]
			width += s.IntervalSeconds
		}
	}
	if width == 0 {
		return 0, false
	}
	return float64(count) / width, true
}

// byPercentile is the median response time of a group's runs at some percentiles.
func byPercentile(g Group) report.ChartLine {
	line := report.ChartLine{Name: g.Name}
	for _, q := range []float64{0, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995, 0.9999, 0.99999} {
		var times []float64
		for _, r := range g.Runs {
			l := &r.Result.Latency
			if l.Count == 0 || float64(l.Count)*(1-q) < 1 { // it would be the maximum
				continue
			}
			if ms, ok := at(l.Curve, q); ok {
				times = append(times, ms)
			}
		}
		if 2*len(times) > len(g.Runs) {
			line.Points = append(line.Points, [2]float64{q, quantity.Median(times)})
		}
	}
	return line
}

func at(curve [][2]float64, q float64) (float64, bool) {
	i := slices.IndexFunc(curve, func(p [2]float64) bool { return p[0] >= q })
	switch {
	case i < 0:
		return 0, false
	case i == 0 || curve[i][0] == curve[i-1][0]:
		return curve[i][1], true
	}
	a, b := curve[i-1], curve[i]
	return a[1] + (b[1]-a[1])*(q-a[0])/(b[0]-a[0]), true
}

// Picture draws an SVG of both groups, with intervals, as multiples of A's median, so that all
// figures share an axis. It leaves out figures whose median is 0.
func Picture(w io.Writer, all []*Comparison) error {
	chart := report.BarChart{Title: title(all), Along: "median of the runs, as a multiple of A's, with its interval",
		Format: func(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }}
	for _, c := range all {
		for _, r := range c.Rows {
			if r.A.Median <= 0 || r.B.Median <= 0 || len(all) > 1 && !slices.Contains(tableMetrics(c.A.Runs[0].Result), r.Metric) {
				continue
			}
			head := fmt.Sprintf("%s: %s → %s  %s", r.Metric, r.A.written(r.metric), r.B.written(r.metric), r.changeText())
			switch {
			case r.Significant && r.Better:
				head += ", better"
			case r.Significant:
				head += ", worse"
			}
			if len(all) > 1 {
				head += " (" + c.B.Name + ")"
			}
			for i, s := range []Spread{r.A, r.B} {
				chart.Bars = append(chart.Bars, report.Bar{Group: head, Name: []string{"A", "B"}[i], AtLeast: s.AtLeast, Doubted: []Group{c.A, c.B}[i].doubted(r.metric),
					Value: s.Median / r.A.Median, Low: s.Low / r.A.Median, High: s.High / r.A.Median})
			}
		}
	}
	return chart.SVG(w, "")
}
