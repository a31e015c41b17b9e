package journal

import (
	"context"

	"assay/store"
)

// Text is a column of text that a table has beside its integers, and what stands in it.
type Text struct {
	Name string
	Of   func(values []int64) string
}

// Database is a Store over a store.Database.
type Database[N Session] struct {
	store.Database
	Tables []Table
	// Texts are the columns of text, by the table's number.
	Texts map[int]Text
	// Statements are those of a session, and Open makes one.
	Statements []store.Statement
	Open       func(store.Session) N
}

func (d *Database[N]) LoadRows(ctx context.Context, table int, rows [][]int64) error {
	of, text := d.Tables[table], d.Texts[table]
	columns := of.Columns
	if text.Of != nil {
		columns = append(columns[:len(columns):len(columns)], text.Name)
	}
	return d.Load(ctx, store.Rows{Table: of.Name, Columns: columns, Count: len(rows), Row: func(i int, into []store.Value) []store.Value {
		for _, n := range rows[i] {
			into = append(into, store.OfInt(n))
		}
		if text.Of != nil {
			into = append(into, store.OfText(text.Of(rows[i])))
		}
		return into
	}})
}

func (d *Database[N]) Session(ctx context.Context) (n N, err error) {
	session, err := d.Database.Session(ctx, d.Statements)
	if err != nil {
		return n, err
	}
	return d.Open(session), nil
}

func (d *Database[N]) Read(ctx context.Context, row func(Row) error) error {
	return store.ReadAll(ctx, d.View, func(r store.Reader) error {
		for number, t := range d.Tables {
			values := make([]int64, len(t.Columns))
			into := make([]any, len(values))
			for i := range values {
				into[i] = &values[i]
			}
			err := store.Whole(ctx, r, store.Statement{Table: t.Name, Columns: t.Columns}, func(found store.Row) error {
				if err := found.Scan(into...); err != nil {
					return err
				}
				return row(Row{Table: number, Values: values})
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}
