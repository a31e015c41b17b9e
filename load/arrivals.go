package load

import (
	"math"
	"math/rand/v2"
	"sort"
	"time"
)

// arrivals are the due times of an open loop's operations, in nanoseconds since the start. They
// depend only on the plan, so that a slow answer delays no arrival (no coordinated omission). They
// lie in [0, warm-up + duration), or end with the last of the plan's operations. They are not safe
// for concurrent use.
type arrivals struct {
	plan     Plan
	end      int64 // of the measured part; the largest int64 with Plan.Ops
	random   *rand.Rand
	taken    int64
	measured uint64  // of the taken, those due in the measured part
	next     float64 // when the next one is due, with Poisson
}

func newArrivals(p Plan) *arrivals {
	return &arrivals{plan: p, end: measureEnd(p), random: rand.New(rand.NewPCG(p.Seed, 0x6172726976616c73))}
}

// measureEnd is the end of the plan's measured part, itself excluded.
func measureEnd(p Plan) int64 {
	if p.Ops > 0 && !p.Limited || p.Warmup > math.MaxInt64-p.Duration {
		return math.MaxInt64
	}
	return int64(p.Warmup + p.Duration)
}

func (a *arrivals) due() (at int64, ok bool) {
	if a.plan.Arrivals == Poisson {
		at = int64(a.next)
	} else {
		at = a.uniform(a.taken)
	}
	return at, at < a.end && (a.plan.Ops == 0 || a.measured < a.plan.Ops)
}

// uniform returns when arrival n, from 0, is due. Not summing up avoids growing errors.
func (a *arrivals) uniform(n int64) int64 {
	return int64(math.Round((float64(n) + a.plan.Phase) * float64(time.Second) / a.plan.Rate))
}

func (a *arrivals) take() {
	if at, _ := a.due(); at >= int64(a.plan.Warmup) {
		a.measured++
	}
	a.taken++
	if a.plan.Arrivals == Poisson {
		a.next += a.random.ExpFloat64() * float64(time.Second) / a.plan.Rate
	}
}

// countBetween takes all arrivals due before to, and counts those due at from or later.
func (a *arrivals) countBetween(from, to int64) (n int64) {
	if a.plan.Arrivals == Uniform {
		first, last := max(a.taken, a.firstAt(from)), a.firstAt(to)
		if a.plan.Ops > 0 {
			last = min(last, a.firstAt(int64(a.plan.Warmup))+int64(a.plan.Ops))
		}
		a.taken = max(a.taken, last)
		return max(last-first, 0)
	}
	for at, ok := a.due(); ok && at < to; at, ok = a.due() {
		if at >= from {
			n++
		}
		a.take()
	}
	return n
}

// firstAt returns the number of the first uniform arrival due at the moment or later.
func (a *arrivals) firstAt(moment int64) int64 {
	about := int64(float64(min(moment, a.end)) / float64(time.Second) * a.plan.Rate)
	from := max(about-2, 0)
	return from + int64(sort.Search(4, func(i int) bool { return a.uniform(from+int64(i)) >= min(moment, a.end) }))
}
