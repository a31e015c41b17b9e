package measure

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"assay/internal/quantity"
)

// SteadyState is the conclusion about a steady state.
type SteadyState string

const (
	// Steady was shown: throughput and latency changed by less than the margin.
	Steady SteadyState = "steady"
	// NotSteady was shown: a trend, or a level that lasted.
	NotSteady SteadyState = "not steady"
	// NotShown means too noisy or too short: a change was neither shown nor excluded.
	NotShown SteadyState = "not shown"
	// NotJudged means too little data.
	NotJudged SteadyState = "not judged"
)

// Change is how a series of values moved over the measured part.
type Change struct {
	// Share is the change from start to end along the fitted line, as a share of the median:
	// -0.2 is a fall by a fifth.
	Share float64 `json:"change_share"`
	// Low and High are each passed with a probability of 5 %.
	Low    float64 `json:"low_share"`
	High   float64 `json:"high_share"`
	Median float64 `json:"median"`
	// Certain means that noise hardly looks like it (trendPValue). The change exceeds Least
	// with a confidence of 99 %. Neither is kept.
	Certain bool    `json:"-"`
	Least   float64 `json:"-"`
}

// Steadiness says whether the measured part had a steady state. It has the keys of result.json.
type Steadiness struct {
	State SteadyState `json:"state"`
	Text  string      `json:"text"`
	// Margin is the largest change that counts as steady, as a share of the median.
	Margin float64 `json:"margin_share"`
	// Throughput is committed operations a second, Latency the geometric mean of their response
	// times in milliseconds.
	Throughput Change `json:"throughput"`
	Latency    Change `json:"latency"`
	// Spread is the throughput's median absolute deviation between intervals, as a share of the
	// median, scaled to equal the standard deviation of normal noise.
	Spread float64 `json:"spread_share"`
	// Intervals is the number of intervals judged, each of IntervalSeconds.
	Intervals       int     `json:"intervals"`
	IntervalSeconds float64 `json:"interval_seconds"`
}

// madScale turns a median absolute deviation into a normal distribution's standard deviation (P. J.
// Rousseeuw, C. Croux, "Alternatives to the median absolute deviation", JASA 88, 1993).
const madScale = 1.4826

// judgeSteadiness looks for a steady state in the steps at these ascending positions of the
// measured part.
//
// Not finding a change is no evidence of a steady state, so the steady state must be shown. Two
// one-sided tests at 5 % each (TOST; D. J. Schuirmann, "A comparison of the two one-sided tests
// procedure and the power approach for assessing the equivalence of average bioavailability", J.
// Pharmacokinetics and Biopharmaceutics 15, 1987) must show that throughput and latency changed by
// less than Limits.SteadyMargin. A level that lasted and differs from its neighbour by more than
// the margin is a change in any case.
//
// TestFalseSteadyRate: a drift as large as the margin is called steady in 2 to 5 % of runs, with 5
// to 15 % noise between tenths of a second and correlations of neighbours up to 0.6.
// TestLevelNoiseIsSteady: noise around a level is called steady in 12 s nearly always with 5 %, in
// 98 % of runs with 10 % and a correlation of 0.3, in 97 % with 15 % and none, in 77 % with 15 %
// and 0.3. With 15 % and 0.6 it is 30 % in 12 s, 80 % in 30 s and 99 % in a minute. Most others are
// not shown, less than 2 % not steady.
//
// In an open loop, the throughput is given and scatters with the arrivals. There, only the latency
// must be steady: the database then keeps up.
func judgeSteadiness(steps Steps, positions []int, openLoop bool, limits Limits) Steadiness {
	out := Steadiness{State: NotJudged, Margin: limits.SteadyMargin, IntervalSeconds: steps.Seconds}
	have := float64(len(steps.Committed)) * steps.Seconds
	if need := limits.MinSteady.Seconds(); have < need || len(steps.Committed) < minBatches {
		out.Intervals = len(steps.Committed)
		out.Text = fmt.Sprintf("not judged: the measured part has %.3g s to judge by, and %g s are needed", have, need)
		return out
	}
	all := batchesOf(steps, positions)
	out.Intervals, out.IntervalSeconds = len(all.rates), all.seconds
	if len(all.latencies)*2 <= len(all.rates) || len(all.latencies) < minBatches || quantity.Median(slices.Clone(all.rates)) <= 0 {
		out.Text = fmt.Sprintf("not judged: only %d of %d intervals of %.3g s have committed operations", len(all.latencies), len(all.rates), all.seconds)
		return out
	}
	length := float64(positions[len(positions)-1]-positions[0]+1) * steps.Seconds
	out.Throughput = changeOf(all.times, all.rates, length)
	out.Latency = changeOf(all.latencyTimes, all.latencies, length)
	out.Spread = spread(all.rates)
	if against := out.evidenceAgainst(steps); len(against) > 0 {
		out.State = NotSteady
		out.Text = fmt.Sprintf("not steady over %d intervals of %.3g s: %s", out.Intervals, out.IntervalSeconds, strings.Join(against, " and "))
		return out
	}
	out.summarize(length, openLoop)
	return out
}

// evidenceAgainst says what shows that there is no steady state; empty for nothing.
func (s *Steadiness) evidenceAgainst(steps Steps) []string {
	var all []string
	rates := make([]float64, len(steps.Committed))
	var typical []float64
	for i, n := range steps.Committed {
		rates[i] = float64(n) / steps.Seconds
		if n > 0 {
			typical = append(typical, steps.TypicalMillis[i])
		}
	}
	for _, one := range []struct {
		name, unit string
		change     Change
		values     []float64
	}{{"throughput", "/s", s.Throughput, rates}, {"typical latency", " ms", s.Latency, typical}} {
		levels := func(least, chance float64) bool {
			from, to, found := jump(one.values, least*one.change.Median, chance)
			if found {
				all = append(all, fmt.Sprintf("%s went from %s to %s%s", one.name, quantity.Figure(from), quantity.Figure(to), one.unit))
			}
			return found
		}
		switch {
		case levels(s.Margin, jumpPValue):
		case one.change.shown(s.Margin):
			all = append(all, one.change.describe(one.name, one.unit))
		default:
			levels(s.Margin/2, smallPValue)
		}
	}
	return all
}

// summarize sets the state and the text, by whether the changes over length seconds lie within the
// margin.
func (s *Steadiness) summarize(length float64, openLoop bool) {
	changes := []string{s.Throughput.describe("throughput", "/s"), s.Latency.describe("typical latency", " ms")}
	spread := fmt.Sprintf("spread %.1f %%", 100*s.Spread)
	within, needed := s.Latency.within(s.Margin), s.Latency.needed(s.Margin)
	if !openLoop {
		within = within && s.Throughput.within(s.Margin)
		needed = max(needed, s.Throughput.needed(s.Margin))
	}
	if within {
		s.State = Steady
		s.Text = fmt.Sprintf("steady within %g %% over %d intervals of %.3g s: %s; %s", 100*s.Margin, s.Intervals, s.IntervalSeconds,
			strings.Join(changes, ", "), spread)
		return
	}
	s.State = NotShown
	advice := "warm up longer, and measure longer"
	if !math.IsInf(needed, 1) {
		advice = fmt.Sprintf("measure for %s or longer, on a machine with less else to do", atLeast(length*needed))
	}
	s.Text = fmt.Sprintf("not shown within %g %%: over %s s %s; %s between intervals of %.3g s; %s",
		100*s.Margin, quantity.Short(length), strings.Join(changes, ", "), spread, s.IntervalSeconds, advice)
}

// atLeast is a length in whole seconds, rounded up to two digits.
func atLeast(seconds float64) string {
	step := math.Pow(10, math.Floor(math.Log10(max(seconds, 10)))-1)
	return quantity.Seconds(math.Ceil(seconds/step) * step)
}

// shown reports a change that matters: at least half the margin and no chance, or certainly beyond
// the margin.
func (c Change) shown(margin float64) bool {
	return c.Certain && math.Abs(c.Share) >= margin/2 || c.Least > margin
}

func (c Change) within(margin float64) bool { return c.Low > -margin && c.High < margin }

// needed is the factor by which a run must be longer to show with a chance of about 80 % that there
// is no change; infinite if the change itself exceeds the margin.
func (c Change) needed(margin float64) float64 {
	half := (c.High - c.Low) / 2
	if math.Abs(c.Share) > margin {
		return math.Inf(1)
	}
	// The error falls with the square root of the length. 1.78 is (1.645 + 1.282) / 1.645: the
	// tests' quantile, and the chance's.
	return max(math.Pow(1.78*half/margin, 2), 1.2)
}

func (c Change) describe(what, unit string) string {
	percent := func(share float64) float64 { return math.Round(1000*share)/10 + 0 } // no -0
	return fmt.Sprintf("%s changed by %+.1f %% (90 %% confidence: %+.1f to %+.1f %%) of its median %s%s",
		what, percent(c.Share), percent(c.Low), percent(c.High), quantity.Figure(c.Median), unit)
}

// spread needs a median above 0.
func spread(values []float64) float64 {
	middle := quantity.Median(slices.Clone(values))
	away := make([]float64, len(values))
	for i, v := range values {
		away[i] = math.Abs(v - middle)
	}
	return madScale * quantity.Median(away) / middle
}
