package definition

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"assay/history"
)

// RowFile is how rows of integers that were read back are kept after the run, so that
// they can be judged again without the database: in a file of records
// (history.SaveRecords), each row under the tag of its kind, as the database gave it,
// then their count, without which the file is not whole.
type RowFile struct {
	// Magic begins the file, of eight bytes.
	Magic string
	// First is the tag of the first kind of row, and the others follow; End is that of
	// the count.
	First, End byte
	// Columns is how many integers a row of each kind has, at most 16.
	Columns []int
	// Apart has the rows of each kind counted, and not all of them together.
	Apart bool
}

// RowWriter takes the rows of a file. It is not safe for concurrent use.
type RowWriter struct {
	file    *RowFile
	records *history.RecordWriter
	counts  []int64
}

// Put adds a row, whose values are not kept.
func (w *RowWriter) Put(kind int, values ...int64) error {
	w.counts[kind]++
	return w.records.Put(w.file.First+byte(kind), values...)
}

// Save writes the rows that read puts into a new file. progress is called now and then
// with the number of rows so far. A file that exists is replaced, and only by a whole
// one. The error is read's or a *history.WriteError.
func (f RowFile) Save(path string, progress func(rows int64), read func(w *RowWriter) error) error {
	w := RowWriter{file: &f, counts: make([]int64, len(f.Columns))}
	return history.SaveRecords(path, f.Magic, func() { progress(total(w.counts)) }, func(records *history.RecordWriter) error {
		w.records = records
		if err := read(&w); err != nil {
			return err
		}
		return records.Put(f.End, f.ending(w.counts)...)
	})
}

// Replay gives the rows that were saved, in their order, with their kind; values are
// good until the callback returns. A file that is not whole gives a *history.CutError, a
// damaged one a *history.FormatError, both after all rows that were read, and the callback's
// error is returned as it is. Rows are read ahead of the callback, on another processor.
func (f RowFile) Replay(path string, row func(kind int, values []int64) error) error {
	read := rowsAhead{file: &f, full: make(chan rowBatch), used: make(chan rowBatch, 2), stop: make(chan struct{})}
	var failed error
	go func() {
		defer close(read.full)
		failed = read.all(path)
	}()
	err := read.visit(row)
	close(read.stop)
	for range read.full { // it has come to its end once this is closed
	}
	if err != nil {
		return err
	}
	return failed
}

// rowsAhead reads the rows of a file in batches while others are looked at.
type rowsAhead struct {
	file       *RowFile
	full, used chan rowBatch
	stop       chan struct{}
	batch      rowBatch
}

// rowBatch are rows one after the other.
type rowBatch struct {
	kinds  []uint8
	values []int64
}

// rowsABatch is few enough for them to stay in a processor's cache.
const rowsABatch = 512

// visit gives the rows of all batches.
func (a *rowsAhead) visit(row func(kind int, values []int64) error) error {
	for batch := range a.full {
		values := batch.values
		for _, kind := range batch.kinds {
			n := a.file.Columns[kind]
			if err := row(int(kind), values[:n:n]); err != nil {
				return err
			}
			values = values[n:]
		}
		a.used <- batch
	}
	return nil
}

// all reads the file.
func (a *rowsAhead) all(path string) error {
	f, counts := a.file, make([]int64, len(a.file.Columns))
	var values [16]int64
	err := history.ReplayRecords(path, f.Magic, func(tag byte, r *history.RecordReader) error {
		kind := int(tag) - int(f.First)
		switch {
		case kind >= 0 && kind < len(f.Columns) && r.Ints(values[:f.Columns[kind]]):
			counts[kind]++
			return a.add(uint8(kind), values[:f.Columns[kind]])
		case tag == f.End:
			if want := f.ending(counts); r.Ints(values[:len(want)]) && slices.Equal(values[:len(want)], want) {
				r.Whole()
				return nil
			}
		}
		return r.Malformed("a row that cannot be read, or a count that does not match")
	})
	if last := a.give(); err == nil {
		err = last
	}
	return err
}

// errStopped ends a reading whose rows nobody looks at any more.
var errStopped = errors.New("stopped")

func (a *rowsAhead) add(kind uint8, values []int64) error {
	a.batch.kinds = append(a.batch.kinds, kind)
	a.batch.values = append(a.batch.values, values...)
	if len(a.batch.kinds) < rowsABatch {
		return nil
	}
	return a.give()
}

// give hands the rows over, and goes on with a batch that was looked at.
func (a *rowsAhead) give() error {
	select {
	case a.full <- a.batch:
	case <-a.stop:
		return errStopped
	}
	select {
	case a.batch = <-a.used:
	default:
		a.batch = rowBatch{}
	}
	a.batch.kinds, a.batch.values = a.batch.kinds[:0], a.batch.values[:0]
	return nil
}

// ending is the last record of a file with so many rows of each kind.
func (f RowFile) ending(counts []int64) []int64 {
	if f.Apart {
		return counts
	}
	return []int64{total(counts)}
}

func total(counts []int64) (sum int64) {
	for _, n := range counts {
		sum += n
	}
	return sum
}

// ReadJSON reads what history.WriteJSON wrote; nothing if there is no such file. A file that is
// malformed gives a *history.FormatError.
func ReadJSON[T any](path string) (value T, err error) {
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return value, nil
	case err != nil:
		return value, fmt.Errorf("%s cannot be read: %w", path, err)
	}
	if err := json.Unmarshal(text, &value); err != nil {
		return value, &history.FormatError{Path: path, Reason: err.Error()}
	}
	return value, nil
}

// Set is a set of numbers from 0 on, a bit each.
type Set []uint64

// NewSet is an empty set of numbers below n.
func NewSet(n int64) Set { return make(Set, (n+63)/64) }

// Has reports whether a number is in the set.
func (s Set) Has(n int64) bool { return s[n/64]>>(n%64)&1 == 1 }

// Add adds a number, and reports whether it was in the set before.
func (s Set) Add(n int64) (before bool) {
	before = s.Has(n)
	s[n/64] |= 1 << (n % 64)
	return before
}
