package journal

import (
	"context"

	"assay/workload/definition"
)

// State is how the rows of a workload's tables are kept after the run; see
// definition.RowFile. A row's tag is the number of its table.
type State struct {
	// File is its name in the run's folder, and Magic what the file begins with, of
	// eight bytes.
	File, Magic string
	Tables      []Table
}

func (s State) rows() definition.RowFile {
	f := definition.RowFile{Magic: s.Magic, End: 0xff}
	for _, table := range s.Tables {
		f.Columns = append(f.Columns, len(table.Columns))
	}
	return f
}

// Save writes what read gives into a new file; see definition.RowFile.Save.
func (s State) Save(ctx context.Context, path string, read func(context.Context, func(Row) error) error, progress func(rows int64)) error {
	return s.rows().Save(path, progress, func(w *definition.RowWriter) error {
		return read(ctx, func(r Row) error { return w.Put(r.Table, r.Values...) })
	})
}

// Replay gives the rows that were saved; see definition.RowFile.Replay.
func (s State) Replay(path string, row func(Row) error) error {
	return s.rows().Replay(path, func(table int, values []int64) error { return row(Row{Table: table, Values: values}) })
}
