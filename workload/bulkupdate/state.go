package bulkupdate

import (
	"context"

	"assay/history"
	"assay/workload"
)

// The documents after the run are kept in a file of records
// (history.SaveRecords), so that they can be judged again without the
// database: each as the database gave it, its payload as a hash, then their
// count, without which the file is not whole.
const (
	stateMagic       = "ASSAYB02"
	tagDocument byte = 1 // id, user, number, flag, generation, hash of the payload
	tagCount    byte = 2 // documents
)

// stored is a document as it is kept.
type stored struct {
	id, user, number int64
	flag             bool
	generation       int64
	sum              int64
}

// Save reads all documents of the store into a file. read is called now and
// then with the number of documents so far. A file that exists is replaced,
// and only by a whole one.
func Save(ctx context.Context, store Store, path string, read func(rows int64)) error {
	var rows int64
	return history.SaveRecords(path, stateMagic, func() { read(rows) }, func(w *history.RecordWriter) error {
		err := store.Read(ctx, func(d Document) error {
			rows++
			flag := int64(0)
			if d.Flag {
				flag = 1
			}
			return w.Put(tagDocument, d.ID, d.User, d.Number, flag, d.Generation, workload.Sum(d.Payload))
		})
		if err != nil {
			return err
		}
		return w.Put(tagCount, rows)
	})
}

// replay reads what Save wrote, in its order. A file that is not whole gives a
// *history.CutError, a damaged one a *history.FormatError, and the callback's
// error is returned as it is.
func replay(path string, document func(stored) error) error {
	var rows int64
	return history.ReplayRecords(path, stateMagic, func(tag byte, r *history.RecordReader) error {
		var v [6]int64
		switch {
		case tag == tagDocument && r.Ints(v[:]):
			rows++
			return document(stored{id: v[0], user: v[1], number: v[2], flag: v[3] != 0, generation: v[4], sum: v[5]})
		case tag == tagCount && r.Ints(v[:1]) && v[0] == rows:
			r.Whole()
			return nil
		default:
			return r.Malformed("a document that cannot be read, or a count that does not match")
		}
	})
}
