package agents

import (
	"time"
)

// Clock gives nanoseconds since 1970. It never jumps or goes back, even if the system's clock is
// set.
type Clock func() int64

// NewClock starts from the system's clock and goes on by its monotonic clock.
func NewClock() Clock {
	base := time.Now()
	began := base.UnixNano()
	return func() int64 { return began + int64(time.Since(base)) }
}

// sample is one comparison of clocks, in nanoseconds: at the agent's time At, the coordinator's
// clock was ahead by Offset, give or take Error.
type sample struct {
	At     int64 `json:"at_ns"`
	Offset int64 `json:"offset_ns"`
	Error  int64 `json:"error_ns"`
}

// compared is NTP's arithmetic (RFC 5905, section 8) for one exchange: sent and heard are by the
// agent's clock, received and answered by the coordinator's. The error is half of the time on
// the way, since it is unknown how the two ways share it.
func compared(sent, received, answered, heard int64) sample {
	return sample{
		At:     sent + (heard-sent)/2,
		Offset: ((received - sent) + (answered - heard)) / 2,
		Error:  max(((heard-sent)-(answered-received))/2, 0) + 1,
	}
}

// maxDrift is the largest drift of two clocks: 500 millionths, the most by which Linux steers its
// clock (adjtimex(2)). It is doubled while samples contradict it.
const maxDrift = 500e-6

type mapping struct {
	knots []sample // by At
	drift float64
}

// newMapping takes samples in order of time. At each, it intersects the intervals that all
// samples allow for the offset. An interval widens with the distance in time by the drift.
func newMapping(samples []sample) mapping {
	for drift := maxDrift; ; drift *= 2 {
		if knots, ok := intersected(samples, drift); ok {
			return mapping{knots: knots, drift: drift}
		}
	}
}

func intersected(samples []sample, drift float64) (knots []sample, ok bool) {
	low, high := make([]float64, len(samples)), make([]float64, len(samples))
	for i, s := range samples {
		low[i], high[i] = float64(s.Offset-s.Error), float64(s.Offset+s.Error)
	}
	narrow := func(i, from int) {
		d := samples[i].At - samples[from].At
		apart := drift * float64(max(d, -d))
		low[i], high[i] = max(low[i], low[from]-apart), min(high[i], high[from]+apart)
	}
	for i := 1; i < len(samples); i++ {
		narrow(i, i-1)
	}
	for i := len(samples) - 2; i >= 0; i-- {
		narrow(i, i+1)
	}
	for i, s := range samples {
		if low[i] > high[i] {
			return nil, false
		}
		middle := (low[i] + high[i]) / 2
		knots = append(knots, sample{At: s.At, Offset: int64(middle), Error: int64(high[i]-middle) + 1})
	}
	return knots, true
}

// to is the coordinator's time at an agent's time. The search begins at next, and its end is
// returned for the next call, whose time should be close.
func (m mapping) to(at int64, next int) (mapped int64, near int) {
	k := m.knots
	if len(k) == 0 {
		return at, 0
	}
	for next > 0 && k[next].At > at {
		next--
	}
	for next+1 < len(k) && k[next+1].At <= at {
		next++
	}
	if at <= k[0].At || next+1 == len(k) {
		return at + k[next].Offset, next
	}
	a, b := k[next], k[next+1]
	share := float64(at-a.At) / float64(b.At-a.At)
	return at + a.Offset + int64(share*float64(b.Offset-a.Offset)), next
}

// error bounds the error of mapped times from from until until: the larger error of the two
// neighbouring samples plus the drift over half their distance. Outside of all samples, it is
// the error of the nearest plus the drift over the whole distance.
func (m mapping) error(from, until int64) int64 {
	k := m.knots
	if len(k) == 0 {
		return 0
	}
	last := len(k) - 1
	worst := float64(k[0].Error) + m.drift*float64(max(k[0].At-from, 0))
	worst = max(worst, float64(k[last].Error)+m.drift*float64(max(until-k[last].At, 0)))
	for i := range last {
		if k[i+1].At < from || k[i].At > until {
			continue
		}
		worst = max(worst, float64(max(k[i].Error, k[i+1].Error))+m.drift*float64(k[i+1].At-k[i].At)/2)
	}
	return int64(worst) + 1
}
