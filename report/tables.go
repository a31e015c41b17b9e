package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"assay/check"
	"assay/history"
	"assay/measure"
)

// Table is a table for any report. The first column names the row; the others, except Words, are
// figures.
type Table struct {
	Title string
	Head  []string
	Rows  [][]string
	Words []int
	// Wide columns are left out on the terminal if the first would get less than half a line.
	Wide []int
	// Cut lets the terminal cut the first column instead of wrapping it.
	Cut bool
	// Whole keeps the terminal from cutting long cells of the other columns.
	Whole bool
	// Parts are headings in pages and Markdown, by the first row below.
	Parts map[int]string
	// Links are places of headings on the same page, by row and column, for pages and Markdown.
	// The first column has none.
	Links map[[2]int]string
	// Drawn, if not empty, is text shown unchanged instead of rows.
	Drawn string
}

// Link is where a cell leads, or empty.
func (t Table) Link(row, column int) string { return t.Links[[2]int{row, column}] }

// narrow leaves out the Wide columns, which come after all Words.
func (t Table) narrow() Table {
	without := func(cells []string) (kept []string) {
		for i, cell := range cells {
			if !slices.Contains(t.Wide, i) {
				kept = append(kept, cell)
			}
		}
		return kept
	}
	rows := make([][]string, len(t.Rows))
	for i, row := range t.Rows {
		rows[i] = without(row)
	}
	t.Head, t.Rows, t.Wide = without(t.Head), rows, nil
	return t
}

// mostColumns is how many columns a page's tables have: more do not fit a window or 80 columns of text.
const mostColumns = 8

// Parted splits a table that is too wide into several, each with the first columns, which name its
// rows.
func (t Table) Parted(names int) (all []Table) {
	for from, room := names, max(1, mostColumns-names); from < len(t.Head); from += room {
		to := min(from+room, len(t.Head))
		take := func(cells []string) []string { return slices.Concat(cells[:names], cells[from:to]) }
		part := Table{Title: t.Title, Head: take(t.Head), Parts: t.Parts}
		for _, row := range t.Rows {
			part.Rows = append(part.Rows, take(row))
		}
		for _, at := range t.Words {
			switch {
			case at < names:
				part.Words = append(part.Words, at)
			case at >= from && at < to:
				part.Words = append(part.Words, at-from+names)
			}
		}
		if from > names {
			part.Title = Joined(", ", t.Title, "continued")
		}
		all = append(all, part)
	}
	return all
}

// Left reports whether a column is aligned left.
func (t Table) Left(column int) bool { return column == 0 || slices.Contains(t.Words, column) }

// Mark is a cell's tick or cross, or empty. Screen readers skip it, since words repeat it.
func (t Table) Mark(cell string) string {
	for _, m := range []string{Mark(check.Valid), Mark(check.Violated)} {
		if strings.HasPrefix(cell, m+" ") {
			return m
		}
	}
	return ""
}

// Unmarked is a cell without its Mark.
func (t Table) Unmarked(cell string) string {
	if m := t.Mark(cell); m != "" {
		return strings.TrimPrefix(cell, m+" ")
	}
	return cell
}

const doubt = nbsp + "?"

// Doubtful marks a figure of an invalid measurement with a question mark and a color.
func Doubtful(cell string) string { return cell + doubt }

// Doubted reports whether a cell is Doubtful.
func (t Table) Doubted(cell string) bool { return strings.HasSuffix(cell, doubt) }

func latencyTable(r *Result, counted bool) Table {
	t := Table{Title: "Latency", Head: []string{"latency", "mean", "p50", "p95", "p99", "p99.9", "max"}}
	if counted {
		t.Head = slices.Insert(t.Head, 1, "operations")
	}
	add := func(name string, l *Latency) {
		row := []string{name}
		if counted {
			row = append(row, check.Count(l.Count))
		}
		t.Rows = append(t.Rows, append(row, times(l.Count > 0, l.Mean, l.P50, l.P95, l.P99, l.P999, l.Max)...))
	}
	around := func(l *Latency) {
		if l.Intervals == nil {
			return
		}
		row := []string{plusMinusName}
		if counted {
			row = append(row, "")
		}
		for _, m := range measure.LatencyMetrics() {
			if m.Name != "max" { // which has none
				row = append(row, known(m.Interval(l) != nil, shareOf(m.Of(l), m.Interval(l))))
			}
		}
		t.Rows = append(t.Rows, append(row, ""))
	}
	add("response", &r.Latency)
	around(&r.Latency)
	if r.Corrected != nil && r.Correction != nil && r.Correction.Material {
		add("corrected", r.Corrected)
	}
	add("service", &r.ServiceTime)
	if counted {
		around(&r.ServiceTime)
	}
	if r.Uncommitted.Count > 0 {
		add("uncommitted", &r.Uncommitted)
		if slices.ContainsFunc(r.Errors, func(e ErrorCount) bool { return e.Class == history.ClassHung }) { // the run's end cut some
			last := t.Rows[len(t.Rows)-1]
			last[len(last)-1] = lasted(r.Uncommitted.Max, true)
		}
	}
	if r.Load.Loop == "open" {
		add("schedule lag", &r.Load.Late)
	}
	return t
}

func outcomeTable(r *Result) Table {
	t := Table{Title: "Outcomes", Head: []string{"operations", "measured", "share", "whole run", "share"}}
	m, all := &r.Measured, &r.Outcomes
	for _, line := range []struct {
		name          string
		measured, all int64
	}{
		{"committed", m.Committed, all.Committed},
		{"rejected", m.Rejected, all.Rejected},
		{"failed", m.Failed, all.Failed},
		{"unknown", m.Unknown, all.Unknown},
		{"total", m.Total(), all.Total()},
	} {
		t.Rows = append(t.Rows, []string{line.name,
			check.Count(line.measured), percent(line.measured, m.Total()),
			check.Count(line.all), percent(line.all, all.Total())})
	}
	return t
}

func errorTable(r *Result) Table {
	t := Table{Title: "Errors", Head: []string{"errors", "ended as", "attempts", "share"}, Words: []int{1}}
	said := slices.ContainsFunc(r.Errors, func(e ErrorCount) bool { return e.First != "" })
	if said {
		t.Head, t.Words = append(t.Head, "what the first said"), append(t.Words, 4)
	}
	for _, e := range r.Errors {
		row := []string{e.Class, e.Outcome, check.Count(e.Attempts), percent(e.Attempts, r.Retries.Attempts)}
		if said {
			row = append(row, e.First)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func throughputTable(r *Result) Table {
	p := &r.Throughput
	t := Table{Title: "Throughput", Head: []string{"throughput", "figure"}}
	add := func(name, value string) { t.Rows = append(t.Rows, []string{name, value}) }
	add("committed per second", figure(p.PerSecond))
	if i := p.Interval(); i != nil {
		add("95 % confidence interval", figure(i.Low)+" to "+figure(i.High))
	}
	if p.Offered > 0 {
		add("offered per second", short(p.Offered))
		add("arrivals never started", check.Count(r.Load.Unserved))
	}
	add("measured for", seconds(p.Seconds))
	if p.Max > 0 || p.Min > 0 {
		each := " of intervals of " + seconds(p.IntervalSeconds)
		add("minimum"+each, figure(p.Min))
		add("median"+each, figure(p.Median))
		add("maximum"+each, figure(p.Max))
		add("standard deviation"+each, figure(p.Deviation))
	}
	return t
}

func thresholdTable(r *Result) Table {
	t := Table{Title: "Thresholds", Head: []string{"threshold", "measured", "result"}, Words: []int{2}}
	for _, h := range r.Thresholds {
		a := r.answerOf(&h)
		t.Rows = append(t.Rows, []string{h.Text, Mark(a.Verdict()) + " " + measuredValue(&h), a.String()})
	}
	return t
}

func checkTable(r *Result) Table {
	t := Table{Title: "Checks", Head: []string{"check", "verdict", "detail"}, Words: []int{1, 2}}
	for _, c := range r.Checks {
		t.Rows = append(t.Rows, []string{c.Name, Mark(c.Verdict) + " " + c.Verdict.String(), c.Detail})
	}
	for _, n := range r.NotApplicable {
		t.Rows = append(t.Rows, []string{n.Name, notApplicableMark + " not applicable", n.Reason})
	}
	return t
}

func faultTable(r *Result) Table {
	t := Table{Title: "Faults", Head: []string{"fault", "injected at", "healed at (of the run)", "write outage", "read outage", "longest call", "new primary"}, Words: []int{0, 6}}
	for i := range r.Faults {
		f := &r.Faults[i]
		healed, writes, reads := "never", lasted(f.WriteOutage, f.WritesAway), lasted(f.ReadOutage, f.ReadsAway)
		if f.healed() {
			healed = seconds(f.HealedSecond)
		}
		if f.Skipped {
			healed, writes, reads = none, none, none
		}
		t.Rows = append(t.Rows, []string{f.name(), f.injected(), healed, writes, reads, known(f.LongestCall > 0, lasted(f.LongestCall, f.LongestCallCut)),
			f.newPrimary()})
	}
	return t
}

// proofTable has what of the faults is words: their errors, and how they were seen to act and to end.
func proofTable(r *Result) Table {
	t := Table{Title: "Errors and proofs of the faults", Head: []string{"fault", "injected at", "errors", "proof"}, Words: []int{0, 2, 3}}
	for i := range r.Faults {
		f := &r.Faults[i]
		t.Rows = append(t.Rows, []string{f.name(), f.injected(), cmp.Or(ErrorCounts(f.Errors), none), f.proof()})
	}
	return t
}

// TookOver reports whether another node took writes afterwards. If the primary before is unknown,
// it is assumed to be another.
func (f *Fault) TookOver() bool { return f.NewPrimary != "" && f.NewPrimary != f.Primary }

func (f *Fault) cameBack() bool { return f.NewPrimary != "" && f.NewPrimary == f.Primary }

func (f *Fault) newPrimary() string {
	switch {
	case f.PrimaryStayed != "":
		return "none, " + f.PrimaryStayed + " stayed"
	case f.cameBack():
		return "none, " + f.NewPrimary + " again after " + millis(f.NewPrimaryAfter)
	}
	return known(f.NewPrimary != "", f.NewPrimary+" after "+millis(f.NewPrimaryAfter))
}

func (f *Fault) name() string {
	text := f.Action + " " + f.Target
	if nodes := strings.Join(f.Nodes, ", "); nodes != "" && nodes != f.Target {
		text += " (" + nodes + ")"
	}
	return text
}

// proof says how the fault was seen to act and to end, what went wrong, and its source.
func (f *Fault) proof() string {
	from := ""
	if f.Source != "" {
		from = "from " + f.Source
	}
	if f.Skipped {
		return Joined("; ", "skipped: "+f.Problem, from)
	}
	return Joined("; ", when(!f.Proven, notProven), f.Proof, f.Healing, strings.TrimPrefix(f.backupText(), "; "), f.Problem, from)
}

// ErrorCounts are the most frequent errors in one line.
func ErrorCounts(errors []ErrorCount) string {
	var parts []string
	for _, e := range errors[:min(len(errors), 3)] {
		parts = append(parts, check.Count(e.Attempts)+" "+e.Class+" ("+e.Outcome+")")
	}
	if rest := len(errors) - 3; rest > 0 {
		parts = append(parts, check.Count(int64(rest))+" more kinds")
	}
	return strings.Join(parts, ", ")
}

func settingTable(title, what string, settings []Setting) Table {
	t := Table{Title: title, Head: []string{what, "value"}, Words: []int{1}}
	for _, s := range settings {
		t.Rows = append(t.Rows, []string{s.Name, s.Value})
	}
	return t
}

func further(r *Result) []Setting {
	facts := []Setting{{"retries", retriesLine(r)}}
	for _, line := range dataLines(r) {
		facts = append(facts, Setting{dataLabel(r), line})
	}
	if r.Cost != nil {
		facts = append(facts, Setting{"cost", costLine(r)})
	}
	if r.Overhead != nil {
		facts = append(facts, Setting{"overhead", overheadLine(r)})
	}
	return append(facts, Setting{"tester", testerLine(r)})
}

func transfers(r *Result) *int64 {
	for _, name := range []string{"transfers", "transfer", "assay_transfer", "journal", "entries"} {
		if n, known := r.Data.Rows[name]; known {
			return &n
		}
	}
	return nil
}

func processors(n float64) string { return strconv.FormatFloat(n, 'g', -1, 64) }

func known(is bool, text string) string { return cmp.Or(when(is, text), none) }

func limited(is bool, text string) string { return cmp.Or(when(is, text), "no limit") }
