package measure

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Interval has a figure in it with a confidence of 95 %. It has the keys of result.json.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

const confidence = 0.95

// Share is the distance of the figure to the farther bound, as a share of the figure. It is not a
// number if the figure is 0.
func (i Interval) Share(figure float64) float64 {
	return max(i.High-figure, figure-i.Low) / figure
}

// line is the least squares line through values at their times, and the noise around it.
//
// Correlated neighbours say less than independent values. Their correlation inflates the variance
// and reduces the degrees of freedom (G. Bayley, J. Hammersley, "The effective number of
// independent observations in an autocorrelated time series", Suppl. J. R. Stat. Soc. 8, 1946, for
// a first-order process). Around a fitted line the correlation is underestimated by (2+4r)/n on
// average (M. Kendall, "Note on bias in the estimation of autocorrelation", Biometrika 41, 1954).
// That is added, with a tenth of the number of values in place of 2 if there are many: the variance
// grows faster than the correlation, so that an unbiased estimate would leave it too small. The
// tests of this file measure the coverage.
type line struct {
	n, mean, slope float64
	// variance is the inflated variance of a value around the line. times is the sum of the
	// squared distances of the times from their mean.
	variance, times float64
	free            float64
}

// lineThrough needs at least minBatches values.
func lineThrough(times, values []float64) line {
	n := float64(len(values))
	middle := meanOf(times)
	l := line{n: n, mean: meanOf(values)}
	for i, v := range values {
		l.times += (times[i] - middle) * (times[i] - middle)
		l.slope += (times[i] - middle) * (v - l.mean)
	}
	l.slope /= l.times
	var squares, products, before float64
	for i, v := range values {
		residual := v - l.mean - l.slope*(times[i]-middle)
		squares += residual * residual
		products += residual * before
		before = residual
	}
	inflation := 1.0
	if squares > 0 {
		r := min(max((n*products/squares+n/10)/(n-4), leastCorrelation), maxCorrelation)
		inflation = (1 + r) / (1 - r)
	}
	l.variance = squares / (n - 2) * inflation
	l.free = max(n/inflation-2, minFreedom)
	return l
}

// leastCorrelation and maxCorrelation bound the correlation used. A negative correlation must not
// make the interval much narrower.
const leastCorrelation, maxCorrelation = -0.1, 0.9

const minFreedom = 3

// meanError and slopeError are standard errors.
func (l line) meanError() float64  { return math.Sqrt(l.variance / l.n) }
func (l line) slopeError() float64 { return math.Sqrt(l.variance / l.times) }

// beyond is the number of standard errors exceeded with this probability, on one side.
func (l line) beyond(probability float64) float64 { return studentQuantile(1-probability, l.free) }

func (l line) half() float64 { return l.beyond((1-confidence)/2) * l.meanError() }

// OfRepeats is the interval of the mean of independent measurements, by Student's distribution; nil
// for fewer than two.
func OfRepeats(values []float64) (mean float64, i *Interval) {
	if len(values) == 0 {
		return 0, nil
	}
	n := float64(len(values))
	mean, deviation := stat.MeanStdDev(values, nil)
	if n < 2 {
		return mean, nil
	}
	half := studentQuantile(1-(1-confidence)/2, n-1) * deviation / math.Sqrt(n)
	return mean, &Interval{Low: mean - half, High: mean + half}
}

func studentQuantile(probability, free float64) float64 {
	return distuv.StudentsT{Sigma: 1, Nu: free}.Quantile(probability)
}

// setInterval sets the throughput's interval from the steps at these positions of the measured
// part.
//
// It joins them into batches (method of batch means; G. Fishman, "Principles of Discrete Event
// Simulation", 1978). A trend is no noise around the mean: the noise is the rest around the line.
// TestIntervalsCover measures how often the interval contains the true mean.
func (t *Throughput) setInterval(steps Steps, positions []int) {
	t.Low, t.High = nil, nil
	b := batchesOf(steps, positions)
	if len(b.rates) < minBatches {
		return
	}
	half := lineThrough(b.times, b.rates).half()
	if t.Seconds > 0 { // the other steps add no noise
		half *= min(float64(len(positions))*steps.Seconds/t.Seconds, 1)
	}
	low, high := max(t.PerSecond-half, 0), t.PerSecond+half
	t.Low, t.High = &low, &high
}

// LeaveOutFaults bases the throughput's interval on the noise outside of faults. The effect of a
// fault is no noise: it was asked for, and the figure contains it.
func (f *Figures) LeaveOutFaults(impacts []Impact) {
	if len(impacts) > 0 {
		steps, positions := f.Steps.WithoutFaults(f.Scope, impacts)
		f.Throughput.setInterval(steps, positions)
	}
}

// Interval is nil if there is none.
func (t *Throughput) Interval() *Interval {
	if t.Low == nil || t.High == nil {
		return nil
	}
	return &Interval{Low: *t.Low, High: *t.High}
}
