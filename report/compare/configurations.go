package compare

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"assay/internal/quantity"
	"assay/internal/spelling"
	"assay/report"
)

// Layout is an author's wish for the table of an experiment's configurations.
type Layout struct {
	// Columns are metrics and facts (nodes, vcpu ...); empty means the workload's main figures.
	Columns []string
	// Sort is a column, the best or the smallest first; empty keeps the file's order.
	Sort     string
	Group    []string
	Reported []Reported
}

// LayoutError means that a layout does not fit the runs.
type LayoutError struct{ Problem string }

func (e *LayoutError) Error() string { return e.Problem }

func figureName(name string) string {
	if name = strings.TrimSpace(name); name == "tps" {
		return "throughput"
	}
	return name
}

// Check makes the table and the plots of configurations without runs, and returns the *LayoutError of
// what no run can have.
func (l Layout) Check(configurations []Group, plots []Plot) error {
	groups, axes := planned(configurations), axesOf(configurations)
	for _, axis := range l.Group {
		if !slices.Contains(axes, axis) {
			return &LayoutError{fmt.Sprintf("rows are to be grouped by %q, which does not vary; there vary %s", axis, strings.Join(axes, ", "))}
		}
	}
	_, err := Configurations(groups, l)
	if err == nil {
		_, _, err = Plots(groups, plots, l.Group)
	}
	return err
}

// planned gives each group a run that has nothing yet, not even a workload.
func planned(groups []Group) (all []Group) {
	for _, g := range groups {
		g.Runs = []Run{{Result: &report.Result{}}}
		all = append(all, g)
	}
	return all
}

// figureOf is a metric that an author may name. A run that is only planned may have any round.
func figureOf(like *report.Result, name string) (metric, bool) {
	m, found := find(layoutMetrics(like), name)
	if round, figure, is := cutLast(name, ": "); is && like.Workload == "" {
		for _, f := range roundFigures() {
			if f.name == figure {
				return f.metricOf(round), true
			}
		}
	}
	return m, found
}

// Configurations has a row for each group: what varies, how its runs ended unless all are valid,
// and the layout's columns, each figure with half its interval. Another source's figures follow
// in a table of their own, with ours below. It returns a *LayoutError.
func Configurations(groups []Group, l Layout) (tables []report.Table, err error) {
	t := configurationTable{groups: slices.Clone(groups), axes: axesOf(groups), part: l.Group}
	had := withResults(groups)
	if len(had) == 0 {
		return nil, &LayoutError{"no run of the experiment has a result"}
	}
	if err := t.choose(had, l); err != nil {
		return nil, err
	}
	if err := t.sort(l.Sort, had[0].Runs[0].Result); err != nil {
		return nil, err
	}
	own := t.table()
	tables = own.Parted(len(own.Head) - len(t.columns))
	if len(l.Reported) > 0 {
		beside := t.beside(l.Reported)
		tables = append(tables, beside.Parted(len(t.allAxes(l.Reported))+1)...)
	}
	return tables, nil
}

func withResults(groups []Group) []Group {
	return slices.DeleteFunc(slices.Clone(groups), func(g Group) bool { return len(g.Runs) == 0 })
}

func axesOf(groups []Group) (axes []string) {
	for _, g := range groups {
		for _, v := range g.Values {
			if !slices.Contains(axes, v.Name) {
				axes = append(axes, v.Name)
			}
		}
	}
	return axes
}

type configurationTable struct {
	groups []Group
	axes   []string
	// part are the axes whose values head groups of rows.
	part    []string
	columns []column
}

type column struct {
	name   string
	fact   func(*report.Result) string
	metric metric
}

func (t *configurationTable) choose(had []Group, l Layout) error {
	like := had[0].Runs[0].Result
	names := l.Columns
	if len(names) == 0 {
		names = summaryMetrics(like)
	}
	for _, name := range names {
		name = figureName(name)
		c := column{name: name, fact: facts()[name]}
		var found bool
		if c.metric, found = figureOf(like, name); !found && c.fact == nil {
			return unknownColumn("column", name, like)
		}
		t.columns = append(t.columns, c)
	}
	chosen := len(l.Columns) > 0 || like.Workload != "" // otherwise the runs decide
	for _, r := range l.Reported {
		for name := range r.Figures {
			if _, found := figureOf(like, figureName(name)); !found {
				return unknownColumn("figure to be reported", name, like)
			}
			if chosen && !slices.ContainsFunc(t.columns, func(c column) bool { return c.name == figureName(name) && c.fact == nil }) {
				return &LayoutError{fmt.Sprintf("%q is reported, and is no figure among the columns, which are %s", name, strings.Join(names, ", "))}
			}
		}
	}
	return nil
}

func unknownColumn(what, name string, like *report.Result) error {
	return &LayoutError{fmt.Sprintf("there is no %s %q; there are %s", what, name, known(name, slices.Collect(maps.Keys(facts())), layoutMetrics(like)))}
}

// known lists these words and figures and suggests the one that may have been meant.
func known(name string, words []string, all []metric) string {
	for _, m := range all {
		words = append(words, m.name)
	}
	slices.Sort(words)
	return strings.Join(words, ", ") + spelling.Hint(name, "", words)
}

func (t *configurationTable) sort(by string, like *report.Result) error {
	if by = figureName(by); by == "" {
		return nil
	}
	if slices.Contains(t.axes, by) {
		slices.SortStableFunc(t.groups, func(a, b Group) int {
			return compareValues(report.ValueOf(a.Values, by), report.ValueOf(b.Values, by))
		})
		return nil
	}
	m, found := figureOf(like, by)
	if !found {
		return unknownColumn("column to sort by", by, like)
	}
	slices.SortStableFunc(t.groups, func(a, b Group) int {
		if m.moreIsBetter {
			a, b = b, a
		}
		return cmp.Compare(middleOf(m, a), middleOf(m, b))
	})
	return nil
}

// middleOf is the median of a metric; 0 for a group without it.
func middleOf(m metric, g Group) float64 {
	values := valuesOf(m, g)
	if len(values) == 0 {
		return 0
	}
	return quantity.Median(values)
}

func compareValues(a, b string) int {
	x, notX := strconv.ParseFloat(a, 64)
	y, notY := strconv.ParseFloat(b, 64)
	if notX != nil || notY != nil {
		return strings.Compare(a, b)
	}
	return cmp.Compare(x, y)
}

func (t *configurationTable) table() report.Table {
	out := report.Table{Parts: map[int]string{}}
	axes := slices.DeleteFunc(slices.Clone(t.axes), func(axis string) bool { return slices.Contains(t.part, axis) })
	out.Head = slices.Clone(axes)
	if len(axes) == 0 {
		out.Head = []string{"configuration"}
	}
	for i := 1; i < len(out.Head); i++ {
		out.Words = append(out.Words, i)
	}
	whole := !slices.ContainsFunc(t.groups, func(g Group) bool { return len(g.Runs) == 0 || g.Valid() < len(g.Runs) || g.Failed+g.Waiting > 0 })
	if !whole {
		out.Head = append(out.Head, "valid")
	}
	t.columns = slices.DeleteFunc(t.columns, func(c column) bool {
		return !slices.ContainsFunc(t.groups, func(g Group) bool { return c.cell(g) != quantity.None })
	})
	for _, c := range t.columns {
		out.Head = append(out.Head, c.name)
	}
	last := ""
	for i, g := range together(t.groups, t.part) {
		if part, _ := g.parted(t.part); len(t.part) > 0 && (i == 0 || part != last) {
			out.Parts[i], last = part, part
		}
		var row []string
		for _, axis := range axes {
			row = append(row, cmp.Or(report.ValueOf(g.Values, axis), quantity.None))
		}
		if len(axes) == 0 {
			row = append(row, g.Name)
		}
		switch {
		case whole:
		case len(g.Runs) == 0:
			row = append(row, "not run")
		default:
			row = append(row, fmt.Sprintf("%d of %d", g.Valid(), len(g.Runs)))
		}
		for _, c := range t.columns {
			row = append(row, c.cell(g))
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

func (c column) cell(g Group) string {
	switch {
	case len(g.Runs) == 0:
		return quantity.None
	case c.fact != nil:
		return c.fact(g.Runs[0].Result)
	case everyRunHas([]Group{g}, c.metric):
		s := g.spread(c.metric)
		share := shareText(s)
		if share == "" || share == "0 %" {
			return g.written(c.metric, s)
		}
		return g.believable(c.metric, s.written(c.metric)+" ± "+share)
	case c.name == degradationName:
		return degradationStates(g)
	}
	return quantity.None
}
