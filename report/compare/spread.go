package compare

import (
	"fmt"
	"math"
	"slices"

	"golang.org/x/perf/benchmath"

	"assay/internal/quantity"
)

// Spread is a median over runs, and its interval.
type Spread struct {
	Median float64
	// Low and High are the median's 95 % confidence interval, or the interval of an only run.
	// With too few runs they are the smallest and the largest value.
	Low, High float64
	Confident bool
	Runs      int
	// AtLeast and HighAtLeast are true if runs' ends cut what the median, or High, rests on.
	AtLeast, HighAtLeast bool
}

// Share is half the interval's width divided by the median; 0 if that is 0.
func (s Spread) Share() float64 {
	if s.Median == 0 {
		return 0
	}
	return (s.High - s.Low) / 2 / math.Abs(s.Median)
}

// spread of one run is its own interval, which does not include differences between runs.
func (g Group) spread(m metric) Spread {
	s := spreadOf(observed(m, g))
	if runs := g.believedFor(m); len(runs) == 1 && m.interval != nil {
		if i := m.interval(runs[0].Result); i != nil {
			s.Low, s.High, s.Confident = i.Low, i.High, true
		}
	}
	return s
}

func spreadOf(all []observation) Spread {
	values := valuesIn(all)
	s := benchmath.AssumeNothing.Summary(benchmath.NewSample(values, &benchmath.DefaultThresholds), confidence)
	spread := Spread{Median: s.Center, Low: s.Lo, High: s.Hi, Confident: true, Runs: len(values)}
	if math.IsInf(s.Lo, 0) || math.IsInf(s.Hi, 0) {
		spread.Low, spread.High, spread.Confident = slices.Min(values), slices.Max(values), false
	}
	spread.AtLeast, spread.HighAtLeast = cutAt(all, upperMiddle(all)), cutAt(all, spread.High)
	return spread
}

// written is the median, marked if it must not be believed.
func (g Group) written(m metric, s Spread) string {
	return g.believable(m, s.written(m))
}

func (g Group) medianAndShare(m metric) []string {
	if m.of == nil || !everyRunHas([]Group{g}, m) {
		return []string{quantity.None, ""}
	}
	s := g.spread(m)
	return []string{g.written(m, s), shareText(s)}
}

func (s Spread) written(m metric) string {
	if s.AtLeast {
		return quantity.AtLeast + m.format(s.Median)
	}
	return m.format(s.Median)
}

// shareText is half the interval as a share; empty if unknown.
func shareText(s Spread) string {
	if s.HighAtLeast || s.Runs < 2 && !s.Confident {
		return ""
	}
	return fmt.Sprintf("%.0f %%", math.Ceil(100*s.Share()))
}

// changeText is a tilde if no difference is shown.
func (r Row) changeText() string {
	if !r.Significant {
		return "~"
	}
	return r.changed()
}

// changed allows for runs that were cut.
func (r Row) changed() string {
	if math.IsInf(r.Change, 0) {
		return changeText(r.Change)
	}
	return boundOf(r.A, r.B, changeText(r.Change))
}

// changedBy follows "changed" in a sentence.
func (r Row) changedBy() string {
	switch {
	case r.A.AtLeast && r.B.AtLeast:
		return "by what is not known, since the runs' end cut it"
	case math.IsInf(r.Change, 0):
		return "from " + r.A.written(r.metric) + " to " + r.B.written(r.metric)
	}
	return "by " + r.changed()
}

// boundOf writes text, a ratio or what follows from it, as a bound if one of the medians is one.
func boundOf(to, of Spread, text string) string {
	switch {
	case to.AtLeast && of.AtLeast:
		return "not known"
	case of.AtLeast:
		return quantity.AtLeast + text
	case to.AtLeast:
		return "at most " + text
	}
	return text
}
