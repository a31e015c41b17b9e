package measure

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Trend is how a series of values moved.
type Trend struct {
	// PValue is the two-sided probability that values without a trend look as
	// ordered as these (Mann-Kendall).
	PValue float64
	// ChangeShare is the change from the first value to the last along the
	// fitted line (Theil-Sen), as a share of the median: -0.2 is a fall by a
	// fifth.
	ChangeShare float64
	// Median of the values.
	Median float64
}

// trendOf tests values at equally spaced or other ascending times. The median
// must not be 0, and there must be at least two values.
//
// The test is H. B. Mann, "Nonparametric tests against trend", Econometrica
// 13, 1945, and M. G. Kendall, "Rank Correlation Methods", 1975, with the
// normal approximation, the correction for ties and the correction for
// continuity, as in R. O. Gilbert, "Statistical Methods for Environmental
// Pollution Monitoring", 1987, section 16.4. The line is H. Theil, "A
// rank-invariant method of linear and polynomial regression analysis", 1950,
// and P. K. Sen, "Estimates of the regression coefficient based on Kendall's
// tau", JASA 63, 1968. Both bear outliers, such as a pause of the database.
//
// The test takes the values for independent. Those of a database that lags
// behind itself are not, and the p value is then too small; that is why a
// trend must also be large to count.
func trendOf(times, values []float64) Trend {
	var s float64
	slopes := make([]float64, 0, len(values)*(len(values)-1)/2)
	for i := range values {
		for k := i + 1; k < len(values); k++ {
			difference := values[k] - values[i]
			switch {
			case difference > 0:
				s++
			case difference < 0:
				s--
			}
			slopes = append(slopes, difference/(times[k]-times[i]))
		}
	}
	t := Trend{PValue: 1, Median: median(slices.Clone(values))}
	if s != 0 {
		z := (math.Abs(s) - 1) / math.Sqrt(kendallVariance(values))
		t.PValue = math.Erfc(z / math.Sqrt2)
	}
	t.ChangeShare = median(slopes) * (times[len(times)-1] - times[0]) / t.Median
	return t
}

// kendallVariance is the variance of Kendall's S without a trend.
func kendallVariance(values []float64) float64 {
	term := func(n float64) float64 { return n * (n - 1) * (2*n + 5) }
	sorted := slices.Sorted(slices.Values(values))
	sum := term(float64(len(sorted)))
	for i := 0; i < len(sorted); {
		k := i
		for k < len(sorted) && sorted[k] == sorted[i] {
			k++
		}
		sum -= term(float64(k - i))
		i = k
	}
	return sum / 18
}

// Steadiness says whether the measured part had a steady state.
type Steadiness struct {
	// Judged is false if there was too little to judge by; Text says why.
	Judged bool
	// Steady is true if neither throughput nor latency had a trend.
	Steady bool
	// Text is one sentence with figures.
	Text string
	// Throughput is committed operations a second, Latency their mean response
	// time in milliseconds, interval by interval.
	Throughput, Latency Trend
	// Spread of the throughput: the median absolute deviation, scaled to agree
	// with the standard deviation where the noise is normal, and the standard
	// deviation itself, both as a share of the median.
	SpreadShare, DeviationShare float64
	Intervals                   int
	IntervalSeconds             float64
}

// madScale makes the median absolute deviation an estimate of a normal
// distribution's standard deviation (P. J. Rousseeuw, C. Croux, "Alternatives
// to the median absolute deviation", JASA 88, 1993).
const madScale = 1.4826

// JudgeSteadiness looks for a trend in the throughput and in the latency of
// the measured part. In a closed loop both tell the same; in an open loop the
// throughput is what was asked for, and only the latency tells that the
// database does not keep up.
func JudgeSteadiness(steps Steps, limits Limits) Steadiness {
	positions := make([]int, len(steps.Committed))
	for i := range positions {
		positions[i] = i
	}
	return judgeSteadiness(steps, positions, limits)
}

// judgeSteadiness is JudgeSteadiness for steps that were at these positions of
// the measured part, in ascending order.
func judgeSteadiness(steps Steps, positions []int, limits Limits) Steadiness {
	out := Steadiness{Intervals: len(steps.Committed), IntervalSeconds: steps.Seconds}
	var times, rates, latencyTimes, latencies []float64
	for i, n := range steps.Committed {
		at := float64(positions[i]) * steps.Seconds
		times, rates = append(times, at), append(rates, float64(n)/steps.Seconds)
		if n > 0 {
			latencyTimes, latencies = append(latencyTimes, at), append(latencies, steps.MeanMillis[i])
		}
	}
	if need := max(limits.MinIntervals, 3); len(rates) < need {
		out.Text = fmt.Sprintf("not judged: the measured part has %d whole intervals of %g s, and %d are needed",
			len(rates), steps.Seconds, need)
		return out
	}
	if len(latencies)*2 <= len(rates) || median(slices.Clone(latencies)) <= 0 {
		out.Text = fmt.Sprintf("not judged: only %d of %d intervals have committed operations", len(latencies), len(rates))
		return out
	}
	out.Judged = true
	out.Throughput, out.Latency = trendOf(times, rates), trendOf(latencyTimes, latencies)
	out.SpreadShare, out.DeviationShare = spread(rates)
	moving := []string{}
	if out.Throughput.counts(limits) {
		moving = append(moving, out.Throughput.say("throughput", "/s"))
	}
	if out.Latency.counts(limits) {
		moving = append(moving, out.Latency.say("mean latency", " ms"))
	}
	out.Steady = len(moving) == 0
	if out.Steady {
		out.Text = fmt.Sprintf("steady over %d intervals of %g s: %s, %s; spread %.1f %%", out.Intervals, steps.Seconds,
			out.Throughput.say("throughput", "/s"), out.Latency.say("mean latency", " ms"), 100*out.SpreadShare)
		return out
	}
	out.Text = fmt.Sprintf("not steady over %d intervals of %g s: ", out.Intervals, steps.Seconds)
	for i, m := range moving {
		if i > 0 {
			out.Text += " and "
		}
		out.Text += m
	}
	return out
}

// counts reports whether a trend is both certain and large.
func (t Trend) counts(limits Limits) bool {
	return t.PValue < limits.TrendPValue && math.Abs(t.ChangeShare) > limits.TrendChange
}

func (t Trend) say(what, unit string) string {
	return fmt.Sprintf("%s changed by %+.1f %% of its median %s%s (p = %.2g)", what, 100*t.ChangeShare, legible(t.Median), unit, t.PValue)
}

// legible is a figure with four digits that count, and without an exponent.
func legible(v float64) string {
	if v >= 1000 && v < 1e15 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// spread needs a median above 0.
func spread(values []float64) (mad, deviation float64) {
	middle := median(slices.Clone(values))
	away := make([]float64, len(values))
	for i, v := range values {
		away[i] = math.Abs(v - middle)
	}
	_, deviation = meanAndDeviation(values)
	return madScale * median(away) / middle, deviation / middle
}
