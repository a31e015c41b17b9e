package compare

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"assay/check"
	"assay/internal/quantity"
	"assay/report"
)

// Reported is another source's figures of one configuration.
type Reported struct {
	// Values name the configuration. If no group has them, it is a row of its own.
	Values []report.Setting
	// Figures are by column, in the metric's unit: a second, ms, bytes, %.
	Figures map[string]float64
	// Remark says why there is no run of it, or what differs.
	Remark string
}

func (t *configurationTable) allAxes(reported []Reported) []string {
	axes := slices.Clone(t.axes)
	for _, r := range reported {
		axes = append(axes, axesOf([]Group{{Values: r.Values}})...)
	}
	var all []string
	for _, axis := range axes {
		if !slices.Contains(all, axis) {
			all = append(all, axis)
		}
	}
	return all
}

// beside has two rows for each reported configuration: the source's figures, and ours with the
// ratio, each with its machine and size.
func (t *configurationTable) beside(reported []Reported) report.Table {
	axes := t.allAxes(reported)
	out := report.Table{Title: "Reported elsewhere, and ours", Head: append(slices.Clone(axes), "source")}
	columns := slices.DeleteFunc(slices.Clone(t.columns), func(c column) bool {
		return !slices.ContainsFunc(reported, func(r Reported) bool { _, has := r.figure(c.name); return has })
	})
	for i := 1; i < len(out.Head); i++ {
		out.Words = append(out.Words, i)
	}
	for _, c := range columns {
		out.Head = append(out.Head, c.name)
	}
	out.Head, out.Words = append(out.Head, "machine and size"), append(out.Words, len(out.Head))
	for _, r := range reported {
		var theirs, ours []string
		for _, axis := range axes {
			theirs = append(theirs, cmp.Or(report.ValueOf(r.Values, axis), quantity.None))
		}
		ours = slices.Clone(theirs)
		theirs, ours = append(theirs, "reported"), append(ours, "ours")
		at := slices.IndexFunc(t.groups, func(g Group) bool { return r.isAbout(g) && len(g.Runs) > 0 })
		for _, c := range columns {
			figure, has := r.figure(c.name)
			if !has {
				theirs, ours = append(theirs, quantity.None), append(ours, quantity.None)
				continue
			}
			theirs = append(theirs, c.metric.format(figure))
			if at >= 0 && everyRunHas(t.groups[at:at+1], c.metric) {
				g := t.groups[at]
				s := g.spread(c.metric)
				ours = append(ours, g.believable(c.metric, s.written(c.metric)+" ("+strconv.FormatFloat(s.Median/figure, 'g', 2, 64)+" times)"))
			} else {
				ours = append(ours, quantity.None)
			}
		}
		out.Rows = append(out.Rows, append(theirs, cmp.Or(r.Remark, quantity.None)))
		if at >= 0 {
			out.Rows = append(out.Rows, append(ours, machineAndSize(t.groups[at].Runs[0])))
		}
	}
	return out
}

func machineAndSize(r Run) string {
	d := &r.Result.Database
	var parts []string
	if d.CPUsPerNode != nil {
		parts = append(parts, quantity.Short(*d.CPUsPerNode)+" vCPU a node")
	} else if r.Machine.CPUs > 0 {
		parts = append(parts, check.Counted(int64(r.Machine.CPUs), "processor", "processors")+" for all")
	}
	if d.MemoryPerNode != nil {
		parts = append(parts, quantity.Memory(*d.MemoryPerNode)+" a node")
	} else if r.Machine.MemoryBytes > 0 {
		parts = append(parts, quantity.Memory(int64(r.Machine.MemoryBytes))+" for all")
	}
	return strings.Join(append(parts, check.Counted(r.Result.Loading.Rows, "row", "rows")), ", ")
}

func (r Reported) figure(name string) (float64, bool) {
	for reported, v := range r.Figures {
		if figureName(reported) == name {
			return v, true
		}
	}
	return 0, false
}

func (r Reported) isAbout(g Group) bool {
	for _, v := range r.Values {
		if report.ValueOf(g.Values, v.Name) != v.Value {
			return false
		}
	}
	return len(r.Values) > 0 || len(g.Values) == 0
}
