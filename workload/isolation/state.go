package isolation

import "assay/history"

// The state is a file of records (history.SaveRecords): lists and registers as the database gave
// them, then their counts. Without the counts the file is cut. Long lists are in pieces, which
// fit into a frame.
const (
	stateMagic       = "ASSAYI02"
	statePiece       = 4096 // elements
	tagList     byte = 1    // key, how many elements follow in this piece, these
	tagMore     byte = 2    // more elements of the last list: how many, these
	tagRegister byte = 3    // key, value
	tagCounts   byte = 4    // lists, registers
)

type reading func(list func(key int64, elements []int64) error, register func(key, value int64) error) error

// save writes what give gives. Only a whole file replaces an old one.
func save(path string, read func(rows int64), give reading) error {
	var s stateWriter
	return history.SaveRecords(path, stateMagic, func() { read(s.lists + s.registers) }, func(w *history.RecordWriter) error {
		s.RecordWriter = w
		if err := give(s.list, s.register); err != nil {
			return err
		}
		return w.Put(tagCounts, s.lists, s.registers)
	})
}

type stateWriter struct {
	*history.RecordWriter
	lists, registers int64
}

func (w *stateWriter) list(key int64, elements []int64) error {
	w.lists++
	piece := elements[:min(len(elements), statePiece)]
	err := w.Put(tagList, key, int64(len(piece)))
	for err == nil {
		w.Add(piece...)
		if elements = elements[len(piece):]; len(elements) == 0 {
			return nil
		}
		piece = elements[:min(len(elements), statePiece)]
		err = w.Put(tagMore, int64(len(piece)))
	}
	return err
}

func (w *stateWriter) register(key, value int64) error {
	w.registers++
	return w.Put(tagRegister, key, value)
}

// Replay gives a saved state in the order of Read; elements are valid until the callback
// returns. A file that is not whole gives a *history.CutError, a damaged one a
// *history.FormatError. Errors of callbacks are returned unchanged.
func Replay(path string, list func(key int64, elements []int64) error, register func(key, value int64) error) error {
	s := stateReader{list: list, register: register}
	return history.ReplayRecords(path, stateMagic, s.record)
}

type stateReader struct {
	list             func(key int64, elements []int64) error
	register         func(key, value int64) error
	lists, registers int64
	// open is true while pieces of a list may follow.
	open     bool
	key      int64
	elements []int64
}

func (s *stateReader) record(tag byte, r *history.RecordReader) error {
	if tag != tagMore {
		if err := s.closeList(); err != nil {
			return err
		}
	}
	var v [2]int64
	switch {
	case tag == tagList && r.Ints(v[:1]) && s.piece(r):
		s.lists++
		s.open, s.key = true, v[0]
		return nil
	case tag == tagMore && s.open && s.piece(r):
		return nil
	case tag == tagRegister && r.Ints(v[:]):
		s.registers++
		return s.register(v[0], v[1])
	case tag == tagCounts && r.Ints(v[:]):
		if v[0] != s.lists || v[1] != s.registers {
			return r.Malformed("counts that do not match")
		}
		r.Whole()
		return nil
	default:
		return r.Malformed("a record that cannot be read")
	}
}

func (s *stateReader) closeList() error {
	if !s.open {
		return nil
	}
	err := s.list(s.key, s.elements)
	s.open, s.elements = false, s.elements[:0]
	return err
}

func (s *stateReader) piece(r *history.RecordReader) bool {
	var n [1]int64
	if !r.Ints(n[:]) || n[0] < 0 || n[0] > statePiece {
		return false
	}
	from := len(s.elements)
	s.elements = append(s.elements, make([]int64, n[0])...)
	return r.Ints(s.elements[from:])
}
