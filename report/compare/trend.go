package compare

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat"

	"assay/check"
	"assay/report"
	"assay/report/trend"
)

// fewestForTrend can show a change: five runs before and five after it, as in a comparison.
const fewestForTrend = 10

// TrendOptions of a search for changes.
type TrendOptions struct {
	// Allow names the conditions in which the runs may differ.
	Allow     []string
	MinChange float64
}

// Trend is where the figures of a group's runs changed.
type Trend struct {
	Group       Group
	Metrics     []MetricTrend
	Differences []Difference
	// Unmeasured counts runs left out because they measured nothing, Invalid runs left out because
	// their measurement is invalid. If all are invalid, none is left out.
	Unmeasured, Invalid int
}

// MetricTrend is one figure of all runs, in the order of their start.
type MetricTrend struct {
	Metric, Unit string
	Values       []float64
	Changes      []trend.ChangePoint
	metric       metric
	observed     []observation // Values, with what the runs' end cut
}

// FindTrend looks for the runs where a group's figures changed. It returns a *report.FileError
// for too few runs, and a *DifferentError if they must not be compared.
func FindTrend(g Group, o TrendOptions) (*Trend, error) {
	t := &Trend{Group: g}
	t.Group.Runs = slices.DeleteFunc(slices.Clone(g.Runs), func(r Run) bool { return r.Result.Throughput.Seconds <= 0 })
	t.Unmeasured = len(g.Runs) - len(t.Group.Runs)
	measured := len(t.Group.Runs)
	t.Group.Runs = t.Group.believed() // as every figure has a value of each run, in their order
	t.Invalid = measured - len(t.Group.Runs)
	if n := len(t.Group.Runs); n < fewestForTrend {
		problem := fmt.Sprintf("has %s with figures", check.Counted(int64(n), "run", "runs"))
		if t.Invalid > 0 {
			problem += fmt.Sprintf(" to believe, and %d with an invalid measurement", t.Invalid)
		}
		return nil, &report.FileError{Path: g.Name, Problem: fmt.Sprintf("%s; a trend takes %d or more", problem, fewestForTrend)}
	}
	slices.SortStableFunc(t.Group.Runs, func(a, b Run) int { return a.Result.Started.Compare(b.Result.Started) })
	inGroup(t.Group, &t.Differences)
	if refused := notAllowed(t.Differences, o.Allow); len(refused) > 0 {
		return nil, &DifferentError{A: t.Group.Name, Differences: refused}
	}
	search := trend.Defaults()
	search.MinChange = o.MinChange
	for _, m := range metricsOf([]Group{t.Group}) {
		all := observed(m, t.Group)
		values := valuesIn(all)
		t.Metrics = append(t.Metrics, MetricTrend{m.name, m.unit, values, trend.Find(values, search), m, all})
	}
	return t, nil
}

// Document shows a trend.
func (t *Trend) Document(command string) report.Document {
	d := report.Document{Title: fmt.Sprintf("%s: %s of %s", t.Group.Runs[0].Result.Workload, counted(t.Group), t.Group.Name), Command: command}
	changes := report.Table{Title: "Changes", Head: []string{"at run", "figure", "before", "after", "change", "p"}, Words: []int{1}}
	figures := report.Table{Title: "Figures", Head: []string{"figure", "first", "last", "smallest", "largest", "changes"}}
	numbers := map[int]bool{}
	for _, m := range t.Metrics {
		for i, c := range m.Changes {
			numbers[c.Index] = true
			r := m.row(i)
			changes.Rows = append(changes.Rows, []string{fmt.Sprint(c.Index + 1), m.Metric, t.Group.written(m.metric, r.A), t.Group.written(m.metric, r.B), r.changed(), probabilityText(c.P)})
			sure := !t.Group.doubted(m.metric) && !m.open(r)
			d.Verdicts = append(d.Verdicts, report.DocumentVerdict{Verdict: report.AnswerOf(m.better(c), sure).Verdict(), Text: fmt.Sprintf("run %d: %s changed %s", c.Index+1, m.Metric, r.changedBy())})
		}
		figures.Rows = append(figures.Rows, t.figures(m))
		if len(m.Changes) > 0 || slices.Contains([]string{"throughput", "p99"}, m.Metric) {
			d.Charts = append(d.Charts, m.chart())
		}
	}
	if len(changes.Rows) == 0 {
		d.Verdicts = []report.DocumentVerdict{{Text: "no figure changed", Verdict: report.AnswerOf(true, !t.Group.unbelieved()).Verdict()}}
	} else {
		d.Tables = append(d.Tables, changes)
	}
	d.Tables = append(d.Tables, figures)
	d.Notes = t.notes(numbers)
	return d
}

func (t *Trend) notes(changed map[int]bool) []string {
	lines := []string{"A change is where the means of the runs before and after differ more than chance would make them (E-divisive means, with Student's t-test, p < 0.001). Runs are counted in the order in which they began."}
	for i, r := range t.Group.Runs {
		if changed[i] {
			lines = append(lines, fmt.Sprintf("run %d is %s, begun %s.", i+1, r.Folder, r.Result.Started.UTC().Format("2006-01-02 15:04:05 UTC")))
		}
	}
	for _, d := range t.Differences {
		lines = append(lines, fmt.Sprintf("The runs differ in %s: %s against %s.", d.Condition, d.A, d.B))
	}
	if t.Unmeasured > 0 {
		lines = append(lines, check.Counted(int64(t.Unmeasured), "run", "runs")+" without figures left out.")
	}
	if t.Invalid > 0 {
		lines = append(lines, check.Counted(int64(t.Invalid), "run", "runs")+" with an invalid measurement left out.")
	}
	return append(lines, against(t.Group)...)
}

// figures is a metric's first, last, smallest and largest value, and how often it changed. If the
// run's end cut any value, the largest may be larger.
func (t *Trend) figures(m MetricTrend) []string {
	least := slices.MinFunc(m.observed, func(a, b observation) int { return cmp.Compare(a.value, b.value) })
	most := observation{slices.Max(m.Values), slices.ContainsFunc(m.observed, func(o observation) bool { return o.cut })}
	cells := []string{m.Metric}
	for _, o := range []observation{m.observed[0], m.observed[len(m.observed)-1], least, most} {
		cells = append(cells, t.Group.written(m.metric, Spread{Median: o.value, AtLeast: o.cut}))
	}
	return append(cells, fmt.Sprint(len(m.Changes)))
}

// row is a change as a comparison of the means before and after it.
func (m MetricTrend) row(change int) Row {
	from, to, c := 0, len(m.observed), m.Changes[change]
	if change > 0 {
		from = m.Changes[change-1].Index
	}
	if change+1 < len(m.Changes) {
		to = m.Changes[change+1].Index
	}
	cut := func(all []observation) bool {
		return slices.ContainsFunc(all, func(o observation) bool { return o.cut })
	}
	return Row{Metric: m.Metric, metric: m.metric, Change: c.Change(), P: c.P,
		A: Spread{Median: c.Before, AtLeast: cut(m.observed[from:c.Index])}, B: Spread{Median: c.After, AtLeast: cut(m.observed[c.Index:to])}}
}

// open reports whether what the runs' end cut may have been so long that the change is none.
func (m MetricTrend) open(r Row) bool {
	if r.B.Median > r.A.Median {
		return r.A.AtLeast
	}
	return r.B.AtLeast
}

func (m MetricTrend) better(c trend.ChangePoint) bool {
	return (c.After > c.Before) == m.metric.moreIsBetter
}

func (m MetricTrend) chart() report.LineChart {
	each, mean := report.ChartLine{Name: "each run"}, report.ChartLine{Name: "mean between changes"}
	at, next := stat.Mean(m.Values, nil), 0
	if len(m.Changes) > 0 {
		at = m.Changes[0].Before
	}
	for i, v := range m.Values {
		if next < len(m.Changes) && m.Changes[next].Index == i {
			at, next = m.Changes[next].After, next+1
		}
		each.Points = append(each.Points, [2]float64{float64(i + 1), v})
		mean.Points = append(mean.Points, [2]float64{float64(i + 1), at})
	}
	return report.LineChart{Title: capital(m.Metric), Across: "run", Up: m.Metric, Format: m.metric.format, Lines: []report.ChartLine{each, mean}}
}

type jsonTrend struct {
	Format  int               `json:"format"`
	Name    string            `json:"name"`
	Runs    []jsonTrendRun    `json:"runs"`
	Metrics []jsonTrendMetric `json:"metrics"`
}

type jsonTrendRun struct {
	Folder  string    `json:"folder"`
	Started time.Time `json:"started"`
}

type jsonTrendMetric struct {
	Metric string    `json:"metric"`
	Unit   string    `json:"unit"`
	Values []float64 `json:"values"`
	// AtLeast says of each value whether the run's end cut it; absent if none was.
	AtLeast []bool       `json:"at_least,omitempty"`
	Changes []jsonChange `json:"changes"`
}

type jsonChange struct {
	// Run counts from 1.
	Run    int     `json:"run"`
	Folder string  `json:"folder"`
	Before float64 `json:"before"`
	After  float64 `json:"after"`
	// Change is null if Before is 0.
	Change *float64 `json:"change"`
	P      float64  `json:"p"`
	Better bool     `json:"better"`
}

// WriteTrends writes trends for programs: {trends[] {runs, metrics[] {metric, values, changes[]
// {run, before, after, change, p}}}}.
func WriteTrends(w io.Writer, all []*Trend) error {
	out := struct {
		Trends []jsonTrend `json:"trends"`
	}{[]jsonTrend{}}
	for _, t := range all {
		one := jsonTrend{Format: 1, Name: t.Group.Name}
		for _, r := range t.Group.Runs {
			one.Runs = append(one.Runs, jsonTrendRun{r.Folder, r.Result.Started})
		}
		for _, m := range t.Metrics {
			metric := jsonTrendMetric{Metric: m.Metric, Unit: m.Unit, Values: m.Values, Changes: []jsonChange{}}
			if slices.ContainsFunc(m.observed, func(o observation) bool { return o.cut }) {
				for _, o := range m.observed {
					metric.AtLeast = append(metric.AtLeast, o.cut)
				}
			}
			for _, c := range m.Changes {
				change := jsonChange{Run: c.Index + 1, Folder: one.Runs[c.Index].Folder, Before: c.Before, After: c.After, P: c.P, Better: m.better(c)}
				if share := c.Change(); !math.IsInf(share, 0) {
					change.Change = &share
				}
				metric.Changes = append(metric.Changes, change)
			}
			one.Metrics = append(one.Metrics, metric)
		}
		out.Trends = append(out.Trends, one)
	}
	return report.Indented(w, out, "  ", "trend")
}
