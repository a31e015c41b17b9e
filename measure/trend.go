package measure

import (
	"math"
	"slices"

	"assay/internal/quantity"
)

const (
	// A line is fitted through minBatches to maxBatches batches.
	minBatches, maxBatches = 10, 30
)

// batches are equal parts of the measured part, with the middle of each in seconds.
type batches struct {
	seconds                               float64
	times, rates, latencyTimes, latencies []float64
}

// batchesOf joins neighbouring steps into few batches, whose means are less correlated than the
// steps (method of batch means; G. Fishman, "Principles of Discrete Event Simulation", 1978). It
// drops a batch that lacks more than half of its steps because of faults.
func batchesOf(steps Steps, positions []int) batches {
	width := (len(positions) + maxBatches - 1) / maxBatches
	out := batches{seconds: float64(width) * steps.Seconds}
	for first := 0; first < len(positions); {
		last := first
		for last < len(positions) && positions[last] < positions[first]+width {
			last++
		}
		var count, middle, logs float64
		for i := first; i < last; i++ {
			n := float64(steps.Committed[i])
			count += n
			middle += (float64(positions[i]) + 0.5) * steps.Seconds / float64(last-first)
			if n > 0 {
				logs += n * math.Log(steps.TypicalMillis[i])
			}
		}
		if (last-first)*2 > width {
			out.times = append(out.times, middle)
			out.rates = append(out.rates, count/float64(last-first)/steps.Seconds)
			if count > 0 {
				out.latencyTimes = append(out.latencyTimes, middle)
				out.latencies = append(out.latencies, math.Exp(logs/count))
			}
		}
		first = last
	}
	return out
}

// changeOf is the change over length along the line through the values at these times, both in
// seconds. It needs a median above 0 and at least minBatches values.
func changeOf(times, values []float64, length float64) Change {
	l := lineThrough(times, values)
	c := Change{Median: quantity.Median(slices.Clone(values))}
	scale := length / c.Median
	c.Share = l.slope * scale
	half := l.beyond(0.05) * l.slopeError() * scale
	c.Low, c.High = c.Share-half, c.Share+half
	c.Least = math.Abs(c.Share) - l.beyond(0.01)*l.slopeError()*scale
	c.Certain = math.Abs(c.Share) > l.beyond(trendPValue/2)*l.slopeError()*scale
	return c
}

// trendPValue bounds the probability that noise shows such a trend, up or down.
const trendPValue = 0.001
