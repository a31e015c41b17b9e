package measure

import (
	"fmt"
	"io"
	"math"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// The range and precision of the histograms. Values are nanoseconds, with a resolution of 512 ns
// (the power of two below a microsecond). A histogram with three digits takes 197 kB, with two
// 28 kB.
const (
	// MaxTrackable is the longest time that a histogram distinguishes from longer times.
	MaxTrackable = time.Hour
	leastTold    = time.Microsecond
	// fine and coarse are significant decimal digits.
	fine   = 3
	coarse = 2
)

// distribution is an HDR histogram (G. Tene, hdrhistogram.org) with an exact mean and maximum. It
// is not safe for concurrent use.
type distribution struct {
	histogram *hdr.Histogram
	sum       float64
	max       int64
	outside   int64
}

func newDistribution(digits int) *distribution {
	return &distribution{histogram: hdr.New(int64(leastTold), int64(MaxTrackable), digits)}
}

// record counts a time in nanoseconds. Negative times count as 0, times beyond MaxTrackable as
// MaxTrackable. outside counts both.
func (d *distribution) record(nanos int64) { d.recordTimes(nanos, 1) }

func (d *distribution) recordTimes(nanos, times int64) {
	tracked := min(max(nanos, 0), int64(MaxTrackable))
	if tracked != nanos {
		d.outside += times
	}
	if d.histogram.RecordValues(tracked, times) != nil {
		return // only a total beyond 2^63 is refused
	}
	d.sum += float64(max(nanos, 0)) * float64(times)
	d.max = max(d.max, nanos)
}

func (d *distribution) count() int64 { return d.histogram.TotalCount() }

func (d *distribution) merge(other *distribution) {
	d.outside += other.outside + d.histogram.Merge(other.histogram)
	d.sum += other.sum
	d.max = max(d.max, other.max)
}

func (d *distribution) reset() {
	d.histogram.Reset()
	d.sum, d.max, d.outside = 0, 0, 0
}

// quantile returns, in nanoseconds, the smallest value that at least the share q of all values do
// not exceed (nearest rank), within the precision: never below the true value, nor above the
// maximum. It is 0 for no values.
func (d *distribution) quantile(q float64) int64 {
	n := float64(d.count())
	// The product may lie a rounding error above a whole rank.
	return d.atRank(int64(math.Ceil(q * n * (1 - 1e-14))))
}

// atRank returns the rank-th smallest value, from 1.
func (d *distribution) atRank(rank int64) int64 {
	n := d.count()
	if n == 0 {
		return 0
	}
	rank = max(rank, 1)
	if rank >= n {
		return d.max
	}
	// The library rounds the percentage of the count to the nearest rank: this one.
	return min(d.histogram.ValueAtPercentile(100*float64(rank)/float64(n)), d.max)
}

// Latency is a distribution of times in milliseconds. It has the keys of result.json.
type Latency struct {
	Count     int64      `json:"count"`
	Mean      float64    `json:"mean_ms"`
	P50       float64    `json:"p50_ms"`
	P95       float64    `json:"p95_ms"`
	P99       float64    `json:"p99_ms"`
	P999      float64    `json:"p999_ms"`
	Max       float64    `json:"max_ms"`
	Intervals *Intervals `json:"intervals,omitempty"`
	// OutOfRange counts negative values and values above MaxTrackable. Percentiles count them
	// as 0 and MaxTrackable; Mean and Max use the true length of those above.
	OutOfRange int64 `json:"-"`
	// Curve is the distribution for drawing: pairs of a share of the operations (above 0, the
	// last 1) and the milliseconds that the share did not exceed. Both ascend, denser toward
	// 1, in at most curvePoints+1 pairs. It is empty in a Snapshot and if Count is 0.
	Curve [][2]float64 `json:"curve,omitempty"`
}

const curvePoints = 100

func millis(nanos int64) float64 { return float64(nanos) / 1e6 }

func (d *distribution) latency() Latency {
	out := Latency{Count: d.count(), OutOfRange: d.outside, Max: millis(d.max)}
	if out.Count == 0 {
		return out
	}
	out.Mean = d.sum / float64(out.Count) / 1e6
	out.P50 = millis(d.quantile(0.50))
	out.P95 = millis(d.quantile(0.95))
	out.P99 = millis(d.quantile(0.99))
	out.P999 = millis(d.quantile(0.999))
	return out
}

// withCurve adds the curve: the share above a point falls by an equal factor from point to point.
func (d *distribution) withCurve() Latency {
	out := d.latency()
	n := float64(out.Count)
	last := int64(0)
	for k := range curvePoints {
		above := math.Pow(n, -float64(k)/(curvePoints-1))
		rank := max(int64(math.Ceil((1-above)*n)), 1)
		if rank <= last || rank >= out.Count {
			continue
		}
		last = rank
		out.Curve = append(out.Curve, [2]float64{float64(rank) / n, millis(d.atRank(rank))})
	}
	if out.Count > 0 {
		out.Curve = append(out.Curve, [2]float64{1, out.Max})
	}
	return out
}

// ResponseTimes is the distribution behind Figures.Latency.
type ResponseTimes struct{ times *distribution }

// ticksPerHalf is the number of lines from one percentile to half-way between it and 100 %, as in
// HdrHistogram's own programs.
const ticksPerHalf = 5

// WritePercentiles writes the distribution in milliseconds as HdrHistogram's percentile text
// (.hgrm) for its plotters. The mean and deviation in the last lines are the histogram's, with
// three digits. Without operations, there are no lines of figures.
func (r ResponseTimes) WritePercentiles(w io.Writer) error {
	if r.times == nil {
		r.times = newDistribution(fine)
	}
	_, err := r.times.histogram.PercentilesPrint(w, ticksPerHalf, 1e6)
	if err == nil {
		_, err = io.WriteString(w, "#[Unit    = ms, response times of committed operations, from due to the end]\n")
	}
	if err != nil {
		return fmt.Errorf("write the percentiles: %w", err)
	}
	return nil
}
