package compare

import (
	"slices"
	"strconv"

	"assay/report"
)

// defaultPlots are for a file that names no charts. group are the axes that group bars.
func defaultPlots(groups []Group) (plots []Plot, group []string) {
	r := groups[0].Runs[0].Result
	axes := axesOf(groups)
	var texts []string
	counted := slices.IndexFunc(r.Rounds, func(x report.Round) bool { return x.RowsPerSecond > 0 })
	switch {
	case r.Availability != nil:
		texts = []string{"outage"}
		if slices.Contains(axes, "policy") {
			group = slices.DeleteFunc(axes, func(axis string) bool { return axis == "policy" })
		}
	case counted >= 0:
		texts = []string{r.Rounds[counted].Name + ": rows", "throughput", "size"}
	case slices.ContainsFunc(r.Rounds, func(x report.Round) bool { return x.Size != nil }):
		texts = []string{"size over rounds"}
	case len(r.Rounds) > 0:
		texts = []string{"took over rounds"}
	case slices.ContainsFunc(groups, func(g Group) bool { return len(g.Runs[0].Result.Faults) > 0 }):
		texts = []string{"throughput", "outage"}
	default:
		texts = summaryMetrics(r)
		for _, axis := range axes {
			if scales(axis) && numbers(groups, axis) > 1 {
				texts = []string{"throughput by " + axis, "p99 by " + axis}
			}
		}
	}
	for _, text := range texts {
		p, _ := ParsePlot(text) // they name a figure
		plots = append(plots, p)
	}
	return plots, group
}

// numbers counts an axis's different values; 0 if one is no number.
func numbers(groups []Group, axis string) int {
	found := map[float64]bool{}
	for _, g := range groups {
		v, err := strconv.ParseFloat(report.ValueOf(g.Values, axis), 64)
		if err != nil {
			return 0
		}
		found[v] = true
	}
	return len(found)
}
