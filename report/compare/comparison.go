package compare

import (
	"math"
	"slices"

	"assay/check"
	"assay/report"
)

// alpha is the allowed error of the first kind.
const alpha = 0.05

const confidence = 0.95

// Options of a comparison.
type Options struct {
	// Allow names the conditions in which the groups may differ.
	Allow []string
	Gates []Gate
}

// Comparison compares group B with group A.
type Comparison struct {
	A, B Group
	Rows []Row
	// Differences are the allowed ones, and the worth of acknowledgements if that was varied.
	Differences []Difference
	Gates       []GateResult
}

// Row is one metric of both groups.
type Row struct {
	Metric string
	Unit   string
	// A and B are medians over a group's runs.
	A, B Spread
	// Change is B/A - 1; not finite if A is 0 and B is not.
	Change float64
	// P is the chance that equal groups differ as much.
	P float64
	// Significant is true if P is below 0.05, which needs four runs on each side.
	Significant bool
	Better      bool
	metric      metric
}

// Compare compares b with a. It returns *DifferentError if they must not be compared, and
// *GateError if a gate names a figure they lack or needs more runs.
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

// CompareAll compares the first group of all arguments with each other one. If the arguments are series
// of the same configurations, each is compared with its namesake. It returns the errors of Compare, and
// a *report.FileError if there is nothing to compare.
func CompareAll(arguments [][]Group, o Options) (all []*Comparison, err error) {
	pairs, err := pairsOf(arguments)
	for i := 0; err == nil && i < len(pairs); i++ {
		var c *Comparison
		c, err = Compare(pairs[i][0], pairs[i][1], o)
		all = append(all, c)
	}
	if err != nil {
		return nil, err
	}
	return all, nil
}

func notAllowed(found []Difference, allow []string) []Difference {
	return slices.DeleteFunc(slices.Clone(found), func(d Difference) bool {
		return d.Condition == condDurability || slices.Contains(allow, d.Condition) || slices.Contains(allow, "all")
	})
}

func newRow(m metric, a, b Group) Row {
	row := Row{Metric: m.name, Unit: m.unit, metric: m, A: a.spread(m), B: b.spread(m), P: probability([2][]observation{observed(m, a), observed(m, b)})}
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

func observed(m metric, g Group) (all []observation) {
	for _, r := range g.believedFor(m) {
		if v, ok := m.of(r.Result); ok {
			all = append(all, observation{v, m.cut(r.Result)})
		}
	}
	return all
}

func valuesOf(m metric, g Group) []float64 { return valuesIn(observed(m, g)) }

func valuesIn(all []observation) (values []float64) {
	for _, o := range all {
		values = append(values, o.value)
	}
	return values
}

// timed reports whether a metric needs the measurement, unlike sizes and counts of operations.
func (m metric) timed() bool { return m.unit != sizeBytes && m.unit != operations }

func (g Group) doubted(m metric) bool { return g.unbelieved() && m.timed() }

func (g Group) believedFor(m metric) []Run {
	if m.timed() {
		return g.believed()
	}
	return g.Runs
}

// moved are a metric's values times a factor, to test for a difference beyond a share.
func (g Group) moved(m metric, factor float64) []observation {
	all := observed(m, g)
	for i := range all {
		all[i].value *= factor
	}
	return all
}

// Violated counts runs whose database broke its promise.
func (g Group) Violated() int { return g.ended(check.Violated) }

// Valid counts runs without findings.
func (g Group) Valid() int { return g.ended(check.Valid) }

// notJudged counts runs of which nothing was asked to be judged, withoutVerdict the other runs that
// are unknown.
func (g Group) notJudged() int {
	return g.count(func(r *report.Result) bool { return r.Verdict == check.Unknown && r.Unasked != "" })
}

func (g Group) withoutVerdict() int { return g.ended(check.Unknown) - g.notJudged() }

func (g Group) ended(v check.Verdict) int {
	return g.count(func(r *report.Result) bool { return r.Verdict == v })
}

func (g Group) wide() int {
	return g.count(func(r *report.Result) bool { return r.Measurement.Wide() })
}

// Invalid counts runs with an invalid measurement.
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

// believed are the runs without an invalid measurement, or all runs if every one is invalid.
func (g Group) believed() []Run {
	runs := slices.DeleteFunc(slices.Clone(g.Runs), func(r Run) bool { return r.Result.Measurement.Invalid() })
	if len(runs) == 0 {
		return g.Runs
	}
	return runs
}

func (g Group) unbelieved() bool { return g.Invalid() == len(g.Runs) }
