package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"assay/check"
	"assay/report"
)

// Document shows one comparison with a row for each metric, or several with a table for each
// metric and a row for each group.
func Document(all []*Comparison, command string) report.Document {
	d := report.Document{Title: title(all), Command: command, Tables: figureTables(all)}
	for _, c := range all {
		d.Answers = append(d.Answers, c.sentence())
		if lines := c.differing(); len(lines) > 0 {
			d.Answers = append(d.Answers, "What differs: "+strings.Join(lines, "; ")+".")
		}
	}
	d.Answers = append(d.Answers, madeOf(groupsOf(all)))
	d.Notes = notes(all)
	d.Verdicts = verdicts(all)
	d.Charts = charts(groupsOf(all))
	return d
}

func title(all []*Comparison) string {
	c := all[0]
	if len(all) > 1 {
		return fmt.Sprintf("%s: %d comparisons with %s", c.A.Runs[0].Result.Workload, len(all), c.A.Name)
	}
	return fmt.Sprintf("%s: %s against %s", c.A.Runs[0].Result.Workload, c.B.Name, c.A.Name)
}

func pairTable(c *Comparison) report.Table {
	t := report.Table{Head: []string{"", "A", "±", "B", "±", "change", "p"}, Cut: true}
	for _, r := range c.Rows {
		t.Rows = append(t.Rows, []string{r.Metric, c.A.written(r.metric, r.A), shareText(r.A), c.B.written(r.metric, r.B), shareText(r.B), r.changeText(), probabilityText(r.P)})
	}
	return t
}

// tableMetrics are the metrics with a table over several comparisons. Work in rounds has only the
// throughput and times of each round, since all rounds together are a mixture.
func tableMetrics(r *report.Result) []string {
	switch {
	case len(r.Rounds) > 0:
		names := []string{"size"}
		for _, m := range roundMetrics(r) {
			names = append(names, m.name)
		}
		return names
	case r.Availability != nil:
		return []string{"outage", "read outage", "new primary", "longest call"}
	}
	return []string{"throughput", "p50", "p99", "errors", "outage", "new primary", "size"}
}

func figureTables(all []*Comparison) []report.Table {
	if len(all) == 1 {
		return []report.Table{pairTable(all[0])}
	}
	var tables []report.Table
	for _, name := range tableMetrics(all[0].A.Runs[0].Result) {
		t := report.Table{Title: name, Head: []string{"runs of", "median", "±", "change", "p", "n"}}
		seen := map[string]bool{}
		for _, c := range all {
			at := slices.IndexFunc(c.Rows, func(r Row) bool { return r.Metric == name })
			if at < 0 {
				continue
			}
			r := c.Rows[at]
			if !seen[c.A.Name] {
				t.Rows = append(t.Rows, []string{c.A.Name, c.A.written(r.metric, r.A), shareText(r.A), "", "", fmt.Sprint(r.A.Runs)})
				seen[c.A.Name] = true
			}
			t.Rows = append(t.Rows, []string{c.B.Name, c.B.written(r.metric, r.B), shareText(r.B), r.changeText(), probabilityText(r.P), fmt.Sprint(r.B.Runs)})
		}
		if len(t.Rows) > 0 {
			tables = append(tables, t)
		}
	}
	return tables
}

// HowToRead explains the figures of tables.
const HowToRead = "Figures are medians over the runs of a group. ± is half their 95 % confidence interval: of fewer than 6 runs half their range, of a single run its own. ?: no valid measurement. ~: chance makes such a difference (Mann-Whitney U test, p ≥ 0.05). At least: the run's end cut it (Gehan's test)."

func against(groups ...Group) []string {
	return slices.Concat(Remarks(groups), Imprecise(groups))
}

// Imprecise says how many runs have a wide throughput; nothing if none has.
func Imprecise(groups []Group) []string {
	wide, runs := 0, 0
	for _, g := range groups {
		wide, runs = wide+g.wide(), runs+len(g.Runs)
	}
	if wide == 0 { // which ones, their intervals say
		return nil
	}
	return []string{fmt.Sprintf("In %d of %s the throughput is known no better than ± 10 %%: measure longer.", wide, check.Counted(int64(runs), "run", "runs"))}
}

// Remarks has a sentence for each kind of problem, with the groups whose runs have it.
func Remarks(groups []Group) (lines []string) {
	say := func(text string, count func(Group) int) {
		var named []string
		var runs []Run
		for _, g := range groups {
			if n := count(g); n > 0 {
				named = append(named, fmt.Sprintf("%s (%d of %d)", g.Name, n, len(g.Runs)+g.Failed+g.Waiting))
				runs = append(runs, g.Runs...)
			}
		}
		if len(named) > 0 {
			text = strings.ReplaceAll(text, "REASONS", Group{Runs: runs}.reasons())
			lines = append(lines, text+": "+strings.Join(named, "; ")+".")
		}
	}
	invalid := func(unbelieved bool) func(Group) int {
		return func(g Group) int {
			if g.unbelieved() != unbelieved {
				return 0
			}
			return g.Invalid()
		}
	}
	say("Runs in which the database is VIOLATED, so that how fast it is means little", Group.Violated)
	say("Runs left out of the figures, since their measurement is invalid, REASONS", invalid(false))
	say("Runs of which no figure is to be believed, since all measurements of the row are invalid, REASONS", invalid(true))
	say("Runs that could not be made", func(g Group) int { return g.Failed })
	say("Runs that are not made yet", func(g Group) int { return g.Waiting })
	return lines
}

func notes(all []*Comparison) []string {
	var lines []string
	if len(all) == 1 {
		c := all[0]
		lines = append(lines, fmt.Sprintf("A is %s (%s), B is %s (%s).", c.A.Name, counted(c.A), c.B.Name, counted(c.B)))
	}
	lines = append(lines, HowToRead)
	least := math.MaxInt
	for _, c := range all {
		least = min(least, len(c.A.Runs), len(c.B.Runs))
	}
	if least < 4 {
		lines = append(lines, fmt.Sprintf("%s on a side is too few: no difference can be told from chance with fewer than 4 on each. Repeat with --repeat 5.", check.Counted(int64(least), "run", "runs")))
	}
	for _, c := range all {
		for _, d := range c.Differences {
			lines = append(lines, fmt.Sprintf("%s and %s differ in %s: %s against %s.", c.A.Name, c.B.Name, d.Condition, d.A, d.B))
		}
	}
	return append(lines, against(groupsOf(all)...)...)
}

func counted(g Group) string { return check.Counted(int64(len(g.Runs)), "run", "runs") }

func (g Group) reasons() string {
	count := map[string]int{}
	for _, r := range g.Runs {
		if !r.Result.Measurement.Invalid() {
			continue
		}
		for _, why := range r.Result.Measurement.Reasons {
			kind, _, _ := strings.Cut(why, ":")
			count[kind]++
		}
	}
	var parts []string
	for kind, n := range count {
		parts = append(parts, fmt.Sprintf("%s (%d)", kind, n))
	}
	slices.Sort(parts)
	return cmp.Or(strings.Join(parts, ", "), "no reason is kept")
}

func groupsOf(all []*Comparison) []Group {
	var groups []Group
	for _, c := range all {
		for _, g := range []Group{c.A, c.B} {
			if !slices.ContainsFunc(groups, func(x Group) bool { return x.Name == g.Name }) {
				groups = append(groups, g)
			}
		}
	}
	return groups
}

func verdicts(all []*Comparison) []report.DocumentVerdict {
	var lines []report.DocumentVerdict
	for _, c := range all {
		of := ""
		if len(all) > 1 {
			of = " (" + c.B.Name + ")"
		}
		for _, g := range c.Gates {
			lines = append(lines, report.DocumentVerdict{Text: "gate " + g.Gate + of + " " + g.Detail, Verdict: report.AnswerOf(!g.Missed, !g.Invalid).Verdict()})
		}
	}
	return lines
}

// Missed reports whether any gate was missed.
func Missed(all []*Comparison) bool {
	return slices.ContainsFunc(all, func(c *Comparison) bool {
		return slices.ContainsFunc(c.Gates, func(g GateResult) bool { return g.Missed })
	})
}

// Unanswered reports whether any gate rests on invalid measurements.
func Unanswered(all []*Comparison) bool {
	return slices.ContainsFunc(all, func(c *Comparison) bool {
		return slices.ContainsFunc(c.Gates, func(g GateResult) bool { return g.Invalid })
	})
}

// Summary has a line for each group of a series, and how each differs from the first.
func Summary(workload string, groups []Group) report.Document {
	d := report.Document{Title: fmt.Sprintf("%s: a series of %s", workload, counted(all(groups)))}
	had := withResults(groups)
	d.Tables = slices.Concat(summaryTables(had), roundsTable(had), availabilityTable(had))
	var comparisons []*Comparison
	for _, g := range had[1:] {
		// Differences varied on purpose are allowed here; others are shown as differences.
		if c, err := Compare(had[0], g, Options{Allow: []string{"all"}}); err == nil {
			comparisons = append(comparisons, c)
		}
	}
	d.Answers = firstAndLast(had, comparisons)
	if len(comparisons) > 0 {
		d.Tables = append(d.Tables, figureTables(comparisons)...)
		d.Notes = notes(comparisons)
		d.Charts = charts(had)
	}
	d.Notes = append(d.Notes, against(slices.DeleteFunc(slices.Clone(groups), func(g Group) bool { return len(g.Runs) > 0 && len(comparisons) > 0 })...)...)
	for _, g := range groups {
		d.Verdicts = append(d.Verdicts, g.verdict())
	}
	return d
}

func all(groups []Group) Group {
	var whole Group
	for _, g := range groups {
		whole.Runs = append(whole.Runs, g.Runs...)
	}
	return whole
}

func summaryMetrics(r *report.Result) []string {
	switch {
	case len(r.Rounds) > 0:
		return []string{"size"}
	case r.Availability != nil:
		return []string{"outage", "read outage", "new primary"}
	case len(r.Faults) > 0:
		return []string{"throughput", "p50", "p99", "outage"}
	}
	return []string{"throughput", "p50", "p99"}
}

// summaryTables have a line for each group, and a column for each figure that some group has.
func summaryTables(groups []Group) []report.Table {
	t := report.Table{Head: []string{"", "valid"}}
	for _, g := range groups {
		t.Rows = append(t.Rows, []string{cmp.Or(g.Name, "all"), fmt.Sprintf("%d of %d", g.Valid(), len(g.Runs))})
	}
	if len(groups) == 0 {
		return []report.Table{t}
	}
	names := summaryMetrics(groups[0].Runs[0].Result)
	for _, m := range metrics() {
		if !slices.Contains(names, m.name) || !slices.ContainsFunc(groups, func(g Group) bool { return everyRunHas([]Group{g}, m) }) {
			continue
		}
		t.Head = append(t.Head, m.name, "±")
		for i, g := range groups {
			t.Rows[i] = append(t.Rows[i], g.medianAndShare(m)...)
		}
	}
	return t.Parted(1)
}

// VerdictOf says how the runs of all groups ended.
func VerdictOf(groups []Group) report.DocumentVerdict {
	whole := all(groups)
	for _, g := range groups {
		whole.Failed, whole.Waiting = whole.Failed+g.Failed, whole.Waiting+g.Waiting
	}
	return whole.verdict()
}

// verdict is the gravest of the group's runs. Unless that is violated, it is unknown while a run has no
// result, or an invalid measurement.
func (g Group) verdict() report.DocumentVerdict {
	v := report.DocumentVerdict{Text: strings.TrimPrefix(g.Name+": ", ": ")}
	ends := g.ends()
	if len(ends) == 0 {
		v.Text += "no run has a result"
		return v
	}
	v.Verdict = ends[0].verdict
	var parts []string
	for _, e := range ends {
		parts = append(parts, fmt.Sprintf("%s in %d of %s", strings.ToUpper(e.name), e.runs, counted(g)))
	}
	v.Text += strings.Join(parts, ", ")
	missing := g.Failed + g.Waiting
	if n := g.Invalid(); n > 0 {
		v.Text += fmt.Sprintf("; the measurement is INVALID in %d", n)
		v.Unmeasured = v.Verdict == check.Valid && missing == 0
	}
	if missing > 0 {
		v.Text += fmt.Sprintf("; %s missing", check.Counted(missing, "run is", "runs are"))
	}
	if g.Invalid()+missing > 0 && v.Verdict != check.Violated {
		v.Verdict = check.Unknown
	}
	return v
}
