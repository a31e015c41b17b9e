package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"assay/internal/quantity"
	"assay/internal/spelling"
	"assay/report"
)

// Layout is what an author wants of the table of an experiment's configurations.
type Layout struct {
	// Columns are figures by the names of metrics, and facts (nodes, vcpu and the like). Empty means the
	// figures that the workload is run for.
	Columns []string
	// Sort is the column by which rows are sorted, the best or the smallest first; empty for
	// the order of the file.
	Sort string
	// Group are axes under whose values the rows stand.
	Group []string
	// Reported are figures of another source.
	Reported []Reported
}

// Reported is what another source says of one configuration.
type Reported struct {
	// Values name the configuration by what varies; one that none of the groups has is a row
	// of its own.
	Values []report.Setting
	// Figures are by column, in the metric's own unit: a second, ms, bytes, %.
	Figures map[string]float64
	// Remark says why there is no run of it, or what differs.
	Remark string
}

// LayoutError is a layout that does not fit the runs.
type LayoutError struct{ Problem string }

func (e *LayoutError) Error() string { return e.Problem }

// figureName is a metric by the name that an author may use.
func figureName(name string) string {
	if name = strings.TrimSpace(name); name == "tps" {
		return "throughput"
	}
	return name
}

// Check says what of a layout, and of the plots beside it, no run can have: figures of
// rounds, whose names hold a colon, are known once there are runs. It returns a
// *LayoutError.
func (l Layout) Check(axes []string, plots []Plot) error {
	all := layoutMetrics(nil)
	isMetric := func(name string) bool {
		_, found := find(all, name)
		return found || strings.Contains(name, ": ")
	}
	for _, name := range l.Columns {
		if name = figureName(name); !isMetric(name) && facts()[name] == nil {
			return unknownColumn("column", name, all)
		}
	}
	if by := figureName(l.Sort); by != "" && !isMetric(by) && !slices.Contains(axes, by) {
		return unknownColumn("column to sort by", by, all)
	}
	for _, axis := range l.Group {
		if !slices.Contains(axes, axis) {
			return &LayoutError{fmt.Sprintf("rows are to be grouped by %q, which does not vary; there vary %s", axis, strings.Join(axes, ", "))}
		}
	}
	for _, r := range l.Reported {
		for name := range r.Figures {
			if !isMetric(figureName(name)) {
				return unknownColumn("figure to be reported", name, all)
			}
		}
	}
	for _, p := range plots {
		switch {
		case p.over == overTimeWord || p.over == overPercentilesWord || p.over == overRoundsWord || p.over == rampWord || p.over == noPlotWord:
		case slices.ContainsFunc(strings.Split(p.figure, " and "), func(name string) bool { return !isMetric(figureName(name)) }):
			return unknownColumn("figure for the chart "+strconv.Quote(p.text)+":", p.figure, all)
		case p.over != "" && !slices.Contains(axes, p.over):
			return p.doesNotVary(axes)
		}
	}
	return nil
}

// Configurations has a row for each group: what varies, how its runs ended, and the columns
// of the layout, beside which stands what was reported, with the ratio of ours to it.
// Remarks are those of what was reported. It returns a *LayoutError.
func Configurations(groups []Group, l Layout) (table report.Table, remarks []string, err error) {
	t := configurationTable{groups: slices.Clone(groups), axes: axesOf(groups, l.Reported)}
	had := withResults(groups)
	if len(had) == 0 {
		return table, nil, &LayoutError{"no run of the experiment has a result"}
	}
	if err := t.choose(had, l); err != nil {
		return table, nil, err
	}
	if err := t.sort(l.Sort, had[0].Runs[0].Result); err != nil {
		return table, nil, err
	}
	for _, r := range l.Reported {
		if r.Remark != "" {
			remarks = append(remarks, named(r.Values, ", ")+": "+r.Remark)
		}
	}
	t.part = l.Group
	return t.table(l.Reported), remarks, nil
}

func withResults(groups []Group) []Group {
	return slices.DeleteFunc(slices.Clone(groups), func(g Group) bool { return len(g.Runs) == 0 })
}

func axesOf(groups []Group, reported []Reported) (axes []string) {
	enter := func(values []report.Setting) {
		for _, v := range values {
			if !slices.Contains(axes, v.Name) {
				axes = append(axes, v.Name)
			}
		}
	}
	for _, g := range groups {
		enter(g.Values)
	}
	for _, r := range reported {
		enter(r.Values)
	}
	return axes
}

// configurationTable is the table as it is put together.
type configurationTable struct {
	groups []Group
	axes   []string
	// part are the axes under whose values rows stand.
	part    []string
	columns []column
}

// column is a fact or a metric.
type column struct {
	name     string
	fact     func(*report.Result) string
	metric   metric
	reported bool
}

func (t *configurationTable) choose(had []Group, l Layout) error {
	names := l.Columns
	if len(names) == 0 {
		names = summaryMetrics(had[0].Runs[0].Result)
	}
	all := layoutMetrics(had[0].Runs[0].Result)
	for _, name := range names {
		name = figureName(name)
		c := column{name: name, fact: facts()[name]}
		var found bool
		if c.metric, found = find(all, name); !found && c.fact == nil {
			return unknownColumn("column", name, all)
		}
		t.columns = append(t.columns, c)
	}
	for _, r := range l.Reported {
		for name := range r.Figures {
			at := slices.IndexFunc(t.columns, func(c column) bool { return c.name == figureName(name) && c.fact == nil })
			if at < 0 {
				return &LayoutError{fmt.Sprintf("%q is reported, and is no figure among the columns, which are %s", name, strings.Join(names, ", "))}
			}
			t.columns[at].reported = true
		}
	}
	return nil
}

func unknownColumn(what, name string, all []metric) error {
	var names []string
	for _, m := range all {
		names = append(names, m.name)
	}
	for fact := range facts() {
		names = append(names, fact)
	}
	slices.Sort(names)
	return &LayoutError{fmt.Sprintf("there is no %s %q; there are %s%s", what, name, strings.Join(names, ", "), spelling.Hint(name, "", names))}
}

func (t *configurationTable) sort(by string, like *report.Result) error {
	if by = figureName(by); by == "" {
		return nil
	}
	if slices.Contains(t.axes, by) {
		slices.SortStableFunc(t.groups, func(a, b Group) int {
			return compareValues(value(a.Values, by), value(b.Values, by))
		})
		return nil
	}
	all := layoutMetrics(like)
	m, found := find(all, by)
	if !found {
		return unknownColumn("column to sort by", by, all)
	}
	slices.SortStableFunc(t.groups, func(a, b Group) int {
		if m.moreIsBetter {
			a, b = b, a
		}
		return cmp.Compare(middleOf(m, a), middleOf(m, b))
	})
	return nil
}

// middleOf is the median of a metric; 0 of a group that does not have it.
func middleOf(m metric, g Group) float64 {
	values := valuesOf(m, g)
	if len(values) == 0 {
		return 0
	}
	return quantity.Median(values)
}

// compareValues orders numbers by their size, and other words as they are.
func compareValues(a, b string) int {
	x, notX := strconv.ParseFloat(a, 64)
	y, notY := strconv.ParseFloat(b, 64)
	if notX != nil || notY != nil {
		return strings.Compare(a, b)
	}
	return cmp.Compare(x, y)
}

func (t *configurationTable) table(reported []Reported) report.Table {
	out := report.Table{Parts: map[int]string{}}
	t.axes = slices.DeleteFunc(t.axes, func(axis string) bool { return slices.Contains(t.part, axis) })
	out.Head = slices.Clone(t.axes)
	if len(t.axes) == 0 {
		out.Head = []string{"configuration"}
	}
	for i := 1; i < len(out.Head); i++ {
		out.Words = append(out.Words, i)
	}
	out.Head = append(out.Head, "valid")
	for _, c := range t.columns {
		out.Head = append(out.Head, c.name)
		if c.fact == nil {
			out.Head = append(out.Head, "±")
		}
		if c.reported {
			out.Head = append(out.Head, "reported", "ratio")
		}
	}
	type line struct {
		group    Group
		reported Reported
	}
	left := slices.Clone(reported)
	var lines []line
	for _, g := range t.groups {
		l := line{group: g}
		if at := slices.IndexFunc(left, func(r Reported) bool { return r.of(g) }); at >= 0 {
			l.reported = left[at]
			left = slices.Delete(left, at, at+1)
		}
		lines = append(lines, l)
	}
	for _, r := range left {
		lines = append(lines, line{Group{Values: r.Values}, r})
	}
	last := ""
	for i, l := range together(lines, func(l line) Group { return l.group }, t.part) {
		if part, _ := l.group.parted(t.part); len(t.part) > 0 && (i == 0 || part != last) {
			out.Parts[i], last = cmp.Or(part, "of another source"), part
		}
		out.Rows = append(out.Rows, t.row(l.group, l.reported))
	}
	return withoutIdle(out)
}

// withoutIdle leaves out the columns of intervals in which nothing stands, or 0 alone.
func withoutIdle(t report.Table) report.Table {
	for i := len(t.Head) - 1; i >= 0; i-- {
		idle := func(row []string) bool { return row[i] == "" || row[i] == "0 %" }
		if t.Head[i] != "±" || slices.ContainsFunc(t.Rows, func(row []string) bool { return !idle(row) }) {
			continue
		}
		t.Head = slices.Delete(t.Head, i, i+1)
		for j, row := range t.Rows {
			t.Rows[j] = slices.Delete(row, i, i+1)
		}
	}
	return t
}

// of reports whether it is about a group.
func (r Reported) of(g Group) bool {
	for _, v := range r.Values {
		if value(g.Values, v.Name) != v.Value {
			return false
		}
	}
	return len(r.Values) > 0 || len(g.Values) == 0
}

func (t *configurationTable) row(g Group, r Reported) []string {
	var row []string
	for _, axis := range t.axes {
		row = append(row, cmp.Or(value(g.Values, axis), quantity.None))
	}
	if len(t.axes) == 0 {
		row = append(row, g.Name)
	}
	valid := fmt.Sprintf("%d of %d", g.Valid(), len(g.Runs))
	if len(g.Runs) == 0 {
		valid = "not run"
	}
	row = append(row, valid)
	for _, c := range t.columns {
		row = append(row, c.cells(g, r)...)
	}
	return row
}

func (c column) cells(g Group, r Reported) []string {
	if c.fact != nil {
		if len(g.Runs) == 0 {
			return []string{quantity.None}
		}
		return []string{c.fact(g.Runs[0].Result)}
	}
	cells, ours := []string{quantity.None, ""}, 0.0
	if len(g.Runs) > 0 && everyRunHas([]Group{g}, c.metric) {
		s := g.spread(c.metric)
		cells, ours = []string{g.written(c.metric, s), shareText(s)}, s.Median
	}
	if c.name == degradationName && cells[0] == quantity.None && len(g.Runs) > 0 {
		cells[0] = degradationStates(g)
	}
	if !c.reported {
		return cells
	}
	theirs, has := 0.0, false
	for name, value := range r.Figures {
		if figureName(name) == c.name {
			theirs, has = value, true
		}
	}
	if !has {
		return append(cells, quantity.None, quantity.None)
	}
	ratio := quantity.None
	if ours > 0 && theirs > 0 {
		ratio = strconv.FormatFloat(ours/theirs, 'g', 3, 64)
	}
	return append(cells, c.metric.format(theirs), ratio)
}
