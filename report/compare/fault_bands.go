package compare

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"assay/internal/quantity"
	"assay/report"
)

// overTimeByFault charts throughput over time for each set of faults, with the faults marked.
// Groups with the same faults, or none, share a chart.
func overTimeByFault(title string, groups []Group) (charts []report.LineChart) {
	var order []string
	parts := map[string][]Group{}
	for _, g := range groups {
		of := g.faultsAsked()
		if parts[of] == nil {
			order = append(order, of)
		}
		parts[of] = append(parts[of], g)
	}
	for _, of := range order {
		for i, g := range parts[of] {
			if len(order) > 1 && report.ValueOf(g.Values, "fault") != "" { // the title has it
				parts[of][i].Name = g.without("fault")
			}
		}
		c := throughputOverTime(parts[of])
		c.Title, c.Bands = title, bandsOf(parts[of])
		if len(order) > 1 {
			c.Title += ": " + cmp.Or(of, "no fault")
		}
		charts = append(charts, c)
	}
	return charts
}

// faultsAsked names each fault done in the group's first run once.
func (g Group) faultsAsked() string {
	var names []string
	for i := range g.Runs[0].Result.Faults {
		if f := &g.Runs[0].Result.Faults[i]; !f.Skipped && !slices.Contains(names, asked(f)) {
			names = append(names, asked(f))
		}
	}
	return strings.Join(names, ", ")
}

func asked(f *report.Fault) string { return cmp.Or(f.Asked, f.Action+" "+f.Target) }

// bandsOf are the median times of the groups' common faults, in seconds of the measured part. A
// fault that was never healed has no end.
func bandsOf(groups []Group) (bands []report.Band) {
	for i := range groups[0].Runs[0].Result.Faults {
		var from, to []float64
		name := asked(&groups[0].Runs[0].Result.Faults[i])
		for _, g := range groups {
			for _, r := range g.Runs {
				if i >= len(r.Result.Faults) || r.Result.Faults[i].Skipped || asked(&r.Result.Faults[i]) != name {
					continue
				}
				f, start := &r.Result.Faults[i], r.Result.Series.MeasureStart
				from = append(from, f.InjectedSecond-start)
				if f.HealedSecond > f.InjectedSecond {
					to = append(to, f.HealedSecond-start)
				} else {
					to = append(to, math.Inf(1))
				}
			}
		}
		if len(from) > 0 {
			bands = append(bands, report.Band{Name: name, From: quantity.Median(from), To: quantity.Median(to)})
		}
	}
	return bands
}
