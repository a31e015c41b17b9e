// Package journal is what workloads have in common whose operations each leave one row
// in a table, the journal, under the operation's id: their tables hold integers, their
// state is read back row by row, and of each operation it is known what it would write.
// The package makes the attempts under one id, keeps the state, and
// judges that every acknowledged operation has exactly one row, every failed one none,
// and every unknown one none or one.
//
// What the rows say of balances is judged by each workload.
//
// It must not know any driver.
package journal

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"assay/history"
	"assay/load"
	"assay/store"
	"assay/workload"
	"assay/workload/definition"
)

// Table is one of a workload's tables: its columns of integers, the key first.
type Table struct {
	Name    string
	Columns []string
	// Also are further columns, which stand in a Row behind these, a text as its workload.Sum.
	// A state that an earlier version has saved is without them.
	Also []store.Column
	// Order are the columns by which the rows are read back; none for any order.
	Order []string
}

// Names are all columns, in the order of a Row.
func (t *Table) Names() []string {
	names := slices.Clone(t.Columns)
	for _, c := range t.Also {
		names = append(names, c.Name)
	}
	return names
}

// Row is one row of a table, in the order of its Names. Values are good until the
// callback that gets the row returns.
type Row struct {
	// Table is the table's number in the list of the workload's tables.
	Table  int
	Values []int64
}

// State is how the rows of a workload's tables are read back and kept after the run. A
// row's kind is the number of its table.
type State struct {
	// File is its name in the run's folder.
	File   string
	Tables []Table
	// RowFile is its form; Columns follow from Tables. Former is the Magic of states without
	// what tables have Also; empty if there are none.
	definition.RowFile
	Former string
}

func (s State) rows() definition.RowFile {
	f := s.RowFile
	for i := range s.Tables {
		f.Columns = append(f.Columns, len(s.Tables[i].Names()))
	}
	return f
}

// former is the form of a state that an earlier version has saved.
func (s State) former() definition.RowFile {
	f := s.RowFile
	f.Magic = s.Former
	for _, table := range s.Tables {
		f.Columns = append(f.Columns, len(table.Columns))
	}
	return f
}

// From gives all rows that a view of the database shows, a table after the other, as the
// database holds them, however wrong. It stops at the first error, of the database's or of
// the callback's, and returns it.
func (s State) From(view func(context.Context, func(store.Reader) error) error) func(context.Context, func(Row) error) error {
	return func(ctx context.Context, row func(Row) error) error {
		return store.ReadAll(ctx, view, func(r store.Reader) error {
			for number, t := range s.Tables {
				names := t.Names()
				values, texts := make([]int64, len(names)), make([]string, len(t.Also))
				into := make([]any, len(values))
				for i := range values {
					into[i] = &values[i]
				}
				for i, c := range t.Also {
					if c.Type != store.Integer {
						into[len(t.Columns)+i] = &texts[i]
					}
				}
				err := store.Whole(ctx, r, store.Statement{Table: t.Name, Columns: names, Order: t.Order}, func(found store.Row) error {
					if err := found.Scan(into...); err != nil {
						return err
					}
					for i, c := range t.Also {
						if c.Type != store.Integer {
							values[len(t.Columns)+i] = workload.Sum(texts[i])
						}
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
}

// Save writes what read gives into a new file; see definition.RowFile.Save.
func (s State) Save(ctx context.Context, path string, read func(context.Context, func(Row) error) error, progress func(rows int64)) error {
	return s.rows().Save(path, progress, func(w *definition.RowWriter) error {
		return read(ctx, func(r Row) error { return w.Put(r.Table, r.Values...) })
	})
}

// Replay gives the rows that were saved; see definition.RowFile.Replay.
func (s State) Replay(path string, row func(Row) error) error {
	given := false
	give := func(table int, values []int64) error {
		given = true
		return row(Row{Table: table, Values: values})
	}
	err := s.rows().Replay(path, give)
	if other := (*history.FormatError)(nil); s.Former == "" || given || !errors.As(err, &other) {
		return err
	}
	if former := s.former().Replay(path, give); given || !errors.As(former, new(*history.FormatError)) {
		return former
	}
	return err
}

// Work is a definition.Work but for Promise, whose clients have sessions N.
type Work[N interface{ Close() }] struct {
	definition.Loaded
	definition.NoObservers
	State State
	// Session opens what one client uses.
	Session func(ctx context.Context) (N, error)
	// Kind is the kind of an operation, by its id.
	Kind func(id int64) uint8
	// Do makes one attempt of an operation. The values are those of history.Op, of an
	// attempt that was committed.
	Do func(ctx context.Context, session N, id int64) (reply store.Reply, values []int64)
}

// Client implements definition.Work.
func (w *Work[N]) Client(ctx context.Context, n int) (load.Client, error) {
	connection, err := store.Connect(ctx, w.Session)
	if err != nil {
		return nil, err
	}
	return &client[N]{Connection: connection, work: w, number: n}, nil
}

// Save implements definition.Work.
func (w *Work[N]) Save(ctx context.Context, folder string, read func(rows int64)) error {
	return w.State.Save(ctx, filepath.Join(folder, w.State.File), w.State.From(w.View), read)
}

// client is one client of the run. Its operations are those of its number.
type client[N interface{ Close() }] struct {
	store.Connection[N]
	work   *Work[N]
	number int
	// unsure is true if an earlier attempt of the operation is unknown.
	unsure bool
}

func (c *client[N]) Attempt(ctx context.Context, seq uint64, attempt int) load.Answer {
	if attempt == 1 {
		c.unsure = false
	}
	id := workload.OperationID(c.number, seq)
	session, err := c.Session(ctx)
	if err != nil {
		unsent := store.Unsent(err)
		return unsent.Answer(c.work.Kind(id))
	}
	reply, values := c.work.Do(ctx, session, id)
	answer := reply.Answer(c.work.Kind(id))
	if reply.Outcome == history.Committed {
		answer.Values = values
	}
	c.unsure = reply.Repeated(&answer, attempt, c.unsure)
	c.After(answer.Outcome, reply.Broken)
	return answer
}
