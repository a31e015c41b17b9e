package measure

import (
	"math"
	"time"

	"assay/history"
)

// Intervals belong to the figures of a Latency. One is nil where operations are too few
// for it: a percentile may be so high that its interval would have no upper end. All are
// nil if the measured part is too short. They have the keys of result.json.
type Intervals struct {
	Mean *Interval `json:"mean_ms,omitempty"`
	P50  *Interval `json:"p50_ms,omitempty"`
	P95  *Interval `json:"p95_ms,omitempty"`
	P99  *Interval `json:"p99_ms,omitempty"`
	P999 *Interval `json:"p999_ms,omitempty"`
}

// latencyBatches are the times of the operations that were due in each of at most
// maxBatches equal parts of the measured part. Their memory is at most 1 MB, whatever
// the length of the run.
type latencyBatches struct {
	start, width int64
	batches      []*distribution
}

func newLatencyBatches(scope Scope) *latencyBatches {
	length := max(scope.MeasureEnd-scope.MeasureStart, 0)
	n := min(length/int64(100*time.Millisecond), maxBatches)
	if n < minBatches {
		return &latencyBatches{}
	}
	b := &latencyBatches{start: scope.MeasureStart, width: (length-1)/n + 1}
	for range n {
		b.batches = append(b.batches, newDistribution(coarse))
	}
	return b
}

// part is the number of the batch of an operation of the measured part; there are batches.
func (b *latencyBatches) part(op *history.Op) int64 { return (op.Due - b.start) / b.width }

// intervals returns the intervals of the figures of a distribution with these times.
//
// A percentile's interval is between two others (R. Woodruff, "Confidence intervals for
// medians and other position measures", JASA 47, 1952): by as much as the share of the
// operations above it is uncertain, they lie below and above. That uncertainty is the
// one of a ratio of sums over batches, whose noise may be correlated (W. Cochran,
// "Sampling Techniques", 1977, chapter 6; for batches see rateInterval), and so is the
// mean's.
func (b *latencyBatches) intervals(of *distribution) *Intervals {
	if len(b.batches) == 0 || of.count() < minBatches {
		return nil
	}
	counts, sums := make([]float64, len(b.batches)), make([]float64, len(b.batches))
	for i, d := range b.batches {
		counts[i], sums[i] = float64(d.count()), d.sum
	}
	half, _ := ratioHalf(sums, counts)
	mean := of.sum / float64(of.count())
	above := b.above(of)
	return &Intervals{
		Mean: &Interval{Low: max(mean-half, 0) / 1e6, High: (mean + half) / 1e6},
		P50:  percentileInterval(of, 0.50, above[0], counts), P95: percentileInterval(of, 0.95, above[1], counts),
		P99: percentileInterval(of, 0.99, above[2], counts), P999: percentileInterval(of, 0.999, above[3], counts),
	}
}

// above counts the operations of each batch beyond each percentile.
func (b *latencyBatches) above(of *distribution) [4][]float64 {
	var out [4][]float64
	var limits [4]int64
	for i, q := range []float64{0.50, 0.95, 0.99, 0.999} {
		out[i], limits[i] = make([]float64, len(b.batches)), of.quantile(q)
	}
	for k, d := range b.batches {
		for _, bar := range d.histogram.Distribution() {
			for i, limit := range limits {
				if bar.Count > 0 && bar.From > limit {
					out[i][k] += float64(bar.Count)
				}
			}
		}
	}
	return out
}

// ratioHalf is half the width of the interval of the ratio of two sums over batches, and
// by how many standard errors that is.
func ratioHalf(sums, counts []float64) (half, errors float64) {
	var sum, count float64
	for i := range counts {
		sum, count = sum+sums[i], count+counts[i]
	}
	times, rest := make([]float64, len(counts)), make([]float64, len(counts))
	for i := range counts {
		times[i], rest[i] = float64(i), sums[i]-sum/count*counts[i]
	}
	l := lineThrough(times, rest)
	return l.half() * l.n / count, l.beyond((1 - confidence) / 2)
}

// percentileInterval is nil where it has no upper end. above counts, by batches, the
// operations beyond the percentile as far as the batches tell them apart.
func percentileInterval(of *distribution, q float64, above, counts []float64) *Interval {
	half, errors := ratioHalf(above, counts)
	var beyond, n float64
	for i := range counts {
		beyond, n = beyond+above[i], n+counts[i]
	}
	share := beyond / n
	// By how much the batches' noise exceeds the noise of as many independent operations;
	// where the batches tell none apart, it is taken to be the same.
	effect := 1.0
	if share > 0 && share < 1 {
		effect = half * half / (errors * errors) / (share * (1 - share) / n)
	}
	width := errors * math.Sqrt(effect*q*(1-q)/n)
	if (q+width)*n > n-1 {
		return nil
	}
	low, high := of.atRank(int64(math.Floor((q-width)*n))), of.atRank(int64(math.Ceil((q+width)*n)))
	at := of.quantile(q)
	return &Interval{Low: millis(min(low, at)), High: millis(max(high, at))}
}
