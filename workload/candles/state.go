package candles

import (
	"context"

	"assay/history"
	"assay/store"
	"assay/workload/definition"
)

// The state is a file of records (history.SaveRecords): the size, wrong rows up to a limit, each
// batch, and the number of all rows. Without it the file is cut. Rows are kept only as sums by
// batch.
const (
	stateMagic        = "ASSAYK02"
	tagSize      byte = 1 // bytes, of tables, of indexes
	tagWrong     byte = 2 // which wrong, id
	tagBatch     byte = 3 // batch, distinct rows, doubled, altered, the first id that is not there or -1
	tagForeign   byte = 4 // rows whose id no batch has
	tagCount     byte = 5 // rows, bytes of their values
	wrongAltered      = 0
	wrongDoubled      = 1
	wrongForeign      = 2
	wrongKept         = 20
)

type counted struct{ rows, doubled, altered int64 }

// reading sums rows by batch. It takes a bit per candle and three integers per batch.
type reading struct {
	generator *Generator
	config    Config
	seen      definition.Set
	batches   []counted
	rows      int64
	bytes     int64
	foreign   int64
	wrong     [3][]int64
}

func newReading(g *Generator, c Config) *reading {
	return &reading{generator: g, config: c, batches: make([]counted, c.batches()), seen: definition.NewSet(c.Candles)}
}

func (r *reading) row(c *Candle) {
	r.rows++
	r.bytes += c.Bytes()
	if c.ID < 0 || c.ID >= r.config.Candles {
		r.foreign++
		r.note(wrongForeign, c.ID)
		return
	}
	batch := &r.batches[c.ID/int64(r.config.Batch)]
	if r.seen.Add(c.ID) {
		batch.doubled++
		r.note(wrongDoubled, c.ID)
	} else {
		batch.rows++
	}
	if *c != r.generator.Candle(c.ID) {
		batch.altered++
		r.note(wrongAltered, c.ID)
	}
}

func (r *reading) note(which int, id int64) {
	if len(r.wrong[which]) < wrongKept {
		r.wrong[which] = append(r.wrong[which], id)
	}
}

// missing is the first missing candle of a batch, -1 if none is.
func (r *reading) missing(batch int64) int64 {
	first, end := r.config.batch(batch)
	for n := first; n < end; n++ {
		if !r.seen.Has(n) {
			return n
		}
	}
	return -1
}

// save keeps sums of all rows. Only a whole file replaces an old one.
func save(ctx context.Context, db store.Database, g *Generator, c Config, size store.Size, path string, read func(rows int64)) error {
	r := newReading(g, c)
	return history.SaveRecords(path, stateMagic, func() { read(r.rows) }, func(w *history.RecordWriter) error {
		err := store.ReadAll(ctx, db.View, func(all store.Reader) error {
			return store.Each(ctx, all, table, Columns(), func(candle Candle) error {
				r.row(&candle)
				if r.rows%10_000 == 0 {
					read(r.rows)
				}
				return nil
			})
		})
		if err != nil {
			return err
		}
		return r.put(w, size)
	})
}

func (r *reading) put(w *history.RecordWriter, size store.Size) error {
	if err := w.Put(tagSize, size.Bytes, size.Tables, size.Indexes); err != nil {
		return err
	}
	for which, ids := range r.wrong {
		for _, id := range ids {
			if err := w.Put(tagWrong, int64(which), id); err != nil {
				return err
			}
		}
	}
	for i, b := range r.batches {
		if err := w.Put(tagBatch, int64(i), b.rows, b.doubled, b.altered, r.missing(int64(i))); err != nil {
			return err
		}
	}
	if err := w.Put(tagForeign, r.foreign); err != nil {
		return err
	}
	return w.Put(tagCount, r.rows, r.bytes)
}

type state struct {
	size    store.Size
	wrong   [3][]int64
	foreign int64
	rows    int64
	bytes   int64
	batches []counted
	missing []int64
}

// loadState reads a saved state. A file that is not whole gives a *history.CutError, a damaged
// one a *history.FormatError.
func loadState(path string, c Config) (*state, error) {
	s := &state{batches: make([]counted, 0, c.batches())}
	err := history.ReplayRecords(path, stateMagic, func(tag byte, r *history.RecordReader) error {
		var v [5]int64
		switch {
		case tag == tagSize && r.Ints(v[:3]):
			s.size = store.Size{Bytes: v[0], Tables: v[1], Indexes: v[2]}
		case tag == tagWrong && r.Ints(v[:2]) && v[0] >= 0 && v[0] < int64(len(s.wrong)):
			s.wrong[v[0]] = append(s.wrong[v[0]], v[1])
		case tag == tagBatch && r.Ints(v[:]) && v[0] == int64(len(s.batches)):
			s.batches = append(s.batches, counted{rows: v[1], doubled: v[2], altered: v[3]})
			s.missing = append(s.missing, v[4])
		case tag == tagForeign && r.Ints(v[:1]):
			s.foreign = v[0]
		case tag == tagCount && r.Ints(v[:2]) && int64(len(s.batches)) == c.batches():
			s.rows, s.bytes = v[0], v[1]
			r.Whole()
		default:
			return r.Malformed("a record that cannot be read, or a number of batches that does not match")
		}
		return nil
	})
	return s, err
}
