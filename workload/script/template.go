package script

import (
	"fmt"
	"path/filepath"
	"slices"

	"assay/check/robustness"
	"assay/workload/script/access"
)

// template is a sequence of statements for package robustness.
type template struct {
	Transaction string `json:"transaction"`
	// Line is where it begins in a script of several transactions, otherwise 0.
	Line int `json:"line,omitempty"`
	// Alone is true for a statement outside BEGIN and COMMIT; Fixed if a mend cannot change it.
	Alone      bool                   `json:"alone,omitempty"`
	Fixed      bool                   `json:"fixed,omitempty"`
	Operations []robustness.Operation `json:"operations"`
	// Operations refer to Statements by index.
	Statements []string `json:"statements"`
	// Unclear says why its reads and writes cannot be told; empty if they can.
	Unclear string `json:"unclear,omitempty"`
	Count   int64  `json:"count"`
}

// name is unique among all scripts.
func (t *template) name() string { return partName(t.Transaction, t.Line) }

func partName(transaction string, line int) string {
	if line == 0 {
		return transaction
	}
	return fmt.Sprintf("%s (line %d)", transaction, line)
}

// footprint is a statement's reads and writes; known is false if they cannot be told.
type footprint struct {
	all   []access.Access
	known bool
}

// shape is equal for statements that differ in values alone.
func (s *Statement) shape() string {
	if s.Command != nil {
		return s.Command.shape()
	}
	return s.Text
}

// footprint computes a text's footprint once, after setup.
func (w *watch) footprint(s *Statement) footprint {
	if s.Command != nil {
		all, known := s.Command.accesses()
		return footprint{all, known}
	}
	if s.of == nil {
		return footprint{}
	}
	if f := s.of.footprint.Load(); f != nil {
		return *f
	}
	f := footprint{}
	f.all, f.known = w.program.catalog.Of(wordsIn(s.Text))
	s.of.footprint.Store(&f)
	return f
}

func (w *watch) accesses(s *Statement) []access.Access { return w.footprint(s).all }

func (w *watch) template(p *part, transaction int) template {
	of := &w.program.transactions[transaction]
	t := template{Transaction: of.name, Line: p.line, Alone: p.alone, Fixed: p.fixed, Unclear: p.unclear}
	if m := &w.program.mend; t.Unclear == "" && m.begins(t.name()) {
		t.Unclear = t.name() + " is at another level than the others, and of several levels at once nothing is worked out"
	}
	var rows rowNames
	for i := range p.steps {
		s := &p.steps[i]
		t.Statements = append(t.Statements, s.statement.shape())
		f := w.footprint(&s.statement)
		if !f.known && t.Unclear == "" {
			t.Unclear = w.notUnderstood(of, s)
		}
		for _, a := range f.all {
			key := ""
			if n := rows.number(&a, s.statement.Parameters); n >= 0 {
				key = fmt.Sprintf("row %d", n+1)
			}
			t.Operations = append(t.Operations, operationsOf(&a, key, s.rows, i)...)
		}
	}
	return t
}

// notUnderstood says why a statement's reads and writes cannot be told, and where it is.
func (w *watch) notUnderstood(of *transaction, s *step) string {
	text := fmt.Sprintf("what %q of %s reads and writes is not understood", shortened(s.statement.shape()), of.name)
	if s.statement.Command == nil {
		text += ": " + w.program.catalog.Why(wordsIn(s.statement.Text))
	}
	if s.line > 0 {
		text += fmt.Sprintf(" (%s, line %d)", filepath.Base(w.program.pathOf(of)), s.line)
	}
	return text
}

func (p *program) pathOf(of *transaction) string {
	if of.texts != nil {
		return of.texts.path
	}
	return p.path
}

// operationsOf are an access's operations; rows is the number found, -1 if unknown.
func operationsOf(a *access.Access, key string, rows int64, statement int) []robustness.Operation {
	op := robustness.Operation{Relation: a.Table, Key: key, Statement: statement}
	plain := op
	plain.Reads = append(slices.Concat(a.Condition, a.Reads), robustness.Row)
	op.Writes, op.Locks, op.Adds = a.Writes, true, a.Adds
	op.Reads = slices.Concat(a.Condition, a.Reads)
	selected := op // the rows that a condition selects are looked for, and then locked
	selected.Reads = append(slices.Clone(a.Condition), robustness.Row)
	selected.Writes, selected.Locks, selected.Key, selected.Adds = nil, false, "", false
	switch {
	case a.Verb == access.Insert:
		op.Reads = nil
		return []robustness.Operation{op}
	case !a.Locks && len(a.Writes) == 0, rows == 0:
		return []robustness.Operation{plain}
	case rows < 0: // found or not
		op.Key = ""
		return []robustness.Operation{selected, op}
	case key == "":
		return []robustness.Operation{selected, op}
	}
	return []robustness.Operation{op}
}

// shortened is a text in one line of bounded length.
func shortened(text string) string {
	s := Statement{Text: text}.String()
	return s[1 : len(s)-1]
}
