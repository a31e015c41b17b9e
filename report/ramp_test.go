package report

import (
	"math"
	"strings"
	"testing"

	"assay/internal/expect"
	"assay/measure"
)

// rampedRun is a run whose clients grew to 60, with the point at 20.
func rampedRun() *Result {
	r := validRun()
	r.Load.RampPerSecond, r.Load.Clients = 1, 60
	p := &Ramp{WindowSeconds: 1, Degradation: RampDegradation{State: "reached", Text: "point of degradation: 20 clients (95 % confidence: 18 to 22), with 2,000/s",
		Clients: share(20), ClientsLow: share(18), ClientsHigh: share(22), AtMillis: share(19000), PerSecond: share(2000), Gain: share(0.01), GainLow: share(-0.02), GainHigh: share(0.04)}}
	for i := range 60 {
		clients := float64(i + 1)
		x := measure.RampPoint{At: float64(i), Clients: clients, PerSecond: 100 * math.Min(clients, 20), P50: 10 * math.Max(1, clients/20), P99: 25 * math.Max(1, clients/20)}
		p.Points = append(p.Points, x)
	}
	p.Points[7] = measure.RampPoint{At: 7, Clients: 8, P50: -1, P99: -1, Errors: 12}
	r.Ramp = p
	return r
}

func TestRampIsShown(t *testing.T) {
	r := rampedRun()
	var page, text, markdown strings.Builder
	expect.NoError(t, HTML(&page, r, Page{}))
	expect.NoError(t, Text(&text, r, TextOptions{Width: 100}))
	expect.NoError(t, Markdown(&markdown, r))
	expect.Text(t, "the page", page.String(), `<section id="ramp"`, "point of degradation: 20 clients (95 % confidence: 18 to 22)", `id="ramp"`, `<g class="mark"><title>point of degradation: 20 clients</title>`,
		"p99 (point of degradation: 20 clients)", "Response time by clients")
	expect.Text(t, "the terminal", text.String(), "ramp ", "point of degradation: 20 clients")
	expect.Text(t, "the Markdown", markdown.String(), "## More and more clients", "point of degradation: 20 clients", "| 60 | 2,000 | 30.0 ms | 75.0 ms | 0 | 59 s |")
	if rows := rampTable(r.Ramp).Rows; len(rows) != rampRows || rows[0][0] != "1" || rows[rampRows-1][0] != "60" {
		t.Errorf("%d rows: %v", len(rows), rows)
	}
	if at := r.Ramp.P99At(40.2); at != 50 {
		t.Errorf("p99 with 40 clients is %v", at)
	}
	r.Ramp.Degradation = RampDegradation{State: "not reached", Text: "point of degradation not reached with 60 clients"}
	page.Reset()
	expect.NoError(t, HTML(&page, r, Page{}))
	if strings.Contains(page.String(), `<g class="mark">`) || !strings.Contains(page.String(), "not reached with 60 clients") {
		t.Error("a ramp without a point has one in its page")
	}
	r.Ramp.Points = nil
	expect.NoError(t, HTML(&page, r, Page{}))
}
