package ledger

import (
	"math"

	"assay/history"
)

// timesOps operations share one opTimes: 20 bytes an operation, made when the first
// of them is committed or unknown, so that a client that does little costs
// little.
const timesOps = 256

// opTimes is when 256 consecutive operations of one client ran, and with which
// balances they were acknowledged.
type opTimes struct {
	// first is when the operation was first started, nanoseconds; 0, the start
	// of the run, if that is not known.
	first [timesOps]int64
	took  [timesOps]duration
	// balances are the lowest 32 bits of the balances of the source and the
	// destination as acknowledged. They distinguish any two balances that differ
	// by less than 2^32.
	balances [timesOps][2]uint32
}

// duration is how long an operation took until it was acknowledged: 0 if it
// never was; else nanoseconds and one, up to two seconds; above that with the
// highest bit set and in milliseconds, rounded up. Rounding up can hide that
// one operation ended before another began, never invent it.
type duration uint32

const coarse duration = 1 << 31

// newDuration returns 0, never, for what makes no sense and for weeks.
func newDuration(ns int64) duration {
	switch {
	case ns < 0 || ns > (int64(coarse)-2)*1e6:
		return 0
	case ns < int64(coarse)-1:
		return duration(ns + 1)
	default:
		return coarse | duration((ns+1e6-1)/1e6)
	}
}

// ns is meaningless for 0.
func (d duration) ns() int64 {
	if d < coarse {
		return int64(d) - 1
	}
	return int64(d&^coarse) * 1e6
}

// setTimes keeps the times of a transfer that may have had an effect, and what
// was acknowledged with it.
func (b *block) setTimes(i int, op *history.Op) {
	if op.Last && (op.Final == history.Rejected || op.Final == history.Failed) {
		return
	}
	p := b.times[i/timesOps]
	if p == nil {
		p = new(opTimes)
		b.times[i/timesOps] = p
	}
	i %= timesOps
	p.first[i] = op.First
	if !op.Last || op.Final != history.Committed {
		return
	}
	p.took[i] = newDuration(op.End - op.First)
	if len(op.Values) >= 4 {
		p.balances[i] = [2]uint32{uint32(op.Values[0]), uint32(op.Values[2])}
	}
}

// span is when the operation was first started and when it was acknowledged.
// What is not known is as wide as it can be.
func (b *block) span(i int) (first, end int64) {
	p := b.times[i/timesOps]
	if p == nil {
		return math.MinInt64, math.MaxInt64
	}
	first = p.first[i%timesOps]
	took := p.took[i%timesOps]
	if took == 0 || took.ns() > math.MaxInt64-max(first, 0) {
		return first, math.MaxInt64
	}
	return first, first + took.ns()
}
