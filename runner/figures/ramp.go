package figures

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"assay/check"
	"assay/history"
	"assay/internal/quantity"
	"assay/load"
	"assay/measure"
	"assay/report"
	"assay/report/scalability"
)

// clientRamp gathers the ramp of a closed loop; other runs have none.
type clientRamp struct {
	// clients begin one after the other. Auditors are not among them.
	clients int
	wanted  bool
	starts  measure.ClientStarts
	windows *measure.Ramp
}

func newClientRamp(p load.Plan) *clientRamp {
	return &clientRamp{clients: p.Clients, wanted: p.Ramp > 0 && p.Rate == 0 && p.Arrivals == load.Closed}
}

// visitor takes the attempts of the first pass; nil without a ramp.
func (c *clientRamp) visitor() func(*history.Op) error {
	if !c.wanted {
		return nil
	}
	return func(op *history.Op) error {
		if op.Client < c.clients {
			c.starts.Op(op)
		}
		return nil
	}
}

// enter enters the ramp, and the point from which more clients bring little. The point is
// unknown if the tester or faults may have caused it.
func (c *clientRamp) enter(r *report.Result, p load.Plan) {
	if r.Ramp = nil; c.windows == nil {
		return
	}
	points, width := c.windows.Points()
	r.Ramp = &report.Ramp{WindowSeconds: width, Points: points}
	var loads []scalability.Point
	for _, p := range points {
		loads = append(loads, scalability.Point{Clients: p.Clients, PerSecond: p.PerSecond})
	}
	d := &r.Ramp.Degradation
	notKnown := func(format string, args ...any) {
		*d = report.RampDegradation{State: string(scalability.KneeNotKnown), Text: "point of degradation not known: " + fmt.Sprintf(format, args...)}
	}
	knee, err := scalability.FindKnee(loads, p.Seed)
	switch {
	case err != nil && len(points) == 0:
		notKnown("the clients began within %s; let them begin more slowly", quantity.Seconds(float64(r.Load.Clients)/p.Ramp))
	case err != nil:
		notKnown("there are %d windows of %s, with %s to %s; %v", len(points), quantity.Seconds(width), quantity.Short(math.Round(points[0].Clients)), clientsText(points[len(points)-1].Clients), err)
	case len(r.Faults) > 0:
		notKnown("faults acted meanwhile")
	case knee.State == scalability.KneeNotKnown:
		notKnown("the throughput varies too much to tell (%s); let the clients begin more slowly", gainText(knee))
	case knee.State == scalability.KneeNotReached:
		enterGain(d, knee)
		d.Text = fmt.Sprintf("point of degradation not reached with %s: %s", clientsText(points[len(points)-1].Clients), gainText(knee))
	default:
		if own := ownLimit(r, knee); own != "" {
			notKnown("%s", own)
			return
		}
		enterGain(d, knee)
		enterPoint(d, knee, r.Ramp)
	}
}

// ownLimit says why the tester caused the point; empty if nothing says so. The tester's share of
// the processors is known for the whole measured part, and is scaled by the throughput.
func ownLimit(r *report.Result, knee scalability.Knee) string {
	for _, reason := range r.Measurement.Reasons {
		if strings.HasPrefix(reason, "client saturated") {
			return reason
		}
	}
	share := r.Client.CPUShare * knee.PerSecond.Value / r.Throughput.PerSecond
	if limit := measure.DefaultLimits().MaxCPUShare; !r.Database.Embedded && share >= limit {
		return fmt.Sprintf("the client used %.0f %% of its processors over the measured part, and thus about all of them at the point", 100*r.Client.CPUShare)
	}
	return ""
}

func enterGain(d *report.RampDegradation, knee scalability.Knee) {
	d.State = string(knee.State)
	d.Gain, d.GainLow, d.GainHigh = &knee.Gain.Value, &knee.Gain.Low, &knee.Gain.High
}

func enterPoint(d *report.RampDegradation, knee scalability.Knee, ramp *report.Ramp) {
	at, low, high := math.Round(knee.Clients.Value), math.Floor(knee.Clients.Low), math.Ceil(knee.Clients.High)
	d.Clients, d.ClientsLow, d.ClientsHigh, d.PerSecond, d.Fell = &at, &low, &high, &knee.PerSecond.Value, knee.Fall
	last := ramp.Points[len(ramp.Points)-1]
	for _, p := range ramp.Points {
		if p.Clients >= knee.Clients.Value {
			millis := p.At * 1000
			d.AtMillis = &millis
			break
		}
	}
	where := fmt.Sprintf("%s (95 %% confidence: %s to %s)", clientsText(at), quantity.Short(low), quantity.Short(high))
	if knee.State == scalability.KneeFromStart {
		where = "at or below " + clientsText(at) + ", the fewest that there were"
	}
	fell := ""
	if d.Fell {
		fell = "the throughput fell at once, and "
	}
	d.Text = fmt.Sprintf("point of degradation: %s, with %s/s; from there on %s%s", where, quantity.Figure(knee.PerSecond.Value), fell, gainText(knee))
	if there := ramp.P99At(knee.Clients.Value); there >= 0 && last.P99 >= 0 {
		d.Text += fmt.Sprintf("; p99 is %s there and %s with %s", quantity.Milliseconds(there), quantity.Milliseconds(last.P99), clientsText(last.Clients))
	}
}

func clientsText(n float64) string { return check.Counted(int64(math.Round(n)), "client", "clients") }

func gainText(k scalability.Knee) string {
	if k.Gain == (scalability.Parameter{}) {
		return "no client brought anything"
	}
	percent := func(share float64) string { return fmt.Sprintf("%.0f", cmp.Or(math.Round(100*share), 0)+0) }
	return fmt.Sprintf("a further client brings %s %% of what one brought before (95 %% confidence: %s to %s %%)", percent(k.Gain.Value), percent(k.Gain.Low), percent(k.Gain.High))
}
