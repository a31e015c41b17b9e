package entity

import (
	"context"
	"encoding/binary"

	"assay/history"
)

// The entities after the run are kept in a file of records
// (history.SaveRecords), so that they can be judged again without the
// database: the key (or the id, if it is of no key) and the sum of each, then
// their count, without which the file is not whole.
const (
	stateMagic       = "ASSAYE02"
	tagEntity   byte = 1 // key, sum of all, sums of parts
	tagStranger byte = 2 // id in two halves
	tagCount    byte = 3 // entities
)

// Row is what is kept of one entity that was read back.
type Row struct {
	// Key is -1 if the id is of no key under the run's seed; High and Low are
	// then its halves.
	Key       int64
	High, Low int64
	Sum       Sum
}

// Save reads all entities of the store into a file. read is called now and
// then with the number of entities so far. A file that exists is replaced, and
// only by a whole one.
func Save(ctx context.Context, store Store, seed uint64, path string, read func(rows int64)) error {
	var rows int64
	return history.SaveRecords(path, stateMagic, func() { read(rows) }, func(w *history.RecordWriter) error {
		err := store.Read(ctx, func(e Entity) error {
			rows++
			key, ok := KeyOf(seed, e.ID)
			if !ok {
				return w.Put(tagStranger, int64(binary.BigEndian.Uint64(e.ID[:8])), int64(binary.BigEndian.Uint64(e.ID[8:])))
			}
			sum := SumOf(e)
			return w.Put(tagEntity, key, sum.All, sum.Parts)
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
		var v [3]int64
		switch {
		case tag == tagEntity && r.Ints(v[:]) && v[0] >= 0 && v[0] < 1<<keyBits:
			rows++
			return row(Row{Key: v[0], Sum: Sum{All: v[1], Parts: v[2]}})
		case tag == tagStranger && r.Ints(v[:2]):
			rows++
			return row(Row{Key: -1, High: v[0], Low: v[1]})
		case tag == tagCount && r.Ints(v[:1]) && v[0] == rows:
			r.Whole()
			return nil
		default:
			return r.Malformed("an entity that cannot be read, or a count that does not match")
		}
	})
}
