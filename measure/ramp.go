package measure

import (
	"slices"

	"assay/history"
)

// MaxRampPoints bounds the points of a ramp.
const MaxRampPoints = 100

const (
	fewestRampPoints = 30
	// rampRest is the time after all clients work that is included, as a share of the ramp.
	rampRest = 0.1
)

// RampPoint is a window of a ramp. It has the keys of result.json.
type RampPoint struct {
	At      float64 `json:"at_s"`
	Clients float64 `json:"clients"`
	// PerSecond counts the committed operations that ended in it. P50 and P99 are of their
	// response times, true within 1 %; -1 for none.
	PerSecond float64 `json:"committed_per_second"`
	P50       float64 `json:"p50_ms"`
	P99       float64 `json:"p99_ms"`
	Errors    int64   `json:"errors"`
}

// ClientStarts is a first pass over a history. It finds when each client began to work, and takes
// eight bytes for each client. The zero value is ready.
type ClientStarts struct{ first []int64 }

// Op takes one attempt.
func (c *ClientStarts) Op(op *history.Op) {
	for len(c.first) <= op.Client {
		c.first = append(c.first, -1)
	}
	if at := &c.first[op.Client]; *at < 0 || op.Due < *at {
		*at = max(op.Due, 0)
	}
}

// Ramp is a second pass over a history whose clients began one after the other: the work by the
// number of working clients. It is not safe for concurrent use.
type Ramp struct {
	from     int64
	starts   []int64
	stalls   Standstill
	timeline *timeline
}

// NewRamp returns an empty ramp, from the start of the measured part until shortly after the last
// client began; nil if no client began in the measured part.
func NewRamp(scope Scope, clients ClientStarts) *Ramp {
	starts := slices.DeleteFunc(clients.first, func(at int64) bool { return at < 0 })
	if len(starts) == 0 || slices.Max(starts) <= scope.MeasureStart {
		return nil
	}
	last := slices.Max(starts)
	length := min(last+int64(rampRest*float64(last-scope.MeasureStart)), scope.MeasureEnd) - scope.MeasureStart
	r := &Ramp{from: scope.MeasureStart, starts: starts, stalls: scope.Stalls, timeline: newTimeline(length)}
	r.timeline.points = r.timeline.points[:max(length, 0)/r.timeline.width] // whole intervals alone
	return r
}

// Add takes one attempt and does not keep op.
func (r *Ramp) Add(op *history.Op) {
	if r == nil || !op.Last || op.End < r.from {
		return
	}
	if i := (op.End - r.from) / r.timeline.width; i < int64(len(r.timeline.points)) {
		r.timeline.points[i].add(op, !r.stalls.Distort(op))
	}
}

// Points are at most MaxRampPoints windows in order. Their length is 1, 2 or 5 times a power of
// ten, such that half of them hold enough operations for percentiles, if enough windows are left.
func (r *Ramp) Points() (points []RampPoint, windowSeconds float64) {
	joined := r.joined()
	width := r.timeline.width * int64(joined)
	whole := len(r.timeline.points) / joined * joined
	s := (&timeline{width: r.timeline.width, points: r.timeline.points[:whole]}).series(Scope{}, joined)
	for i, committed := range s.Committed {
		start := r.from + int64(i)*width
		points = append(points, RampPoint{
			At: float64(start) / 1e9, Clients: r.clients(start, start+width), PerSecond: float64(committed) / s.IntervalSeconds,
			P50: s.P50[i], P99: s.P99[i], Errors: s.Failed[i] + s.Unknown[i],
		})
	}
	return points, s.IntervalSeconds
}

func (r *Ramp) joined() int {
	t := r.timeline
	joined := 1
	for width, step := t.width, decade(t.width); len(t.points)/joined > MaxRampPoints || t.typical(joined) < enoughOperations; step++ {
		width = nextNice(width, step)
		n := int(width / t.width)
		if len(t.points)/joined <= MaxRampPoints && len(t.points)/n < fewestRampPoints {
			break
		}
		if width%t.width == 0 {
			joined = n
		}
	}
	return joined
}

func (r *Ramp) clients(from, to int64) float64 {
	var worked int64
	for _, at := range r.starts {
		worked += min(max(to-at, 0), to-from)
	}
	return float64(worked) / float64(to-from)
}
