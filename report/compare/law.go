package compare

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"assay/internal/quantity"
	"assay/report"
	"assay/report/scalability"
)

const lawPoints = 60

// fitLaw fits the scalability law to the throughput of the groups' runs; of gives a run's load.
// It is nil if there are too few loads. unbelieved means that it needed invalid measurements.
func fitLaw(groups []Group, of func(Group, Run) float64, seed uint64) (law *scalability.Law, unbelieved bool) {
	var points, believed []scalability.Point
	for _, g := range groups {
		for _, r := range g.Runs {
			p := scalability.Point{Clients: of(g, r), PerSecond: r.Result.Throughput.PerSecond}
			points = append(points, p)
			if !r.Result.Measurement.Invalid() {
				believed = append(believed, p)
			}
		}
	}
	found, err := scalability.Fit(believed, seed)
	if err != nil && len(believed) < len(points) {
		unbelieved = true
		found, err = scalability.Fit(points, seed)
	}
	if err != nil {
		return nil, unbelieved
	}
	return &found, unbelieved
}

func lawLine(name string, l *scalability.Law) report.ChartLine {
	line := report.ChartLine{Name: name, Fitted: true}
	for i := range lawPoints + 1 {
		at := l.Smallest + (l.Largest-l.Smallest)*float64(i)/lawPoints
		line.Points = append(line.Points, [2]float64{math.Round(at*1000) / 1000, l.At(at)})
	}
	return line
}

func peakText(l *scalability.Law, unit string) string {
	switch peak, measured := l.Peak(); {
	case l.Sigma.Value >= 1:
		return fmt.Sprintf("By the law throughput falls with more %s, from the fewest on.", unit)
	case math.IsInf(peak, 1):
		return "The law has no peak: throughput only levels off in what was measured."
	case measured:
		return fmt.Sprintf("By the law throughput is highest with %s %s, %s/s.", whole(peak), unit, quantity.Figure(l.At(peak)))
	default:
		return fmt.Sprintf("By the law throughput would be highest with %s %s, which is beyond what was measured: that is a guess.", whole(peak), unit)
	}
}

func whole(v float64) string {
	if v < 10 {
		return quantity.Short(math.Round(v*10) / 10)
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}

// scales reports whether an axis counts what shares the work, as the law wants.
func scales(axis string) bool {
	return slices.Contains([]string{"clients", "workers", "loaders", "agents", "cpu", "nodes", "shards", "replicas"}, axis)
}

// addLaws adds the law of each line with enough points, and a sentence of its coefficients.
func (p Plot) addLaws(chart *report.LineChart, groups []Group) {
	var lines []report.ChartLine
	for _, line := range chart.Lines {
		lines = append(lines, line)
		own := slices.DeleteFunc(slices.Clone(groups), func(g Group) bool { return g.without(p.over) != line.Name })
		at := func(g Group, _ Run) float64 {
			x, _ := strconv.ParseFloat(report.ValueOf(g.Values, p.over), 64) // it is drawn there
			return x
		}
		law, unbelieved := fitLaw(own, at, own[0].Runs[0].Result.Seed)
		if law == nil {
			continue
		}
		name := "scalability law"
		if len(chart.Lines) > 1 {
			name += ", " + line.Name
		}
		lines = append(lines, lawLine(name, law))
		chart.Notes = append(chart.Notes, lawText(capital(name), p.over, law, unbelieved))
	}
	chart.Lines = lines
}

func lawText(name, axis string, l *scalability.Law, unbelieved bool) string {
	share := func(p scalability.Parameter) string {
		return fmt.Sprintf("%s %% (95 %% interval %s to %s)", quantity.Figure(100*p.Value), quantity.Figure(100*p.Low), quantity.Figure(100*p.High))
	}
	text := fmt.Sprintf("%s: %s/s at %s=1, contention %s, coherency %s; runs deviate from it by %s %%. %s", name, quantity.Figure(l.Lambda.Value), axis,
		share(l.Sigma), share(l.Kappa), quantity.Figure(100*l.Deviation), peakText(l, axis))
	if unbelieved {
		text += " Too few of the measurements are valid for the law, so that it is fitted to the invalid ones too: do not believe it."
	}
	return text
}
