package report

import (
	"fmt"
	"math"

	"assay/measure"
)

// Ramp is the work by number of clients, in a closed loop whose clients began one after the other
// during the measured part.
type Ramp struct {
	// WindowSeconds is each point's window. The windows end shortly after the last client began.
	WindowSeconds float64             `json:"window_s"`
	Points        []measure.RampPoint `json:"points"`
	Degradation   RampDegradation     `json:"degradation"`
}

// RampDegradation is the number of clients beyond which more bring little or nothing.
type RampDegradation struct {
	// State is a scalability.KneeState. Text is a sentence with figures.
	State string `json:"state"`
	Text  string `json:"text"`
	// Clients is the point with its 95 % confidence interval, null without one. If it is at the
	// start, it is the fewest clients there were.
	Clients     *float64 `json:"clients,omitempty"`
	ClientsLow  *float64 `json:"clients_low,omitempty"`
	ClientsHigh *float64 `json:"clients_high,omitempty"`
	// AtMillis is when this many clients worked. PerSecond is the fitted throughput there.
	AtMillis  *float64 `json:"at_ms,omitempty"`
	PerSecond *float64 `json:"committed_per_second,omitempty"`
	// Gain is what a client adds beyond the point, as a share of what one added before, with its
	// 95 % confidence interval; null if unknown.
	Gain     *float64 `json:"gain_share,omitempty"`
	GainLow  *float64 `json:"gain_low_share,omitempty"`
	GainHigh *float64 `json:"gain_high_share,omitempty"`
	Fell     bool     `json:"fell,omitempty"`
}

const rampRows = 20

// Lines draw throughput and response time over clients, with the point of degradation.
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

// P99At is the 99th percentile of the response time in the window of the nearest number of
// clients; -1 if nothing committed in it.
func (p *Ramp) P99At(clients float64) float64 {
	nearest := measure.RampPoint{Clients: -1e9, P99: -1}
	for _, x := range p.Points {
		if math.Abs(x.Clients-clients) < math.Abs(nearest.Clients-clients) {
			nearest = x
		}
	}
	return nearest.P99
}

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

func rampSection(p *Ramp) section {
	return section{ID: "ramp", Title: "More and more clients", Text: p.Degradation.Text, Tables: []Table{rampTable(p)}, lines: p.Lines(),
		label: "ramp", line: p.Degradation.Text}
}
