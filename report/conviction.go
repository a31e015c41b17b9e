package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"assay/check"
	"assay/measure"
)

// Conviction supports the claim of a broken promise. The checks' evidence has the transactions.
type Conviction struct {
	Database string `json:"database"`
	// Asked is the isolation level that assay asked for, InForce the server's answer, or empty.
	Asked   string `json:"level_asked,omitempty"`
	InForce string `json:"level_in_force,omitempty"`
	Promise string `json:"promise"`
	Manual  string `json:"manual,omitempty"`
	// Causes are other possible explanations.
	Causes []Cause `json:"causes"`
	// Command reproduces it, with this Chance.
	Command string  `json:"command,omitempty"`
	Chance  *Chance `json:"chance,omitempty"`
}

// Cause is another possible explanation of a finding.
type Cause struct {
	Name string `json:"name"`
	// Detail says why the cause is ruled out, or why that is unknown.
	RuledOut bool   `json:"ruled_out"`
	Detail   string `json:"detail"`
}

const causeScript = "the script itself"

// CauseScript says that a single client kept a script's declarations over this many transactions;
// 0 does not rule the script out.
func CauseScript(alone int64) Cause {
	if alone == 0 {
		return Cause{Name: causeScript, Detail: "no run of one client alone came to an end"}
	}
	return Cause{Name: causeScript, RuledOut: true, Detail: "one client alone kept what must hold in " + check.Counted(alone, "transaction", "transactions")}
}

// With replaces the cause of the same name.
func (c *Conviction) With(cause Cause) {
	c.Causes = append(slices.DeleteFunc(slices.Clone(c.Causes), func(x Cause) bool { return x.Name == cause.Name }), cause)
}

// Chance is the share of runs that showed something.
type Chance struct {
	Shown int     `json:"shown"`
	Runs  int     `json:"runs"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// ChanceOf computes the share with its interval.
func ChanceOf(shown, runs int) *Chance {
	i := measure.OfTries(shown, runs)
	return &Chance{Shown: shown, Runs: runs, Low: i.Low, High: i.High}
}

func (c *Chance) String() string {
	return fmt.Sprintf("shown in %d of %s (95 %%: %.3g to %.3g %%)", c.Shown, check.Counted(int64(c.Runs), "run", "runs"), 100*c.Low, 100*c.High)
}

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

// Table has one column, the conviction in words.
func (c *Conviction) Table() Table {
	t := Table{Title: "Why this is believed", Head: []string{"what speaks for it"}}
	for _, line := range c.lines() {
		t.Rows = append(t.Rows, []string{line})
	}
	return t
}

const mostConvictions = 3

// Statements lists the transactions' statements in up to three pieces of evidence, by time.
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

// Noted reports whether an operation has statements and no steps in words.
func Noted(x *check.Excerpt) bool {
	return slices.ContainsFunc(x.Operations, func(o check.Operation) bool { return len(o.Statements) > 0 && len(o.Steps) == 0 })
}

func whoDid(o *check.Operation) string {
	return fmt.Sprintf(" (%sclient %d, operation %d%s)", when(o.Transaction != "", o.Transaction+", "), o.Process, o.ID,
		when(o.Attempt > 0, fmt.Sprintf(", attempt %d", o.Attempt)))
}

func (t *textWriter) conviction(r *Result) {
	if r.Conviction == nil {
		return
	}
	for _, table := range Statements(r.Checks) {
		t.gap()
		t.line(table.Title)
		t.table(table)
	}
	t.believed(r.Conviction)
}

func (t *textWriter) believed(c *Conviction) {
	t.gap()
	t.line("why this is believed")
	for _, line := range c.lines() {
		t.block("- ", "", line)
	}
}

func convictionTables(r *Result) []Table {
	if r.Conviction == nil {
		return nil
	}
	return append(Statements(r.Checks), r.Conviction.Table())
}
