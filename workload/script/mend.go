package script

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"assay/workload/script/access"
)

// Mend is a change of what the transactions of a script send, or of its tables, which is
// made where statements are sent. The zero value changes nothing.
type Mend struct {
	// ForUpdate are queries to which FOR UPDATE is appended.
	ForUpdate []string `yaml:"for_update,omitempty" json:"for_update,omitempty"`
	// Difference are updates that set a column to a parameter. Where the transaction has
	// read that column of the row before, they add what the parameter differs by from what
	// was read.
	Difference []string `yaml:"difference,omitempty" json:"difference,omitempty"`
	// WriteFirst are finds of documents before which what they select is written to, so that
	// another transaction that writes to it, or writes first too, is refused.
	WriteFirst []string `yaml:"write_first,omitempty" json:"write_first,omitempty"`
	// First is a statement that each of some transactions begins with.
	First        string   `yaml:"first,omitempty" json:"first,omitempty"`
	Transactions []string `yaml:"transactions,omitempty" json:"transactions,omitempty"`
	// Setup are statements that are done behind setup.
	Setup []string `yaml:"setup,omitempty" json:"setup,omitempty"`
}

// mended is a statement as it is to be sent.
func (c *call) mended(s Statement) (Statement, error) {
	m := &c.program.mend
	text := s.Text
	switch {
	case s.Command != nil:
		return s, nil
	case slices.Contains(m.ForUpdate, s.Text):
		text += " FOR UPDATE"
	case slices.Contains(m.Difference, s.Text):
		text, s.Parameters = c.difference(&s)
	}
	if text == s.Text {
		return s, nil
	}
	of, err := c.program.statements.inTransaction(text, len(s.Parameters))
	if err == nil {
		s.Text, s.of = of.text, of
	}
	return s, err
}

// difference is an update that adds to a column that was read, in place of setting it.
func (c *call) difference(s *Statement) (text string, parameters []any) {
	if c.watch == nil {
		return s.Text, s.Parameters
	}
	text, parameters = s.Text, slices.Clone(s.Parameters)
	for _, a := range c.watch.accesses(s) {
		for column, w := range a.Sets {
			n, _ := strconv.Atoi(w.Text)
			old, known := c.lastRead(&a, column, s.Parameters)
			value, whole := s.Parameters[n-1].(int64)
			if !known || !whole || strings.Count(text, "$"+w.Text) != 1 {
				continue
			}
			text = strings.Replace(text, "$"+w.Text, column+" + $"+w.Text, 1)
			parameters[n-1] = value - old
		}
	}
	return text, parameters
}

// lastRead is what the attempt has read last of a column of a row.
func (c *call) lastRead(of *access.Access, column string, parameters []any) (value int64, known bool) {
	if of.Key == nil {
		return 0, false
	}
	row := rowKey(of, parameters)
	for _, step := range slices.Backward(c.steps) {
		for _, a := range c.watch.accesses(&step.statement) {
			if a.Verb != access.Read || a.Only != column || a.Key == nil || rowKey(&a, step.statement.Parameters) != row {
				continue
			}
			value, known = step.first.(int64)
			return value, known
		}
	}
	return 0, false
}

// begins reports whether a transaction begins with First.
func (m *Mend) begins(transaction string) bool {
	return m.First != "" && slices.Contains(m.Transactions, transaction)
}

// begin sends what the mend has a transaction begin with.
func (c *call) begin(ctx context.Context, tx Transaction) error {
	m := &c.program.mend
	if !m.begins(c.transaction.name) {
		return nil
	}
	_, err := tx.Execute(ctx, Statement{Text: m.First})
	return err
}
