package load

import (
	"math"
	"math/rand/v2"
	"sync"
	"time"
)

// pacer hands out the moments at which operations are due in an open loop. The
// moments depend on the rate and the seed alone, never on how the database
// fares, so that a slow answer delays nobody's arrival (the cure of
// coordinated omission). It is safe for concurrent use.
type pacer struct {
	mu      sync.Mutex
	gap     float64 // mean, in nanoseconds
	poisson bool
	random  *rand.Rand
	next    float64
}

func newPacer(p Plan) *pacer {
	return &pacer{
		gap: float64(time.Second) / p.Rate, poisson: p.Arrivals == Poisson,
		random: rand.New(rand.NewPCG(p.Seed, 0x6172726976616c73)),
	}
}

// take returns when the next operation is due, in nanoseconds since the start.
func (p *pacer) take() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	due := p.next
	if p.poisson {
		p.next += p.gap * p.random.ExpFloat64()
	} else {
		p.next += p.gap
	}
	return int64(due)
}

// countUntil takes all that are due before end and counts them.
func (p *pacer) countUntil(end int64) (n int64) {
	p.mu.Lock()
	due := p.next
	p.mu.Unlock()
	if !p.poisson && due < float64(end) {
		return int64(math.Ceil((float64(end) - due) / p.gap))
	}
	for p.take() < end {
		n++
	}
	return n
}
