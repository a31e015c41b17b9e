package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"assay/check"
	"assay/measure"
)

// Conviction is what somebody needs who is to believe that a vendor's promise was broken. What
// the transactions did is in the evidence of the checks.
type Conviction struct {
	// Database is the product and its version.
	Database string `json:"database"`
	// Asked is the isolation level that assay asked for, and InForce what the server said;
	// empty where there are none, or nobody asked.
	Asked   string `json:"level_asked,omitempty"`
	InForce string `json:"level_in_force,omitempty"`
	// Promise is what is promised there, and Manual the page that says so.
	Promise string `json:"promise"`
	Manual  string `json:"manual,omitempty"`
	// Causes are what else could explain it.
	Causes []Cause `json:"causes"`
	// Command shows it again, in so many of the runs that were made.
	Command string  `json:"command,omitempty"`
	Chance  *Chance `json:"chance,omitempty"`
}

// Cause is something else that could explain a finding.
type Cause struct {
	Name string `json:"name"`
	// RuledOut is true if it does not, and Detail says why, or why that is not known.
	RuledOut bool   `json:"ruled_out"`
	Detail   string `json:"detail"`
}

// causeScript is the name of CauseScript.
const causeScript = "the script itself"

// CauseScript says that one client alone has kept what a script declares, in so many transactions;
// with none it is not ruled out.
func CauseScript(alone int64) Cause {
	if alone == 0 {
		return Cause{Name: causeScript, Detail: "no run of one client alone came to an end"}
	}
	return Cause{Name: causeScript, RuledOut: true, Detail: "one client alone kept what must hold in " + check.Counted(alone, "transaction", "transactions")}
}

// With has the cause in place of another one of its name.
func (c *Conviction) With(cause Cause) {
	c.Causes = append(slices.DeleteFunc(slices.Clone(c.Causes), func(x Cause) bool { return x.Name == cause.Name }), cause)
}

// Chance is in how many of the runs something was shown.
type Chance struct {
	Shown int `json:"shown"`
	Runs  int `json:"runs"`
	// Low and High are the interval of the share.
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// ChanceOf is the chance of so many runs.
func ChanceOf(shown, runs int) *Chance {
	i := measure.OfTries(shown, runs)
	return &Chance{Shown: shown, Runs: runs, Low: i.Low, High: i.High}
}

func (c *Chance) String() string {
	return fmt.Sprintf("shown in %d of %s (95 %%: %.3g to %.3g %%)", c.Shown, check.Counted(int64(c.Runs), "run", "runs"), 100*c.Low, 100*c.High)
}

// lines are the conviction in words.
func (c *Conviction) lines() (all []string) {
	all = append(all, "database: "+c.Database)
	switch {
	case c.InForce != "":
		all = append(all, fmt.Sprintf("level: assay asked for %s, the server answers that a transaction runs at %s", cmp.Or(c.Asked, "its default"), c.InForce))
	case c.Asked != "":
		all = append(all, "level: assay asked for "+c.Asked+"; the server was not asked at which it runs")
	}
	all = append(all, "promise: "+c.Promise+when(c.Manual != "", " ("+c.Manual+")"))
	for _, x := range c.Causes {
		all = append(all, when(x.RuledOut, "ruled out: ")+when(!x.RuledOut, "not ruled out: ")+x.Name+": "+x.Detail)
	}
	if c.Command != "" {
		all = append(all, "again: "+c.Command)
	}
	if c.Chance != nil {
		all = append(all, "how often: "+c.Chance.String())
	}
	return all
}

// Table is the conviction as a table of one column.
func (c *Conviction) Table() Table {
	t := Table{Title: "Why this is believed", Head: []string{"what speaks for it"}}
	for _, line := range c.lines() {
		t.Rows = append(t.Rows, []string{line})
	}
	return t
}

// mostConvictions bounds the pieces of evidence that are shown with all their statements.
const mostConvictions = 3

// Statements are what the transactions of evidence sent, each in the order of time; of at most
// three pieces.
func Statements(checks []check.Result) (all []Table) {
	for _, c := range checks {
		for _, e := range c.Evidence {
			if t := statementsOf(e); t.Rows != nil && len(all) < mostConvictions {
				t.Title = fmt.Sprintf("What the transactions did: %s, %s", c.Name, e.Kind)
				all = append(all, t)
			}
		}
	}
	return all
}

// statementsOf has a row for each statement of the smallest part that shows a finding.
func statementsOf(e check.Evidence) (t Table) {
	if e.Smallest == nil {
		return t
	}
	type sent struct {
		of *check.Operation
		check.Statement
	}
	var sents []sent
	for i := range e.Smallest.Operations {
		o := &e.Smallest.Operations[i]
		for _, s := range o.Statements {
			sents = append(sents, sent{o, s})
		}
	}
	slices.SortStableFunc(sents, func(a, b sent) int { return cmp.Compare(a.Sent, b.Sent) })
	if len(sents) == 0 {
		return t
	}
	first := sents[0].Sent
	moment := func(at int64) string {
		if at < 0 {
			return "with the next"
		}
		return fmt.Sprintf("%.3f ms", float64(at-first)/1e6)
	}
	t.Head = []string{"statement", "sent", "answered"}
	for _, s := range sents {
		text := s.of.Name + ": " + strings.TrimSpace(s.Text+" "+s.Answer)
		if s.Text == "BEGIN" {
			text += whoDid(s.of)
		}
		t.Rows = append(t.Rows, []string{text, moment(s.Sent), moment(s.Answered)})
	}
	return t
}

// Noted reports whether the statements of an excerpt were noted, and nothing in words.
func Noted(x *check.Excerpt) bool {
	return slices.ContainsFunc(x.Operations, func(o check.Operation) bool { return len(o.Statements) > 0 && len(o.Steps) == 0 })
}

// whoDid says who did a transaction.
func whoDid(o *check.Operation) string {
	return fmt.Sprintf(" (%sclient %d, operation %d%s)", when(o.Transaction != "", o.Transaction+", "), o.Process, o.ID,
		when(o.Attempt > 0, fmt.Sprintf(", attempt %d", o.Attempt)))
}

// conviction writes what was done and why it is believed.
func (t *textWriter) conviction(r *Result) {
	if r.Conviction == nil {
		return
	}
	for _, table := range Statements(r.Checks) {
		t.gap()
		t.line(bold, table.Title)
		t.table(table)
	}
	t.believed(r.Conviction)
}

func (t *textWriter) believed(c *Conviction) {
	t.gap()
	t.line(bold, "why this is believed")
	for _, line := range c.lines() {
		t.block(noColor, "- ", "", line)
	}
}

// convictionTables are the same for pages and Markdown.
func convictionTables(r *Result) []Table {
	if r.Conviction == nil {
		return nil
	}
	return append(Statements(r.Checks), r.Conviction.Table())
}
