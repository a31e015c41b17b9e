package report

import (
	"fmt"
	"math"

	"assay/measure"
)

// Ramp is the work by the number of clients, of a closed loop whose clients began one after
// the other within the measured part.
type Ramp struct {
	// WindowSeconds is the length of each point's window. The windows end a little after
	// all clients had begun.
	WindowSeconds float64             `json:"window_s"`
	Points        []measure.RampPoint `json:"points"`
	Degradation   RampDegradation     `json:"degradation"`
}

// RampDegradation is the number of clients from which on more of them bring little or nothing.
type RampDegradation struct {
	// State is reached, from the start, not reached or not known (scalability.KneeState),
	// and Text says so in one sentence with figures.
	State string `json:"state"`
	Text  string `json:"text"`
	// Clients is the point with its 95 % confidence interval, null where there is none; of
	// a point from the start the fewest clients that there were.
	Clients     *float64 `json:"clients,omitempty"`
	ClientsLow  *float64 `json:"clients_low,omitempty"`
	ClientsHigh *float64 `json:"clients_high,omitempty"`
	// AtMillis is when so many clients worked, in milliseconds since the start of the run,
	// PerSecond the throughput with them by the fitted lines.
	AtMillis  *float64 `json:"at_ms,omitempty"`
	PerSecond *float64 `json:"committed_per_second,omitempty"`
	// Gain is what a further client brings from there on, as a share of what one brought
	// before, with its 95 % confidence interval; null where that is not known.
	Gain     *float64 `json:"gain_share,omitempty"`
	GainLow  *float64 `json:"gain_low_share,omitempty"`
	GainHigh *float64 `json:"gain_high_share,omitempty"`
	// Fell is true if the throughput fell there at once.
	Fell bool `json:"fell,omitempty"`
}

// rampRows is how many windows a table has at most.
const rampRows = 20

// Lines draw the ramp: throughput and response time over the number of clients, with the
// point of degradation.
func (p *Ramp) Lines() []LineChart {
	speed := ChartLine{Name: "committed a second"}
	times := []ChartLine{{Name: "p50"}, {Name: "p99"}}
	for _, x := range p.Points {
		clients := tenth(x.Clients)
		speed.Points = append(speed.Points, [2]float64{clients, x.PerSecond})
		if x.P50 >= 0 {
			times[0].Points = append(times[0].Points, [2]float64{clients, x.P50})
			times[1].Points = append(times[1].Points, [2]float64{clients, x.P99})
		}
	}
	if d := &p.Degradation; d.Clients != nil {
		speed.Mark = &ChartMark{At: [2]float64{*d.Clients, *d.PerSecond}, Text: "point of degradation: " + short(*d.Clients) + " clients"}
		times[1].Mark = &ChartMark{At: [2]float64{*d.Clients, p.P99At(*d.Clients)}, Text: speed.Mark.Text}
	}
	return []LineChart{
		{Title: "Throughput by clients", Across: "clients that had begun", Up: "committed a second", Format: figure, Lines: []ChartLine{speed}},
		{Title: "Response time by clients", Across: "clients that had begun", Up: "response time", Logarithmic: true, Format: millis, Lines: times},
	}
}

// P99At is the 99th percentile of the response time in the window whose number of clients is
// nearest; -1 if nothing was committed in it.
func (p *Ramp) P99At(clients float64) float64 {
	nearest := measure.RampPoint{Clients: -1e9, P99: -1}
	for _, x := range p.Points {
		if math.Abs(x.Clients-clients) < math.Abs(nearest.Clients-clients) {
			nearest = x
		}
	}
	return nearest.P99
}

// rampTable has some of the windows, from the first to the last.
func rampTable(p *Ramp) Table {
	t := Table{Title: "Throughput and response time by clients", Head: []string{"clients", "committed/s", "p50", "p99", "errors", "at"}}
	n := len(p.Points)
	rows := min(n, rampRows)
	for i := range rows {
		at := i
		if rows > 1 {
			at = i * (n - 1) / (rows - 1)
		}
		x := &p.Points[at]
		row := append([]string{short(tenth(x.Clients)), figure(x.PerSecond)}, times(x.P50 >= 0, x.P50, x.P99)...)
		t.Rows = append(t.Rows, append(row, fmt.Sprint(x.Errors), seconds(x.At)))
	}
	return t
}

// rampSection is its part of a report.
func rampSection(p *Ramp) section {
	return section{ID: "ramp", Title: "More and more clients", Text: p.Degradation.Text, Tables: []Table{rampTable(p)}, lines: p.Lines(),
		label: "ramp", line: p.Degradation.Text}
}
