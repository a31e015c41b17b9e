// Package journal is for workloads whose operations each leave one row in a table, the journal,
// under the operation's id. The package makes the attempts, saves the state, and judges that
// each acknowledged operation has exactly one row, each failed one none, and each unknown one at
// most one. Each workload judges balances itself.
//
// It must not know any driver.
package journal

import (
	"context"
	"path/filepath"
	"slices"

	"assay/history"
	"assay/load"
	"assay/store"
	"assay/workload"
	"assay/workload/definition"
)

// Table is a table with columns of integers, the key first.
type Table struct {
	Name    string
	Columns []string
	// Also are further columns, behind Columns in a Row; a text is kept as its workload.Sum.
	// States of earlier versions lack them.
	Also []store.Column
	// Order are the columns that order the rows as read back; none for any order.
	Order []string
}

// Names are all columns in the order of a Row.
func (t *Table) Names() []string {
	names := slices.Clone(t.Columns)
	for _, c := range t.Also {
		names = append(names, c.Name)
	}
	return names
}

// Row has values in the order of Names, valid until the callback returns.
type Row struct {
	// Table is an index into the workload's tables.
	Table  int
	Values []int64
}

// State says how the tables are saved. A row's kind is the number of its table.
type State struct {
	File   string
	Tables []Table
	// Columns follow from Tables. Former is the Magic of states without Also; empty if there are
	// none.
	definition.RowFile
	Former string
}

func (s State) rows() definition.RowFile {
	f, former := s.RowFile, s.RowFile
	former.Magic = s.Former
	for _, table := range s.Tables {
		f.Columns, former.Columns = append(f.Columns, len(table.Names())), append(former.Columns, len(table.Columns))
	}
	if s.Former != "" {
		f.Former = &former
	}
	return f
}

// From reads all rows of a view, table by table, however wrong. It stops at the first error, of
// the database or of the callback.
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

// Save saves what read gives; see definition.RowFile.Save.
func (s State) Save(ctx context.Context, path string, read func(context.Context, func(Row) error) error, progress func(rows int64)) error {
	return s.rows().Save(path, progress, func(w *definition.RowWriter) error {
		return read(ctx, func(r Row) error { return w.Put(r.Table, r.Values...) })
	})
}

// Replay gives the saved rows; see definition.RowFile.Replay.
func (s State) Replay(path string, row func(Row) error) error {
	return s.rows().Replay(path, func(table int, values []int64) error { return row(Row{Table: table, Values: values}) })
}

// Work is a definition.Work, except for Promise. Its clients have sessions N.
type Work[N interface{ Close() }] struct {
	definition.Loaded
	definition.NoObservers
	State   State
	Session func(ctx context.Context) (N, error)
	Kind    func(id int64) uint8
	// Do makes one attempt. values are the history.Op.Values of a committed one.
	Do func(ctx context.Context, session N, id int64) (reply store.Reply, values []int64)
}

func (w *Work[N]) Client(ctx context.Context, n int) (load.Client, error) {
	connection, err := store.Connect(ctx, w.Session)
	if err != nil {
		return nil, err
	}
	return &client[N]{Connection: connection, work: w, number: n}, nil
}

func (w *Work[N]) Save(ctx context.Context, folder string, read func(rows int64)) error {
	return w.State.Save(ctx, filepath.Join(folder, w.State.File), w.State.From(w.View), read)
}

type client[N interface{ Close() }] struct {
	store.Connection[N]
	work   *Work[N]
	number int
	// unsure is true if an earlier attempt of the operation ended unknown.
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
