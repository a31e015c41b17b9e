package script

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"assay/check/robustness"
	"assay/store"
	"assay/store/promise"
)

// levelOf returns the level of a promised model. With read committed as the promise, a level
// named repeatable read has snapshot reads and writes the newest rows.
func levelOf(model string, settings []store.Setting) robustness.Level {
	level := ""
	for _, s := range settings {
		if s.Name == "isolation" && level == "" || s.Name == "isolation in force" {
			level = strings.ToLower(s.Value)
		}
	}
	switch {
	case model == "read-uncommitted":
		return robustness.ReadUncommitted
	case model == "snapshot-reads", model == "read-committed" && strings.Contains(level, "repeatable"):
		return robustness.FixedReads
	case model == "read-committed":
		return robustness.ReadCommitted
	case model == "snapshot-isolation":
		return robustness.Snapshot
	case strings.Contains(model, "serializable"):
		return robustness.Serializable
	}
	return robustness.Unknown
}

// levelLook is the analysis of sent transactions at one isolation level.
type levelLook struct {
	templates []template
	// unclear says why nothing can be told; empty if it can.
	unclear string
	robust  bool
	dangers []robustness.Danger
}

func (p *program) files() (all []string) {
	for i := range p.transactions {
		if name := filepath.Base(p.pathOf(&p.transactions[i])); !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// lookAt analyses whether transactions are serializable at a level.
func lookAt(templates []template, overflown bool, level robustness.Level) levelLook {
	l := levelLook{templates: templates}
	set := make([]robustness.Template, len(templates))
	for i, t := range templates {
		set[i] = robustness.Template{Name: t.Transaction, Operations: t.Operations}
		if t.Unclear != "" && l.unclear == "" {
			l.unclear = t.Unclear
		}
	}
	switch {
	case level == robustness.Unknown:
		l.unclear = "nothing is known of the isolation level"
	case overflown:
		l.unclear = fmt.Sprintf("the transactions have sent more than %d different sequences of statements", maxSequences)
	case len(templates) == 0:
		l.unclear = "no statement was noted"
	}
	if l.unclear == "" {
		l.robust, l.dangers = robustness.Robust(set, level)
	}
	return l
}

func (l *levelLook) text(d robustness.Danger) string {
	left, over := &l.templates[d.Left], &l.templates[d.Over]
	statement := func(t *template, operation int) string {
		return strconv.Quote(shortened(t.Statements[t.Operations[operation].Statement]))
	}
	other := over.name()
	if left.name() == other {
		other = "another " + other
	}
	text := fmt.Sprintf("%s: %s of %s does not see what %s of %s writes", d.Anomaly, statement(left, d.Read), left.name(), statement(over, d.Written), other)
	if d.Returned != d.Read {
		text += ", and then comes " + statement(left, d.Returned)
	}
	return text
}

// permitted rules on findings: the level permits them, unless the statements make no anomaly
// possible.
func (j *judge) permitted(name string, c *promise.Circumstances) (r promise.Ruling, advice string) {
	settings := make([]store.Setting, len(c.Settings))
	for i, s := range c.Settings {
		settings[i] = store.Setting{Name: s.Name, Value: s.Value}
	}
	look := lookAt(j.state.Templates, j.state.Overflown, levelOf(c.Model, settings))
	isolation := cmp.Or(strings.ReplaceAll(c.Model, "-", " "), "isolation")
	r = c.OfLevel(promise.Invariant)
	try := fmt.Sprintf("; assay advise %s shows which isolation level, or which change of them, makes them right", strings.Join(j.program.files(), " "))
	if look.unclear == "" && !j.allNoted() {
		look.unclear = "not all that the transactions sent was noted"
	}
	if look.unclear != "" {
		return r, "whether the transactions ask too little of this isolation level cannot be told: " + look.unclear + try
	}
	if yes := true; look.robust {
		return promise.Ruling{Promised: &yes}, ""
	}
	for _, d := range look.dangers {
		if d.Two() && j.concerns(name, &look, d) {
			r.Source = fmt.Sprintf("%s, which does not rule out a %s,", isolation, d.Anomaly)
			return r, "the transactions ask too little of the database: " + look.text(d) + try
		}
	}
	return r, "whether the transactions ask too little of this isolation level cannot be told: no anomaly of two of them concerns what was found" + try
}

// allNoted reports whether templates cover every committed transaction.
func (j *judge) allNoted() bool {
	if len(j.state.Noted) != len(j.effects) {
		return false
	}
	for i, e := range j.effects {
		if j.state.Noted[i] < e.certain {
			return false
		}
	}
	return true
}

// concerns reports whether a danger can explain findings: its transactions write tables that
// violated invariants read, or had failed expectations.
func (j *judge) concerns(name string, l *levelLook, d robustness.Danger) bool {
	both := []*template{&l.templates[d.Left], &l.templates[d.Over]}
	if name == CheckExpected {
		return !slices.ContainsFunc(j.state.Findings, func(f finding) bool {
			return f.Check == name && !slices.ContainsFunc(both, func(t *template) bool { return t.Transaction == j.program.transactions[f.Index].name })
		})
	}
	var written []string
	for _, t := range both {
		for _, op := range t.Operations {
			if len(op.Writes) > 0 {
				written = append(written, op.Relation)
			}
		}
	}
	for i := range j.program.invariants {
		n := &j.program.invariants[i]
		broken := j.observed[i] > 0 || len(j.state.Invariants) > 0 && n.judge(j.state.Invariants[i]) != ""
		if broken && !slices.ContainsFunc(n.query.tables(), func(t string) bool { return slices.Contains(written, t) }) {
			return false
		}
	}
	return true
}

// tables are the names in a query, the tables' among them.
func (s *Statement) tables() (names []string) {
	if s.Command != nil {
		return append(joined(s.Command.Pipeline), s.Command.Collection)
	}
	for _, w := range wordsIn(s.Text) {
		names = append(names, strings.ToLower(w.Text))
	}
	return names
}
