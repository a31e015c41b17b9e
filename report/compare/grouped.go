package compare

import (
	"slices"
	"strings"

	"assay/report"
)

// parted splits a group's name into its values of some axes and the rest. A reported
// configuration may lack values.
func (g Group) parted(axes []string) (part, rest string) {
	var inside, outside []report.Setting
	for _, v := range g.Values {
		if slices.Contains(axes, v.Name) {
			inside = append(inside, v)
		} else {
			outside = append(outside, v)
		}
	}
	return report.Pairs(inside, ", "), report.Pairs(outside, ", ")
}

// together has the groups with the same values of some axes follow each other.
func together(all []Group, axes []string) []Group {
	first := map[string]int{}
	part := func(g Group) string {
		name, _ := g.parted(axes)
		return name
	}
	for i, g := range all {
		if _, seen := first[part(g)]; !seen {
			first[part(g)] = i
		}
	}
	return slices.SortedStableFunc(slices.Values(all), func(a, b Group) int { return first[part(a)] - first[part(b)] })
}

// figures are the metrics of a chart of bars, which must share a unit.
func (p Plot) figures(groups []Group) (all []metric, err error) {
	for _, name := range strings.Split(p.figure, " and ") {
		one := p
		one.figure = figureName(name)
		m, err := one.metric(groups)
		if err != nil {
			return nil, err
		}
		if len(all) > 0 && m.unit != all[0].unit {
			return nil, &LayoutError{"the chart \"" + p.text + "\" has figures of two units"}
		}
		all = append(all, m)
	}
	return all, nil
}

// bars has a bar for each group and figure, under the values of the grouping axes or, with
// several figures, under the group.
func (p Plot) bars(groups []Group, axes []string) (report.BarChart, error) {
	figures, err := p.figures(groups)
	if err != nil {
		return report.BarChart{}, err
	}
	var names []string
	for _, m := range figures {
		names = append(names, m.name)
	}
	name := strings.Join(names, " and ")
	chart := report.BarChart{Title: capital(name), Along: name + ", median over the runs", Format: figures[0].format}
	for _, g := range together(groups, axes) {
		part, rest := g.parted(axes)
		for _, m := range figures {
			if !everyRunHas([]Group{g}, m) {
				continue
			}
			s := g.spread(m)
			b := report.Bar{Name: g.Name, Value: s.Median, Low: s.Low, High: s.High, AtLeast: s.AtLeast, Doubted: g.doubted(m)}
			switch {
			case len(figures) > 1:
				b.Name, b.Group = m.name, g.Name
			case part != "" && rest != "":
				b.Name, b.Group = rest, part
			}
			if values := valuesOf(m, g); len(values) > 1 {
				b.Runs = values
			}
			chart.Bars = append(chart.Bars, b)
		}
	}
	return chart, nil
}
