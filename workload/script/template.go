package script

import (
	"fmt"
	"slices"

	"assay/check/robustness"
	"assay/workload/script/access"
)

// template is a sequence of statements as package robustness takes it, as it is kept in the
// state.
type template struct {
	Transaction string                 `json:"transaction"`
	Operations  []robustness.Operation `json:"operations"`
	// Statements are the texts to whose numbers the operations point.
	Statements []string `json:"statements"`
	// Unclear is why it cannot be told what it reads and writes; empty if it can.
	Unclear string `json:"unclear,omitempty"`
	Count   int64  `json:"count"`
}

// footprint is what a statement reads and writes; known is false if that cannot be told.
type footprint struct {
	all   []access.Access
	known bool
}

// shape is a text that is the same for statements that differ in values alone.
func (s *Statement) shape() string {
	if s.Command != nil {
		return s.Command.shape()
	}
	return s.Text
}

// footprint is what a statement reads and writes. Of a text it is found once; setup is over
// by then.
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

// template is the sequence of an attempt.
func (w *watch) template(c *call, transaction int) template {
	t := template{Transaction: w.program.transactions[transaction].name}
	if m := &w.program.mend; m.First != "" && slices.Contains(m.Transactions, t.Transaction) {
		t.Unclear = t.Transaction + " is at another level than the others"
	}
	var rows rowNames
	for i := range c.steps {
		s := &c.steps[i]
		t.Statements = append(t.Statements, s.statement.shape())
		f := w.footprint(&s.statement)
		if !f.known && t.Unclear == "" {
			t.Unclear = fmt.Sprintf("what %q of %s reads and writes is not understood", shortened(s.statement.shape()), t.Transaction)
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

// operationsOf are the operations of an access that found so many rows, -1 if that is not
// known.
func operationsOf(a *access.Access, key string, rows int64, statement int) []robustness.Operation {
	op := robustness.Operation{Relation: a.Table, Key: key, Statement: statement}
	plain := op
	plain.Reads = append(slices.Concat(a.Condition, a.Reads), robustness.Row)
	op.Writes, op.Locks = a.Writes, true
	op.Reads = slices.Concat(a.Condition, a.Reads)
	selected := op // the rows that a condition selects are looked for, and then locked
	selected.Reads = append(slices.Clone(a.Condition), robustness.Row)
	selected.Writes, selected.Locks, selected.Key = nil, false, ""
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

// shortened is a text in one line, of bounded length.
func shortened(text string) string {
	s := Statement{Text: text}.String()
	return s[1 : len(s)-1]
}
