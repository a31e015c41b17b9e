package measure

import (
	"math"
	"time"

	"assay/history"
)

// Intervals are the intervals of a Latency. An interval is nil if there are too few operations, so
// that a percentile's would have no upper end. All are nil if the measured part is too short. They
// have the keys of result.json.
type Intervals struct {
	Mean *Interval `json:"mean_ms,omitempty"`
	P50  *Interval `json:"p50_ms,omitempty"`
	P95  *Interval `json:"p95_ms,omitempty"`
	P99  *Interval `json:"p99_ms,omitempty"`
	P999 *Interval `json:"p999_ms,omitempty"`
}

// latencyBatches are the times of the operations due in each of at most maxBatches equal parts of
// the measured part. They take at most 1 MB, regardless of the run's length.
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

// part is the batch of an operation of the measured part. There must be batches.
func (b *latencyBatches) part(op *history.Op) int64 { return (op.Due - b.start) / b.width }

// intervals returns the intervals of a distribution with these times.
//
// A percentile's interval lies between two other percentiles (R. Woodruff, "Confidence intervals
// for medians and other position measures", JASA 47, 1952). Their distance is the uncertainty of
// the share of operations above the percentile. That share and the mean are ratios of sums over
// batches, whose noise may be correlated (W. Cochran, "Sampling Techniques", 1977, chapter 6; for
// batches see setInterval).
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

// ratioHalf is half the width of the interval of a ratio of two sums over batches, also in standard
// errors.
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

// percentileInterval is nil if it has no upper end. above counts each batch's operations above the
// percentile, within the batches' precision.
func percentileInterval(of *distribution, q float64, above, counts []float64) *Interval {
	half, errors := ratioHalf(above, counts)
	var beyond, n float64
	for i := range counts {
		beyond, n = beyond+above[i], n+counts[i]
	}
	share := beyond / n
	// The ratio of the batches' variance to independent operations' variance. It is 1 if the
	// batches cannot distinguish operations above the percentile.
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
