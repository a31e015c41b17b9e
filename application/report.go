package application

import (
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/application/wire"
	"assay/check"
	"assay/report"
)

// Report is what a plan came to.
type Report struct {
	Command  []string `json:"command"`
	Product  string   `json:"product"`
	Database string   `json:"database"`
	Seed     uint64   `json:"seed"`
	Patience float64  `json:"patience_seconds"`
	// Limit is how long a run may take at an event that takes no time itself.
	Limit     float64       `json:"time_limit_seconds"`
	Ends      check.Verdict `json:"verdict"`
	Rules     []string      `json:"invariants"`
	Untouched Untouched     `json:"untouched"`
	// Possible is how many events there are.
	Possible int      `json:"events"`
	Tries    []Try    `json:"tries"`
	Notes    []string `json:"notes"`
	Again    string   `json:"again"`

	own string // assay's part of Again
}

// again is assay's part of the command line, and the whole, as they may be shown. Passwords are left out
// before words are quoted: by quotation marks within quotation marks no password could be told.
func (p Plan) again() (own, whole string) {
	own = report.CommandLine(redactedWords(p.Again))
	return own, own + " -- " + report.CommandLine(redactedWords(p.Command))
}

func (r *Report) finish() *Report {
	r.Ends = r.Verdict()
	return r
}

// Title names what was tried.
func (r *Report) Title() string {
	return title(r.Command) + " on " + r.Product
}

// title is a command without the folders of its files.
func title(command []string) string {
	words := slices.Clone(command)
	for i, w := range words {
		if !strings.ContainsAny(w, " \n:") {
			words[i] = path.Base(w)
		}
	}
	return short(strings.Join(strings.Fields(strings.Join(words, " ")), " "), 40)
}

// outcome are the tries that ended alike.
type outcome struct {
	happened string
	verdict  check.Verdict
	tries    []Try
}

// outcomes groups the tries, the gravest first.
func (r *Report) outcomes() (all []outcome) {
	for _, v := range []check.Verdict{check.Violated, check.Unknown, check.Allowed, check.Valid} {
		for _, happened := range []string{Lost, Twice, Broke, Hung, LeftOut, Crashed, NotKnown, Retried, Survived} {
			o := outcome{happened: happened, verdict: v}
			for i, t := range r.Tries {
				if t.Happens == happened && t.Verdict == v && (i > 0 || v != check.Valid) {
					o.tries = append(o.tries, t)
				}
			}
			if len(o.tries) > 0 {
				all = append(all, o)
			}
		}
	}
	return all
}

func (o outcome) line() string { return fmt.Sprintf("%-13s %s", o.happened, o.text()) }

func (o outcome) text() string {
	first := o.tries[0]
	detail := strings.Join(strings.Fields(first.Detail), " ") // which may have several lines
	runs := check.Counted(len(o.tries), "run", "runs")
	switch {
	case first.Event == "" && first.Detail != "":
		return detail
	case o.verdict == check.Valid || first.Event == "":
		return runs
	}
	return fmt.Sprintf("%s, such as %s: %s", runs, first.Event, detail)
}

func mark(v check.Verdict) string {
	return map[check.Verdict]string{check.Valid: "✓", check.Violated: "✗", check.Allowed: "!", check.Unknown: "?"}[v]
}

// Lines are the summary for the terminal: at most twelve, folded but for the command, which is to be copied.
// page is empty where there is none.
func (r *Report) Lines(w io.Writer, page string) error {
	u := r.Untouched
	lines := []string{
		report.Folded("", fmt.Sprintf("%s · %s · seed %d", r.Title(), check.Counted(len(r.Tries)-1, "event", "events"), r.Seed)), "",
		report.Folded("untouched       ", fmt.Sprintf("%s (%s committed), %s, %s, %.1f\u00a0s", check.Counted(u.Transactions, "transaction", "transactions"), check.Count(int64(u.Committed)),
			check.Counted(u.Statements, "statement", "statements"), check.Counted(u.Connections, "connection", "connections"), u.Seconds)),
	}
	for _, o := range r.outcomes() {
		if len(lines) < 8 {
			lines = append(lines, report.Folded(fmt.Sprintf("%s %-13s ", mark(o.verdict), o.happened), short(o.text(), mostText)))
		}
	}
	if len(u.Habits) > 0 {
		lines = append(lines, report.Folded("habit           ", u.Habits[0].line()))
	}
	if gravest := r.gravest(); gravest != nil {
		lines = append(lines, report.Folded("at              ", short(strings.Join(gravest.Place, "; "), 64)), "again           "+r.again(*gravest))
	}
	return writeLines(w, lines, page)
}

// mostText is how much of one text a summary has.
const mostText = 250

// writeLines writes a summary, which ends by where the page is, if it is anywhere.
func writeLines(w io.Writer, lines []string, page string) error {
	if page != "" {
		lines = append(lines, "report          "+page)
	}
	_, err := io.WriteString(w, strings.Join(lines, "\n")+"\n")
	return err
}

// gravest is the gravest try of an event; nil if all went well.
func (r *Report) gravest() *Try {
	for _, o := range r.outcomes() {
		if o.verdict != check.Valid && o.tries[0].Event != "" {
			return &o.tries[0]
		}
	}
	return nil
}

// again repeats one event: --event goes before the application's command.
func (r *Report) again(t Try) string {
	one := "--event " + t.Event
	if t.Action == "" {
		one = report.CommandLine([]string{"--fault", t.Event})
	}
	return r.own + " " + one + strings.TrimPrefix(r.Again, r.own)
}

// Document is the page.
func (r *Report) Document() report.Document {
	d := report.Document{Title: "What " + r.Title() + " does when its database fails", Command: r.Again, Notes: r.Notes}
	for _, o := range r.outcomes() {
		d.Verdicts = append(d.Verdicts, report.DocumentVerdict{Text: o.line(), Verdict: o.verdict})
	}
	events := report.Table{Title: "Events", Head: []string{"event", "at", "what happened", "what the application did next", "more", "log"}, Words: []int{1, 2, 3, 4, 5}}
	for _, t := range r.Tries {
		name := t.Event
		if name == "" {
			name = "untouched"
		}
		events.Rows = append(events.Rows, []string{name, short(strings.Join(t.Place, "; "), 300), mark(t.Verdict) + " " + t.Happens, t.Next, t.Detail, t.Log})
	}
	d.Tables = append(d.Tables, events)
	for _, t := range r.Tries {
		if len(t.Twice) > 0 {
			d.Tables = append(d.Tables, transactions("Done twice at "+t.Event, t.Twice))
		}
		if len(t.Lost) > 0 {
			d.Tables = append(d.Tables, transactions("Lost at "+t.Event, t.Lost[max(0, len(t.Lost)-mostShown):]))
		}
	}
	u := r.Untouched
	own := report.Table{Title: "Untouched", Head: []string{"", ""}, Words: []int{1}, Rows: [][]string{
		{"transactions", fmt.Sprintf("%d, of which %d were committed", u.Transactions, u.Committed)},
		{"statements", fmt.Sprint(u.Statements)}, {"connections", fmt.Sprint(u.Connections)},
		{"the application ran", fmt.Sprintf("%.2f s", u.Seconds)}, {"statements were under way", fmt.Sprintf("%.2f s", u.Database)},
		{"transactions waited for the application", fmt.Sprintf("%.2f s", u.Idle)},
		{"at an event it counts as hung after", fmt.Sprintf("%.0f s", r.Limit)},
	}}
	d.Tables = append(d.Tables, own)
	if len(u.Habits) > 0 {
		habits := report.Table{Title: "Habits", Head: []string{"statement", "habit", "times", "more"}, Words: []int{1, 3}}
		for _, h := range u.Habits {
			habits.Rows = append(habits.Rows, []string{short(h.Statement, 300), h.Kind, fmt.Sprint(h.Times), h.Detail})
		}
		d.Tables = append(d.Tables, habits)
	}
	if last := r.Tries[len(r.Tries)-1]; last.Event != "" {
		d.Notes = append(d.Notes, "one event again: "+r.again(last))
	}
	return d
}

// mostShown is how many lost transactions a page shows.
const mostShown = 20

// transactions shows what transactions changed.
func transactions(title string, all []*wire.Transaction) report.Table {
	table := report.Table{Title: title, Head: []string{"statement", "values", "connection", "ended at"}, Words: []int{1, 2}}
	for _, x := range all {
		for _, s := range x.Statements {
			if s.Writes {
				table.Rows = append(table.Rows, []string{short(s.Shape, 200), short(strings.Join(s.Values, ", "), 200), strconv.Itoa(x.Connection),
					x.Ended.Round(time.Millisecond).String()})
			}
		}
	}
	return table
}
