package sqldb

import (
	"context"

	"assay/history"
	"assay/workload"
	"assay/workload/journal"
)

// journalStore is what the Stores of workloads with a journal have in common.
type journalStore struct {
	Database
	tables []journal.Table
	// text is the column of text that a table has beside its integers, by the table's
	// number, and what stands in it.
	text map[int]textColumn
}

type textColumn struct {
	name string
	of   func(values []int64) string
}

func (s *journalStore) LoadRows(ctx context.Context, table int, rows [][]int64) error {
	columns, text := s.tables[table].Columns, s.text[table]
	if text.of != nil {
		columns = append(columns[:len(columns):len(columns)], text.name)
	}
	return s.Load(ctx, Rows{Table: s.tables[table].Name, Columns: columns, Count: len(rows), Row: func(i int, into []Value) []Value {
		for _, n := range rows[i] {
			into = append(into, OfInt(n))
		}
		if text.of != nil {
			into = append(into, OfText(text.of(rows[i])))
		}
		return into
	}})
}

func (s *journalStore) Read(ctx context.Context, row func(journal.Row) error) error {
	queries := make([]query, len(s.tables))
	for number, t := range s.tables {
		values := make([]int64, len(t.Columns))
		into := make([]any, len(values))
		for i := range values {
			into[i] = &values[i]
		}
		queries[number] = whole(s.Dialect(), t.Columns, t.Name, "", func(found Row) error {
			if err := found.Scan(into...); err != nil {
				return err
			}
			return given(row(journal.Row{Table: number, Values: values}))
		})
	}
	return view(ctx, s.View, queries...)
}

// integers are columns of integers by their names.
func integers(names []string) (columns []Column) {
	for _, name := range names {
		columns = append(columns, Column{Name: name})
	}
	return columns
}

// ofInts are parameters of integers.
func ofInts(numbers ...int64) []Value {
	values := make([]Value, len(numbers))
	for i, n := range numbers {
		values[i] = OfInt(n)
	}
	return values
}

// refusedBy completes a reply: a key of the journal that is there already is a duplicate,
// and a balance that must not be below zero a rejection of this class.
func refusedBy(r Reply, overdrawn string) workload.Reply {
	if r.Violated == Check {
		r.Outcome, r.Class = history.Rejected, overdrawn
	}
	return r.Inserted()
}
