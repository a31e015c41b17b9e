package script

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"assay/workload/script/access"
)

// Mend changes what a script's transactions send, or its tables. The zero value changes nothing.
type Mend struct {
	// ForUpdate are queries that get FOR UPDATE.
	ForUpdate []string `yaml:"for_update,omitempty" json:"for_update,omitempty"`
	// Difference are updates that set a column to a parameter. If the transaction read that
	// column before, they add the difference to the value read.
	Difference []string `yaml:"difference,omitempty" json:"difference,omitempty"`
	// WriteFirst are finds that first write to their documents, so that another writer is
	// refused.
	WriteFirst []string `yaml:"write_first,omitempty" json:"write_first,omitempty"`
	// First is a statement that begins each of the Transactions.
	First        string   `yaml:"first,omitempty" json:"first,omitempty"`
	Transactions []string `yaml:"transactions,omitempty" json:"transactions,omitempty"`
	// Setup are statements after setup.
	Setup []string `yaml:"setup,omitempty" json:"setup,omitempty"`
}

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

// difference is an update that adds to a column read before, instead of setting it.
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

// lastRead is the attempt's last read of a column of a row.
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

func (m *Mend) begins(transaction string) bool {
	return m.First != "" && slices.Contains(m.Transactions, transaction)
}

func (c *call) begin(ctx context.Context, tx Transaction) error {
	m := &c.program.mend
	if !m.begins(c.transaction.name) {
		return nil
	}
	_, err := tx.Execute(ctx, Statement{Text: m.First})
	return err
}
