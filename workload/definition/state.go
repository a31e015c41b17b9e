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

// RowFile is a file of integer rows as read back, to judge again without the database: records
// (history.SaveRecords) with the tag of their kind, and then the count. Without it the file is
// cut.
type RowFile struct {
	// Magic is the first eight bytes.
	Magic string
	// First is the tag of kind 0, and further kinds follow. End is the tag of the count.
	First, End byte
	// Columns is the number of integers of each kind's rows, at most 16.
	Columns []int
	// Apart counts the rows of each kind apart.
	Apart bool
	// Former is the form of earlier versions' files; nil if there is none.
	Former *RowFile
}

// RowWriter writes the rows of a file. It is not safe for concurrent use.
type RowWriter struct {
	file    *RowFile
	records *history.RecordWriter
	counts  []int64
}

// Put adds a row. It does not keep values.
func (w *RowWriter) Put(kind int, values ...int64) error {
	w.counts[kind]++
	return w.records.Put(w.file.First+byte(kind), values...)
}

// Save writes the rows that read puts into a new file, which replaces an old one only when
// whole. progress gets the rows so far. The error is read's or a *history.WriteError.
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

// Replay gives the saved rows in their order; values are valid until the callback returns. After
// the readable rows, a file that is not whole gives a *history.CutError and a damaged one a
// *history.FormatError. Errors of the callback are returned unchanged.
func (f RowFile) Replay(path string, row func(kind int, values []int64) error) error {
	given := false
	give := func(kind int, values []int64) error {
		given = true
		return row(kind, values)
	}
	err := f.replay(path, give)
	if f.Former == nil || given || !errors.As(err, new(*history.FormatError)) {
		return err
	}
	if former := f.Former.replay(path, give); given || !errors.As(former, new(*history.FormatError)) {
		return former
	}
	return err
}

func (f RowFile) replay(path string, row func(kind int, values []int64) error) error {
	var values [16]int64
	counts := make([]int64, len(f.Columns))
	return history.ReplayRecords(path, f.Magic, func(tag byte, r *history.RecordReader) error {
		kind := int(tag) - int(f.First)
		switch {
		case kind >= 0 && kind < len(f.Columns) && r.Ints(values[:f.Columns[kind]]):
			counts[kind]++
			return row(kind, values[:f.Columns[kind]])
		case tag == f.End:
			if want := f.ending(counts); r.Ints(values[:len(want)]) && slices.Equal(values[:len(want)], want) {
				r.Whole()
				return nil
			}
		}
		return r.Malformed("a row that cannot be read, or a count that does not match")
	})
}

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

// ReadJSON reads a file of history.WriteJSON; a missing one gives the zero value, a malformed
// one a *history.FormatError.
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

// Set is a set of numbers from 0 on, as a bit array.
type Set []uint64

// NewSet returns an empty set of numbers below n.
func NewSet(n int64) Set { return make(Set, (n+63)/64) }

// Has reports whether a number is in the set.
func (s Set) Has(n int64) bool { return s[n/64]>>(n%64)&1 == 1 }

// Add adds a number and reports whether the set had it before.
func (s Set) Add(n int64) (before bool) {
	before = s.Has(n)
	s[n/64] |= 1 << (n % 64)
	return before
}
