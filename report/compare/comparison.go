package compare

import (
	"math"
	"slices"

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

// observed are the figures of the runs that are believed for the metric.
func observed(m metric, g Group) (all []observation) {
	for _, r := range g.believedFor(m) {
		if v, ok := m.of(r.Result); ok {
			all = append(all, observation{v, m.cut(r.Result)})
		}
	}
	return all
}

// valuesOf are the same without whether they were cut.
func valuesOf(m metric, g Group) []float64 { return valuesIn(observed(m, g)) }

func valuesIn(all []observation) (values []float64) {
	for _, o := range all {
		values = append(values, o.value)
	}
	return values
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
func (g Group) moved(m metric, factor float64) []observation {
	all := observed(m, g)
	for i := range all {
		all[i].value *= factor
	}
	return all
}

// Violated is how many runs of a group have a database that broke its word.
func (g Group) Violated() int { return g.ended(check.Violated) }

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
