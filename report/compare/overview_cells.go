package compare

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"assay/check"
	"assay/internal/quantity"
	"assay/report"
)

func (g Group) notMade() string {
	if g.Failed > 0 {
		return "could not be made: " + g.Problem
	}
	return quantity.None
}

// end is how some runs of a group ended.
type end struct {
	verdict check.Verdict
	name    string
	runs    int
}

// ends are the ways in which a group's runs ended, the gravest first.
func (g Group) ends() []end {
	all := []end{{check.Violated, "violated", g.Violated()}, {check.Unknown, "unknown", g.withoutVerdict()}, {check.Unknown, "not judged", g.notJudged()},
		{check.Allowed, "allowed", g.ended(check.Allowed)}, {check.Valid, "valid", g.Valid()}}
	return slices.DeleteFunc(all, func(e end) bool { return e.runs == 0 })
}

func (g Group) verdicts() string {
	var parts []string
	for _, e := range g.ends() {
		parts = append(parts, fmt.Sprintf("%s %s in %d of %s", report.Mark(e.verdict), e.name, e.runs, counted(g)))
	}
	if g.Failed > 0 {
		parts = append(parts, check.Counted(int64(g.Failed), "run", "runs")+" could not be made: "+g.Problem)
	}
	return strings.Join(parts, "; ")
}

func (g Group) anomalies() string {
	var names []string
	for _, k := range g.kinds() {
		if !slices.Contains(names, k.kind) {
			names = append(names, k.kind)
		}
	}
	slices.Sort(names)
	text := "shows " + strings.Join(names, ", ")
	switch undecided, violated := g.ended(check.Unknown), g.Violated(); {
	case len(names) > 0:
	case violated > 0:
		text = fmt.Sprintf("violated in %d of %s, by what has no kind", violated, counted(g))
	case undecided > 0:
		text = fmt.Sprintf("no anomaly found, and no verdict in %d of %s", undecided, counted(g))
	default:
		text = "no anomaly in " + counted(g)
	}
	first := g.Runs[0].Result
	if first.Database.Promise == "" {
		return text
	}
	kept := "promised"
	if g.count(func(r *report.Result) bool { return r.Promise != nil && r.Promise.Kept != nil && !*r.Promise.Kept }) > 0 {
		kept = report.Mark(check.Violated) + " promised and broken"
	}
	return first.Database.Promise + " " + kept + "; " + text
}

// durability is the same in all runs of a group.
func (g Group) durability() string {
	d := g.Runs[0].Result.Durability
	if d == nil {
		return "not known"
	}
	return d.Class + " (" + d.Source + ")"
}

// loss is what power cuts lost in a group; unknown if the database could not be read.
func (g Group) loss() string {
	var all, beyond int64
	var times []float64
	known, taken, unknown := 0, 0, 0
	for _, r := range g.Runs {
		l := r.Result.Lost
		switch {
		case !powerCut(r.Result):
			continue
		case l == nil:
			unknown++
			continue
		case l.Operations > 0:
			taken++
			all, beyond = all+l.Operations, beyond+l.Beyond
			if l.Newest != nil && l.Oldest != nil {
				times = append(times, *l.Newest, *l.Oldest)
			}
		}
		known++
	}
	others := check.Counted(int64(unknown), "run", "runs")
	switch {
	case known+unknown == 0:
		return "no power was cut"
	case known == 0:
		return "not known of " + others
	}
	runs := check.Counted(int64(known), "run", "runs")
	text := "nothing in " + runs
	if all > 0 {
		text = fmt.Sprintf("%s acknowledged, in %d of %s", check.Counted(all, "operation", "operations"), taken, runs)
	}
	if len(times) > 0 {
		text += fmt.Sprintf(", %.0f to %.0f ms before the cut", slices.Min(times), slices.Max(times))
	}
	if beyond > 0 {
		text += ", " + check.Count(beyond) + " of them more than the manual allows"
	}
	if unknown > 0 {
		text += "; not known of " + others
	}
	return text
}

// powerCut reports whether a node lost its power. Durability is tried by a kill, too.
func powerCut(r *report.Result) bool {
	return slices.ContainsFunc(r.Faults, func(f report.Fault) bool { return f.CutAt != nil })
}

// figureOver is the median with its interval, or the sum of what is counted.
func (g Group) figureOver(m metric) string {
	if !everyRunHas([]Group{g}, m) {
		return quantity.None
	}
	if m.unit == operations {
		total := 0.0
		for _, r := range g.Runs { // whatever their measurement is worth
			v, _ := m.of(r.Result) // each has it
			total += v
		}
		return m.format(total) + " in " + counted(g)
	}
	s := g.spread(m)
	text := s.written(m)
	if s.Low < s.High {
		text += " (" + m.format(s.Low) + " to " + s.high(m) + ")"
	}
	return g.believable(m, text)
}

// high is the upper end of the interval, which may be a lower bound.
func (s Spread) high(m metric) string {
	return Spread{Median: s.High, AtLeast: s.HighAtLeast}.written(m)
}

func (g Group) believable(m metric, text string) string {
	if g.doubted(m) {
		return report.Doubtful(text)
	}
	return text
}

// ratio is the multiple of another group's median, with the range that both intervals allow.
func (g Group) ratio(m metric, base *Group) string {
	if base == nil || !everyRunHas([]Group{g, *base}, m) {
		return quantity.None
	}
	ours, theirs := g.spread(m), base.spread(m)
	if theirs.Low <= 0 {
		return quantity.None
	}
	write := func(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }
	text := boundOf(theirs, ours, write(ours.Median/theirs.Median))
	if g.Name == base.Name {
		return g.believable(m, "1")
	}
	if !ours.HighAtLeast && !theirs.HighAtLeast {
		text += " (" + write(ours.Low/theirs.High) + " to " + write(ours.High/theirs.Low) + ")"
	}
	if base.doubted(m) && !g.doubted(m) {
		return report.Doubtful(text)
	}
	return g.believable(m, text)
}
