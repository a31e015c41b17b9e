package agents

import (
	"time"
)

// Clock gives nanoseconds since 1970 and never goes back or jumps: a system's clock may
// be set while a run goes on, and this one goes on as it began.
type Clock func() int64

// NewClock is the system's clock as it is now, carried on by its monotonic clock.
func NewClock() Clock {
	base := time.Now()
	began := base.UnixNano()
	return func() int64 { return began + int64(time.Since(base)) }
}

// sample is one comparison of an agent's clock with the coordinator's: at At, by the
// agent's, the coordinator's was ahead by Offset, give or take Error. All nanoseconds.
type sample struct {
	At     int64 `json:"at_ns"`
	Offset int64 `json:"offset_ns"`
	Error  int64 `json:"error_ns"`
}

// compared is NTP's arithmetic (RFC 5905, section 8) over one exchange: sent and heard
// are by the agent's clock, received and answered by the coordinator's. The error is
// half of the time on the way, since nobody knows how it was divided.
func compared(sent, received, answered, heard int64) sample {
	return sample{
		At:     sent + (heard-sent)/2,
		Offset: ((received - sent) + (answered - heard)) / 2,
		Error:  max(((heard-sent)-(answered-received))/2, 0) + 1,
	}
}

// maxDrift is how fast two clocks may drift apart: 500 millionths, the most that Linux
// lets its clock be steered by (adjtimex(2)). Where samples contradict that, it is
// doubled until they do not.
const maxDrift = 500e-6

// mapping turns times of an agent's clock into times of the coordinator's.
type mapping struct {
	knots []sample // by At
	drift float64
}

// newMapping takes samples in the order of their times. At each it keeps what all of
// them together allow: an interval for the offset, which widens with the distance from
// each sample by what the clocks may drift meanwhile.
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

// to is the coordinator's time at a time of the agent's. Times are to be asked for
// nearly in order: next is where the search begins, and where it ended is returned.
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

// error is how far a mapped time between from and until can be off: between two
// samples the larger of their errors and what the clocks may drift apart over half the
// way; outside of them, over all of it.
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
