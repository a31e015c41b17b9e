package compare

import (
	"math"
	"slices"

	"golang.org/x/perf/benchmath"

	"assay/check"
	"assay/report"
)

// alpha is the error of the first kind that is allowed: how often a difference is
// claimed of two groups that do not differ.
const alpha = 0.05

// confidence is the confidence of the interval in which a group's median lies.
const confidence = 0.95

// Options of a comparison.
type Options struct {
	// Allow names the conditions in which the groups may differ.
	Allow []string
	// Gates are limits on changes.
	Gates []Gate
}

// Comparison is group B seen against group A.
type Comparison struct {
	A, B Group
	Rows []Row
	// Differences are those that were allowed, and what an acknowledgement is worth where
	// that differs because databases or their options were varied on purpose.
	Differences []Difference
	Gates       []GateResult
}

// Row is one metric of both groups.
type Row struct {
	Metric string
	Unit   string
	// A and B are medians over the runs of a group.
	A, B Spread
	// Change is B divided by A, less 1; not finite where A is 0 and B is not.
	Change float64
	// P is how likely groups that do not differ are to differ as much by chance.
	P float64
	// Significant is true if P is below 0.05; it cannot be with fewer than four
	// runs on each side.
	Significant bool
	// Better is true if the change, if there is one, is to the good.
	Better bool
	metric metric
}

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
}

// Share is half the width of the interval, of the median; 0 if that is 0.
func (s Spread) Share() float64 {
	if s.Median == 0 {
		return 0
	}
	return (s.High - s.Low) / 2 / math.Abs(s.Median)
}

// Compare lays b beside a. It returns *DifferentError if they must not be compared,
// and *GateError if a gate cannot be judged by so few runs or names a figure that
// they do not have.
func Compare(a, b Group, o Options) (*Comparison, error) {
	found := differences(a, b)
	if refused := notAllowed(found, o.Allow); len(refused) > 0 {
		return nil, &DifferentError{A: a.Name, B: b.Name, Differences: refused}
	}
	c := &Comparison{A: a, B: b, Differences: append(found, unlikeDurability(found, a, b)...)}
	for _, m := range metricsOf([]Group{a, b}) {
		c.Rows = append(c.Rows, newRow(m, a, b))
	}
	for _, g := range o.Gates {
		result, err := g.judge(c, len(o.Gates))
		if err != nil {
			return nil, err
		}
		c.Gates = append(c.Gates, result)
	}
	return c, nil
}

// notAllowed are the differences that nobody allowed.
func notAllowed(found []Difference, allow []string) []Difference {
	return slices.DeleteFunc(slices.Clone(found), func(d Difference) bool {
		return slices.Contains(allow, d.Condition) || slices.Contains(allow, "all")
	})
}

func newRow(m metric, a, b Group) Row {
	row := Row{Metric: m.name, Unit: m.unit, metric: m, A: a.spread(m), B: b.spread(m), P: probability(valuesOf(m, a), valuesOf(m, b))}
	switch {
	case row.A.Median == row.B.Median:
	case row.A.Median == 0:
		row.Change = math.Inf(int(math.Copysign(1, row.B.Median)))
	default:
		row.Change = row.B.Median/row.A.Median - 1
	}
	row.Significant = row.P < alpha
	row.Better = (row.B.Median > row.A.Median) == m.moreIsBetter && row.A.Median != row.B.Median
	return row
}

// valuesOf are the values of the runs that are believed for the metric.
func valuesOf(m metric, g Group) []float64 {
	var all []float64
	for _, r := range g.believedFor(m) {
		if v, ok := m.of(r.Result); ok {
			all = append(all, v)
		}
	}
	return all
}

// timed reports whether a metric rests on the measurement: what data takes on disk, and what
// became of operations, does not.
func (m metric) timed() bool { return m.unit != sizeBytes && m.unit != operations }

// doubted reports whether the group's figure of a metric is not to be believed.
func (g Group) doubted(m metric) bool { return g.unbelieved() && m.timed() }

// believedFor are the runs of a group of which a metric is believed.
func (g Group) believedFor(m metric) []Run {
	if m.timed() {
		return g.believed()
	}
	return g.Runs
}

// moved are the values of a metric of a group, times a factor, for a test of whether another
// group lies beyond a share of them.
func (g Group) moved(m metric, factor float64) []float64 {
	values := valuesOf(m, g)
	for i := range values {
		values[i] *= factor
	}
	return values
}

// spread is the spread of a metric over the runs of a group. With one run it is that
// run's own interval, which does not hold the differences between runs.
func (g Group) spread(m metric) Spread {
	s := spreadOf(valuesOf(m, g))
	if runs := g.believedFor(m); len(runs) == 1 && m.interval != nil {
		if i := m.interval(runs[0].Result); i != nil {
			s.Low, s.High, s.Confident = i.Low, i.High, true
		}
	}
	return s
}

func spreadOf(values []float64) Spread {
	s := benchmath.AssumeNothing.Summary(benchmath.NewSample(values, thresholds()), confidence)
	spread := Spread{Median: s.Center, Low: s.Lo, High: s.Hi, Confident: true, Runs: len(values)}
	if math.IsInf(s.Lo, 0) || math.IsInf(s.Hi, 0) {
		spread.Low, spread.High, spread.Confident = slices.Min(values), slices.Max(values), false
	}
	return spread
}

// probability is the two-sided P of the Mann-Whitney U test; 1 if all values are
// the same.
func probability(x, y []float64) float64 {
	c := benchmath.AssumeNothing.Compare(benchmath.NewSample(x, thresholds()), benchmath.NewSample(y, thresholds()))
	if math.IsNaN(c.P) {
		return 1
	}
	return c.P
}

func thresholds() *benchmath.Thresholds { return &benchmath.Thresholds{CompareAlpha: alpha} }

// Violated is how many runs of a group have a database that broke its word.
func (g Group) Violated() int { return g.ended(check.Violated) }

// allowed is how many runs of a group have findings, all of which the settings or the isolation
// level allow.
func (g Group) allowed() int {
	return g.count(func(r *report.Result) bool {
		return r.Verdict == check.Violated && r.Promise != nil && r.Promise.Kept != nil && *r.Promise.Kept
	})
}

// Valid is how many runs of a group have a database in which nothing wrong was found.
func (g Group) Valid() int { return g.ended(check.Valid) }

// ended is how many runs of a group have this verdict.
func (g Group) ended(v check.Verdict) int {
	return g.count(func(r *report.Result) bool { return r.Verdict == v })
}

// wide is how many runs of a group have a wide measurement.
func (g Group) wide() int {
	return g.count(func(r *report.Result) bool { return r.Measurement.Wide() })
}

// Invalid is how many runs of a group have an invalid measurement.
func (g Group) Invalid() int {
	return g.count(func(r *report.Result) bool { return r.Measurement.Invalid() })
}

func (g Group) count(is func(*report.Result) bool) (n int) {
	for _, r := range g.Runs {
		if is(r.Result) {
			n++
		}
	}
	return n
}

// believed are the runs of a group whose measurement is not invalid: all of them if
// none is so, which remarks then say.
func (g Group) believed() []Run {
	runs := slices.DeleteFunc(slices.Clone(g.Runs), func(r Run) bool { return r.Result.Measurement.Invalid() })
	if len(runs) == 0 {
		return g.Runs
	}
	return runs
}

// unbelieved reports whether every run of a group has an invalid measurement.
func (g Group) unbelieved() bool { return g.Invalid() == len(g.Runs) }
