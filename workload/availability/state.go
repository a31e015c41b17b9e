package availability

import (
	"context"

	"assay/history"
)

// The rows after the run are kept in a file of records (history.SaveRecords),
// so that they can be judged again without the database: each as the database
// gave it, then their count, without which the file is not whole.
const (
	stateMagic      = "ASSAYA02"
	tagRow     byte = 1 // key, value
	tagCount   byte = 2 // rows
)

// Save reads all rows of the store into a file. read is called now and then
// with the number of rows so far. A file that exists is replaced, and only by
// a whole one.
func Save(ctx context.Context, store Store, path string, read func(rows int64)) error {
	var rows int64
	return history.SaveRecords(path, stateMagic, func() { read(rows) }, func(w *history.RecordWriter) error {
		err := store.Read(ctx, func(row Row) error {
			rows++
			return w.Put(tagRow, row.Key, row.Value)
		})
		if err != nil {
			return err
		}
		return w.Put(tagCount, rows)
	})
}

// Replay reads what Save wrote, in its order. A file that is not whole gives a
// *history.CutError, a damaged one a *history.FormatError, and the callback's
// error is returned as it is.
func Replay(path string, row func(Row) error) error {
	var rows int64
	return history.ReplayRecords(path, stateMagic, func(tag byte, r *history.RecordReader) error {
		var v [2]int64
		switch {
		case tag == tagRow && r.Ints(v[:]):
			rows++
			return row(Row{Key: v[0], Value: v[1]})
		case tag == tagCount && r.Ints(v[:1]) && v[0] == rows:
			r.Whole()
			return nil
		default:
			return r.Malformed("a row that cannot be read, or a count that does not match")
		}
	})
}
