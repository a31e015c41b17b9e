package compare

import (
	"fmt"
	"math"
	"slices"

	"golang.org/x/perf/benchmath"

	"assay/internal/quantity"
)

// Spread is a median over runs, and where it lies.
type Spread struct {
	Median float64
	// Low and High are the 95 % confidence interval of the median if there are
	// enough runs for one, of a single run its own, and otherwise the smallest and the
	// largest value.
	Low, High float64
	// Confident is true if they are a confidence interval.
	Confident bool
	Runs      int
	// AtLeast is true if the end of runs cut what the median rests on, HighAtLeast if it did so
	// of High.
	AtLeast, HighAtLeast bool
}

// Share is half the width of the interval, of the median; 0 if that is 0.
func (s Spread) Share() float64 {
	if s.Median == 0 {
		return 0
	}
	return (s.High - s.Low) / 2 / math.Abs(s.Median)
}

// spread is the spread of a metric over the runs of a group. With one run it is that
// run's own interval, which does not hold the differences between runs.
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

// written is the median of a metric over the runs of a group, marked where it is not to be
// believed.
func (g Group) written(m metric, s Spread) string {
	return g.believable(m, s.written(m))
}

// medianAndShare are two cells of a table: the median, and half the interval.
func (g Group) medianAndShare(m metric) []string {
	if m.of == nil || !everyRunHas([]Group{g}, m) {
		return []string{quantity.None, ""}
	}
	s := g.spread(m)
	return []string{g.written(m, s), shareText(s)}
}

// written is the median, which may be a lower bound.
func (s Spread) written(m metric) string {
	if s.AtLeast {
		return quantity.AtLeast + m.format(s.Median)
	}
	return m.format(s.Median)
}

// shareText is half the interval as a share; empty where nothing is known of it.
func shareText(s Spread) string {
	if s.HighAtLeast || s.Runs < 2 && !s.Confident {
		return ""
	}
	return fmt.Sprintf("%.0f %%", math.Ceil(100*s.Share()))
}

// changeText is a tilde where there is no difference to be seen.
func (r Row) changeText() string {
	if !r.Significant {
		return "~"
	}
	return r.changed()
}

// changed is the change of B's median against A's, as far as runs that were cut tell it.
func (r Row) changed() string { return boundOf(r.A, r.B, changeText(r.Change)) }

// boundOf writes the ratio of one median to another, or what follows from it, as the bound that it
// is where one of them is a lower bound.
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
