package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"assay/check"
	"assay/internal/quantity"
	"assay/report"
)

// sentence says which group is faster, how surely, and how their durability differs.
func (c *Comparison) sentence() string {
	names := tableMetrics(c.A.Runs[0].Result)
	at := slices.IndexFunc(c.Rows, func(r Row) bool { return slices.Contains(names, r.Metric) && r.metric.timed() })
	if at < 0 {
		return fmt.Sprintf("%s and %s have no figure in common that says which is faster.", c.B.Name, c.A.Name)
	}
	m := c.Rows[at].metric
	one := Pairing{a: []string{c.B.Name}, b: []string{c.A.Name}}
	pairs := []pair{{c.B, c.A}}
	var text string
	if c.A.doubted(m) || c.B.doubted(m) {
		text = one.sentence(m, nil, pairs)
	} else {
		text = one.sentence(m, pairs, nil)
	}
	if x, y := worth(c.A), worth(c.B); x != y && x != "" && y != "" {
		text += fmt.Sprintf(" They do not promise the same. What is acknowledged survives with %s: %s; with %s: %s.", c.A.Name, x, c.B.Name, y)
	}
	return text
}

// firstAndLast compares a series' last configuration with its first, of those with a valid
// measurement, and says of several which have the highest and the lowest figure. A pair chosen by its
// result would need the distribution of the largest of all differences, not that of one (J. W. Tukey,
// "The Problem of Multiple Comparisons", 1953). Divided among all pairs, five runs of each could show
// nothing from five configurations on. So what is tested is fixed before the runs, by their order, and
// the extremes are told without an interval.
func firstAndLast(groups []Group, comparisons []*Comparison) (sentences []string) {
	if len(comparisons) == 0 {
		return nil
	}
	at := slices.IndexFunc(comparisons[0].Rows, func(r Row) bool {
		return slices.Contains(tableMetrics(groups[0].Runs[0].Result), r.Metric) && r.metric.timed() && everyRunHas(groups, r.metric)
	})
	if at < 0 {
		return nil
	}
	m := comparisons[0].Rows[at].metric
	believed := slices.DeleteFunc(slices.Clone(groups), func(g Group) bool { return g.doubted(m) })
	if len(believed) < 2 {
		believed = groups
	}
	first, last := believed[0], believed[len(believed)-1]
	sentences = append(sentences, (&Comparison{A: first, B: last, Rows: comparisons[0].Rows[at : at+1]}).sentence())
	if len(believed) == 2 || last.doubted(m) {
		return sentences
	}
	by := func(a, b Group) int { return cmp.Compare(a.spread(m).Median, b.spread(m).Median) }
	low, high := slices.MinFunc(believed, by), slices.MaxFunc(believed, by)
	if by(low, high) == 0 {
		return sentences
	}
	return append(sentences, fmt.Sprintf("Of the medians of %s, the highest is %s (%s), the lowest %s (%s).",
		m.subject(), high.written(m, high.spread(m)), high.Name, low.written(m, low.spread(m)), low.Name))
}

// differing lists settings that differ between the groups, unless their names tell them.
func (c *Comparison) differing() (all []string) {
	a, b := c.A.Runs[0].Result, c.B.Runs[0].Result
	say := func(name, x, y string) {
		if x != y {
			all = append(all, fmt.Sprintf("%s %s -> %s", name, x, y))
		}
	}
	x, y := settingsIn(a), settingsIn(b)
	for _, s := range slices.Concat(x, y) {
		was, is := report.ValueOf(x, s.Name), report.ValueOf(y, s.Name)
		if a.Database.Product != b.Database.Product && (was == "" || is == "") {
			continue // the other product has no such thing
		}
		if was == "" && a.Database.Changed == nil || is == "" && b.Database.Changed == nil {
			continue // that server did not tell what somebody has set
		}
		if line := fmt.Sprintf("%s %s -> %s", s.Name, orDefault(was), orDefault(is)); was != is && !slices.Contains(all, line) {
			all = append(all, line)
		}
	}
	say("cluster", spec(a), spec(b))
	say("clients", fmt.Sprint(a.Load.Clients), fmt.Sprint(b.Load.Clients))
	return all
}

func orDefault(text string) string { return cmp.Or(text, "(default)") }

func settingsIn(r *report.Result) (all []report.Setting) {
	for _, s := range slices.Concat(r.Database.Settings, r.Database.Changed) {
		if report.ValueOf(all, s.Name) == "" {
			all = append(all, s)
		}
	}
	return all
}

// madeOf says when, on which machine and of what the groups were made.
func madeOf(groups []Group) string {
	var days, machines, versions []string
	for _, g := range groups {
		for _, r := range g.Runs {
			days = append(days, r.Result.Started.UTC().Format("2006-01-02"))
			versions = append(versions, r.Result.Database.Product+" "+r.Result.Database.Version, "assay "+r.Result.Version)
			if m := r.Machine; m != (Machine{}) {
				machines = append(machines, fmt.Sprintf("%s, %s, %s", m.CPU, check.Counted(int64(m.CPUs), "processor", "processors"), quantity.Memory(int64(m.MemoryBytes))))
			}
		}
	}
	var parts []string
	for _, all := range [][]string{days, machines, versions} {
		slices.Sort(all)
		parts = append(parts, slices.Compact(all)...)
	}
	return "Made " + strings.Join(parts, "; ") + "."
}
