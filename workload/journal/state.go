package journal

import (
	"context"

	"assay/history"
)

// State is how the rows of a workload's tables are kept after the run, in a file of
// records (history.SaveRecords), so that they can be judged again without the database:
// each row under the number of its table, as the database gave it, then their count,
// without which the file is not whole.
type State struct {
	// File is its name in the run's folder, and Magic what the file begins with, of
	// eight bytes.
	File, Magic string
	Tables      []Table
}

// tagCount is the tag of the count, which no table has.
const tagCount = 0xff

// Save writes what read gives into a new file. progress is called now and then with the
// number of rows so far. A file that exists is replaced, and only by a whole one.
func (s State) Save(ctx context.Context, path string, read func(context.Context, func(Row) error) error, progress func(rows int64)) error {
	var rows int64
	return history.SaveRecords(path, s.Magic, func() { progress(rows) }, func(w *history.RecordWriter) error {
		err := read(ctx, func(r Row) error {
			rows++
			return w.Put(byte(r.Table), r.Values...)
		})
		if err != nil {
			return err
		}
		return w.Put(tagCount, rows)
	})
}

// Replay gives the rows that were saved, in their order. A file that is not whole gives
// a *history.CutError, a damaged one a *history.FormatError, and the callback's error is
// returned as it is.
func (s State) Replay(path string, row func(Row) error) error {
	var rows int64
	var values [16]int64
	return history.ReplayRecords(path, s.Magic, func(tag byte, r *history.RecordReader) error {
		switch {
		case int(tag) < len(s.Tables) && r.Ints(values[:len(s.Tables[tag].Columns)]):
			rows++
			return row(Row{Table: int(tag), Values: values[:len(s.Tables[tag].Columns)]})
		case tag == tagCount && r.Ints(values[:1]) && values[0] == rows:
			r.Whole()
			return nil
		default:
			return r.Malformed("a row that cannot be read, or a count that does not match")
		}
	})
}
