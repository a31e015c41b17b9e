package advise

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"assay/check"
	"assay/internal/quantity"
	"assay/report"
	"assay/workload/script"
)

// Document is the advice as a report. command makes it again, without secrets.
func (a *Advice) Document(command string) report.Document {
	d := report.Document{Title: fmt.Sprintf("%s on %s: what each isolation level makes of it", a.Script, a.Database), Command: command}
	if a.Alone != nil && a.Alone.Verdict == check.Violated {
		d.Verdicts = append(d.Verdicts, report.DocumentVerdict{Text: "one client alone breaks what must hold: the transactions are wrong at every level (" + a.Alone.Found + ")", Verdict: check.Violated})
	}
	d.Answers = []string{a.answer()}
	d.Tables = append(d.Tables, table("Levels", a.Levels))
	if len(a.Changes) > 0 {
		d.Tables = append(d.Tables, table("Changes that were tried", a.Changes), changesTable(a.Changes))
	}
	d.Tables = append(d.Tables, looks(a.all()))
	d.Tables = append(d.Tables, a.pictures()...)
	d.Tables = append(d.Tables, a.convictions(command)...)
	d.Notes = append(d.Notes, fmt.Sprintf("each level was run with pauses of up to %g ms between the statements, so that transactions meet, and without for the figures: %s each, by %s, in turn",
		a.PauseMilliseconds, check.Counted(a.Repeats, "time", "times"), check.Counted(a.Clients, "client", "clients")))
	d.Notes = append(d.Notes, a.dangers()...)
	d.Notes = append(d.Notes, a.doubts()...)
	for _, u := range a.Untried {
		d.Notes = append(d.Notes, "not tried: "+u)
	}
	for _, r := range a.all() {
		if r.Problem != "" {
			d.Notes = append(d.Notes, r.name()+": a run could not be made: "+r.Problem)
		}
	}
	d.Verdicts = append(d.Verdicts, a.verdicts()...)
	return d
}

func table(title string, rows []Row) report.Table {
	t := report.Table{Title: title, Head: []string{"level", "what must hold", "a second", "± 95 %", "retried", "p50", "p99"}, Words: []int{1}}
	for i := range rows {
		r := &rows[i]
		t.Rows = append(t.Rows, []string{r.name(), r.held(), quantity.Figure(r.Throughput.PerSecond), r.plusMinus(), share(r.Retried),
			quantity.Milliseconds(r.P50), quantity.Milliseconds(r.P99)})
	}
	return t
}

func looks(rows []Row) report.Table {
	t := report.Table{Title: "What the statements let happen", Head: []string{"level", "by the statements"}, Words: []int{1}}
	for i := range rows {
		t.Rows = append(t.Rows, []string{rows[i].name(), rows[i].statements()})
	}
	return t
}

func (r *Row) statements() string {
	switch {
	case r.Look.Robust == nil:
		return "not known"
	case *r.Look.Robust:
		return "nothing: serializable"
	case len(r.Look.Dangers) == 0:
		return "may conflict"
	}
	return r.Look.Dangers[0].Anomaly
}

// held says whether the rules held or, if not, names the most frequent anomaly.
func (r *Row) held() string {
	switch {
	case r.Problem != "" && r.Verdict == check.Unknown:
		return "could not be run"
	case r.Verdict == check.Valid:
		return "✓ kept"
	case r.Verdict == check.Unknown:
		return "not known"
	case len(r.Shown) > 0:
		return "✗ " + r.Shown[0].Anomaly
	}
	return "✗ broken"
}

func (r *Row) plusMinus() string {
	t := r.Throughput
	if t.Low == nil || t.High == nil || t.PerSecond <= 0 {
		return "-"
	}
	half := max(*t.High-t.PerSecond, t.PerSecond-*t.Low) / t.PerSecond
	if half > 1 {
		return "not known"
	}
	return share(half)
}

func share(of float64) string { return fmt.Sprintf("%.0f %%", math.Ceil(100*of)) }

func changesTable(rows []Row) report.Table {
	t := report.Table{Title: "What was changed", Head: []string{"change"}}
	seen := map[string]bool{}
	for _, r := range rows {
		if !seen[r.Change] {
			t.Rows = append(t.Rows, []string{r.Change + ": " + strings.Join(r.Texts, "; ")})
		}
		seen[r.Change] = true
	}
	return t
}

// laneWidth is the width of each of two transactions, in characters.
const laneWidth = 37

// pictures show, for each level that went wrong, two transactions with its most frequent anomaly.
func (a *Advice) pictures() (all []report.Table) {
	for _, r := range a.Levels {
		if r.Verdict == check.Violated && len(r.Shown) > 0 {
			all = append(all, picture(r.Level, r.Shown[0]))
		}
	}
	return all
}

// convictions show, for each broken promise, the transactions and why they convict.
func (a *Advice) convictions(command string) (all []report.Table) {
	for _, r := range a.all() {
		if r.Conviction == nil {
			continue
		}
		c := *r.Conviction
		if c.Command = command; len(a.Levels) > 1 {
			c.Command += fmt.Sprintf(" --level '%s'", r.Level)
		}
		c.With(a.alone())
		all = append(append(all, report.Statements(r.Evidence)...), c.Table())
	}
	return all
}

func (a *Advice) alone() report.Cause {
	if a.Alone != nil && a.Alone.Verdict == check.Valid {
		return report.CauseScript(a.Alone.Committed)
	}
	return report.CauseScript(0)
}

// picture shows two transactions as lanes. Time goes down.
func picture(level string, m *script.Meeting) report.Table {
	t := report.Table{Title: fmt.Sprintf("%s at %s, the first of %s", m.Anomaly, level, check.Counted(m.Count, "pair", "pairs")), Words: []int{1}, Whole: true}
	for i, name := range m.Names {
		t.Head = append(t.Head, fmt.Sprintf("T%d: %s, client %d", i+1, name, m.Clients[i]))
	}
	for _, moment := range m.Moments {
		for i, line := range folded(moment.Text, laneWidth) {
			if i > 0 {
				line = "  " + line
			}
			cells := []string{"", ""}
			cells[moment.Of] = line
			t.Rows = append(t.Rows, cells)
		}
	}
	return t
}

// folded breaks a text into lines of a width. All but the first leave room for an indent.
func folded(text string, width int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width-2 {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return append(lines, line)
}

// dangers are what the statements allow, each with its levels.
func (a *Advice) dangers() (all []string) {
	var texts []string
	levels := map[string][]string{}
	add := func(text, level string) {
		if !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
		levels[text] = append(levels[text], level)
	}
	for _, r := range a.all() {
		for _, d := range r.Look.Dangers {
			if r.Change == "" {
				add(d.Text, r.Level)
			}
		}
		if r.Look.Unclear != "" {
			add(r.Look.Unclear, r.name())
		}
	}
	for _, text := range texts[:min(len(texts), mostDangers)] {
		all = append(all, "by the statements, at "+strings.Join(levels[text], ", and at ")+": "+text)
	}
	return all
}

const mostDangers = 8

// doubts say which figures are invalid.
func (a *Advice) doubts() (all []string) {
	invalid, of, why := 0, 0, ""
	for _, r := range a.all() {
		invalid, of = invalid+r.Invalid, of+a.Repeats
		if why == "" {
			why = r.Reason
		}
	}
	for _, r := range a.all() {
		if r.Problem == "" && r.Throughput.PerSecond == 0 {
			all = append(all, r.name()+": no transaction committed while the figures were measured; all were refused, failed, or waited for locks")
		}
	}
	if invalid > 0 {
		all = append(all, fmt.Sprintf("the figures of %d of %d runs are INVALID and not to be believed, such as for this: %s", invalid, of, why))
	}
	return all
}

// answer is the surest level or change, and what the level in use loses.
func (a *Advice) answer() string {
	rows := a.all()
	text := a.none()
	text = strings.ToUpper(text[:1]) + text[1:] + "."
	if len(a.Right) > 0 { // the surest first
		r := &rows[a.Right[0]]
		text = fmt.Sprintf("Use %s: it kept what must hold in %s, at %s a second.", r.name(), check.Counted(r.Committed, "transaction", "transactions"), quantity.Figure(r.Throughput.PerSecond))
	}
	for _, r := range a.Levels {
		if strings.EqualFold(r.Level, a.InUse) && r.Verdict == check.Violated {
			text += " The level in use, " + r.Level + ", did not: " + strings.TrimPrefix(r.held(), "✗ ") + "."
		}
	}
	return text
}

// none says that no row is right: what went wrong is told apart from what is not known.
func (a *Advice) none() string {
	rows, unknown, problem := a.all(), 0, ""
	for _, r := range rows {
		if r.Verdict != check.Violated {
			unknown++
			problem = cmp.Or(problem, r.Problem)
		}
	}
	switch unknown {
	case 0:
		return "no level and no change kept what must hold"
	case len(rows):
		return "nothing is known of any level: " + strings.TrimSuffix(cmp.Or(problem, "no run had a verdict; declare what must hold"), ".")
	}
	are := "are"
	if unknown == 1 {
		are = "is"
	}
	return fmt.Sprintf("no level and no change was seen to keep what must hold; %d %s not known", unknown, are)
}

func (a *Advice) verdicts() (all []report.DocumentVerdict) {
	rows := a.all()
	for _, r := range a.Levels {
		if r.Verdict == check.Violated && strings.EqualFold(r.Level, a.InUse) {
			all = append(all, report.DocumentVerdict{Text: "at " + r.Level + ", the level in use: " + r.held() + ": " + r.Found, Verdict: check.Violated})
		}
	}
	for _, r := range rows {
		if r.PromiseBroken {
			all = append(all, report.DocumentVerdict{Text: r.name() + ": the database broke what it promises (" + r.Model + "): " + r.Found + often(r.Conviction), Verdict: check.Violated})
		}
	}
	if len(a.Right) == 0 {
		v := report.DocumentVerdict{Text: a.none()}
		if !slices.ContainsFunc(rows, func(r Row) bool { return r.Verdict != check.Violated }) {
			v.Verdict = check.Violated
		}
		return append(all, v)
	}
	for _, i := range a.Right {
		r := &rows[i]
		text := fmt.Sprintf("%s: kept in %s, %s a second", r.name(), check.Counted(r.Committed, "transaction", "transactions"), quantity.Figure(r.Throughput.PerSecond))
		if r.Look.Robust != nil && *r.Look.Robust && !strings.Contains(r.Model, "serializable") {
			text += "; by its statements it cannot go wrong at this level"
		}
		if len(r.Look.Dangers) > 0 {
			text += "; its statements do not rule out a " + r.Look.Dangers[0].Anomaly + ", and these runs did not show it to break anything"
		} else if r.Look.Robust != nil && !*r.Look.Robust {
			text += "; its statements may conflict; this level rules none of that out for certain, and in these runs it broke nothing"
		}
		all = append(all, report.DocumentVerdict{Text: text, Verdict: check.Valid})
	}
	return all
}

func often(c *report.Conviction) string {
	if c == nil || c.Chance == nil {
		return ""
	}
	return "; " + c.Chance.String()
}

// Verdict is violated if the database broke a promise, valid if a row was right, otherwise unknown.
func (a *Advice) Verdict() check.Verdict {
	for _, r := range a.all() {
		if r.PromiseBroken && (a.Alone == nil || a.Alone.Verdict != check.Violated) {
			return check.Violated
		}
	}
	if len(a.Right) == 0 {
		return check.Unknown
	}
	return check.Valid
}
