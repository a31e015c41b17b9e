package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"assay/internal/quantity"
	"assay/measure"
	"assay/report"
)

// rampWord plots throughput by active clients. degradationName is the metric of the point on it.
const (
	rampWord        = "ramp"
	degradationName = "degradation"
)

func degradation(r *report.Result) (clients float64, found bool) {
	if r.Ramp == nil || r.Ramp.Degradation.Clients == nil {
		return 0, false
	}
	return *r.Ramp.Degradation.Clients, true
}

func degradationInterval(r *report.Result) *measure.Interval {
	if _, found := degradation(r); !found {
		return nil
	}
	d := &r.Ramp.Degradation
	if d.ClientsLow == nil || d.ClientsHigh == nil {
		return nil
	}
	return &measure.Interval{Low: *d.ClientsLow, High: *d.ClientsHigh}
}

// degradationStates says what runs found if not all found a point.
func degradationStates(g Group) string {
	counts := map[string]int{}
	for _, r := range g.Runs {
		if r.Result.Ramp != nil {
			counts[r.Result.Ramp.Degradation.State]++
		}
	}
	var parts []string
	for _, state := range []string{"reached", "from the start", "not reached", "not known"} {
		if n := counts[state]; n == len(g.Runs) {
			return state
		} else if n > 0 {
			parts = append(parts, fmt.Sprintf("%s in %d", state, n))
		}
	}
	return cmp.Or(strings.Join(parts, ", "), quantity.None)
}

func byClients(groups []Group) report.LineChart {
	return report.LineChart{
		Title: "Throughput by active clients", Across: "clients that had begun", Up: "committed a second, median over the runs",
		Format: quantity.Figure, Lines: linesOf(groups, rampLine),
	}
}

// rampLine is the median throughput by clients, marked at the median point of degradation.
func rampLine(g Group) report.ChartLine {
	line := report.ChartLine{Name: g.Name}
	var curves [][][2]float64
	var points, speeds []float64
	for _, r := range g.Runs {
		p := r.Result.Ramp
		if p == nil || len(p.Points) == 0 {
			continue
		}
		curves = append(curves, perClients(p.Points))
		if clients, found := degradation(r.Result); found {
			points, speeds = append(points, clients), append(speeds, *p.Degradation.PerSecond)
		}
	}
	if len(curves) == 0 {
		return line
	}
	for _, of := range curves[0] {
		var rates []float64
		for _, curve := range curves {
			if rate, ok := at(curve, of[0]); ok {
				rates = append(rates, rate)
			}
		}
		line.Points = append(line.Points, [2]float64{of[0], quantity.Median(rates)})
	}
	if len(points) > 0 {
		clients := quantity.Median(points)
		line.Mark = &report.ChartMark{At: [2]float64{clients, quantity.Median(speeds)}, Text: "degradation at " + strconv.FormatFloat(clients, 'f', -1, 64)}
		if found, all := len(points), len(g.Runs); found < all {
			line.Mark.Text += fmt.Sprintf(" in %d of %d", found, all)
		}
	}
	return line
}

func perClients(points []measure.RampPoint) (curve [][2]float64) {
	sums, counts := map[float64]float64{}, map[float64]float64{}
	for _, p := range points {
		clients := math.Round(10*p.Clients) / 10
		sums[clients] += p.PerSecond
		counts[clients]++
	}
	for clients, sum := range sums {
		curve = append(curve, [2]float64{clients, sum / counts[clients]})
	}
	slices.SortFunc(curve, func(a, b [2]float64) int { return cmp.Compare(a[0], b[0]) })
	return curve
}
