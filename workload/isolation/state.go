package isolation

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"assay/history"
)

// The lists and registers after the run are kept in a framed file
// (history.FrameWriter), so that they can be judged again without the
// database: each as the database gave it, then their counts, without which the
// file is not whole. A long list is in several pieces, so that no list is too
// long for a frame.
const (
	stateMagic       = "ASSAYI01"
	stateFrame       = 64 << 10
	statePiece       = 4096 // elements
	tagList     byte = 1    // key, how many elements follow in this piece, these
	tagMore     byte = 2    // more elements of the last list: how many, these
	tagRegister byte = 3    // key, value
	tagCounts   byte = 4    // lists, registers
)

// Save reads the whole state of the store into a new file. read is called now
// and then with the number of lists and registers so far. A file that exists
// is replaced, and only by a whole one.
func Save(ctx context.Context, store Store, path string, read func(rows int64)) error {
	partial := path + ".partial"
	if err := os.Remove(partial); err != nil && !errors.Is(err, os.ErrNotExist) {
		return &history.WriteError{Path: partial, Err: err}
	}
	file, err := history.CreateFrames(partial, stateMagic)
	if err != nil {
		return err
	}
	w := stateWriter{file: file, read: read}
	err = store.Read(ctx, w.list, w.register)
	if err == nil {
		w.buf = append(w.buf, tagCounts)
		w.ints(w.lists, w.registers)
		err = w.flush()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Remove(partial))
	}
	if err := os.Rename(partial, path); err != nil {
		return &history.WriteError{Path: path, Err: err}
	}
	return nil
}

type stateWriter struct {
	file             *history.FrameWriter
	read             func(rows int64)
	buf              []byte
	lists, registers int64
}

func (w *stateWriter) list(key int64, elements []int64) error {
	w.lists++
	w.buf = append(w.buf, tagList)
	w.ints(key)
	for {
		piece := elements[:min(len(elements), statePiece)]
		w.ints(int64(len(piece)))
		w.ints(piece...)
		if err := w.flushFull(); err != nil {
			return err
		}
		if elements = elements[len(piece):]; len(elements) == 0 {
			return nil
		}
		w.buf = append(w.buf, tagMore)
	}
}

func (w *stateWriter) register(key, value int64) error {
	w.registers++
	w.buf = append(w.buf, tagRegister)
	w.ints(key, value)
	return w.flushFull()
}

func (w *stateWriter) ints(values ...int64) {
	for _, v := range values {
		w.buf = binary.AppendVarint(w.buf, v)
	}
}

func (w *stateWriter) flushFull() error {
	if len(w.buf) < stateFrame {
		return nil
	}
	w.read(w.lists + w.registers)
	return w.flush()
}

func (w *stateWriter) flush() error {
	err := w.file.WriteFrame(w.buf)
	w.buf = w.buf[:0]
	return err
}

// CutError says that a saved state is not whole.
type CutError struct{ Path string }

func (e *CutError) Error() string {
	return fmt.Sprintf("%s is not whole: the run was cut while it read the database", e.Path)
}

// Replay reads a saved state: what Store.Read gave, in its order. The elements
// are valid until the callback returns. A file that is not whole gives a
// *CutError, a damaged one a *history.FormatError, and a callback's error is
// returned as it is.
func Replay(path string, list func(key int64, elements []int64) error, register func(key, value int64) error) error {
	frames, err := history.OpenFrames(path, stateMagic)
	if err != nil {
		return err
	}
	r := stateReader{path: path, list: list, register: register}
	return errors.Join(r.all(frames), frames.Close())
}

type stateReader struct {
	path             string
	list             func(key int64, elements []int64) error
	register         func(key, value int64) error
	buf              []byte
	lists, registers int64
	whole            bool
	// open is true while pieces of a list may follow.
	open     bool
	key      int64
	elements []int64
}

func (r *stateReader) all(frames *history.FrameReader) error {
	for {
		payload, err := frames.ReadFrame()
		if errors.Is(err, io.EOF) {
			if !r.whole {
				return &CutError{Path: r.path}
			}
			return nil
		}
		if err != nil {
			return err
		}
		for r.buf = payload; len(r.buf) > 0; {
			if err := r.record(); err != nil {
				return err
			}
		}
	}
}

func (r *stateReader) record() error {
	tag := r.buf[0]
	r.buf = r.buf[1:]
	if r.whole {
		return r.malformed("something after the end")
	}
	if tag != tagMore {
		if err := r.closeList(); err != nil {
			return err
		}
	}
	var v [2]int64
	switch {
	case tag == tagList && r.ints(v[:1]) && r.piece():
		r.lists++
		r.open, r.key = true, v[0]
		return nil
	case tag == tagMore && r.open && r.piece():
		return nil
	case tag == tagRegister && r.ints(v[:]):
		r.registers++
		return r.register(v[0], v[1])
	case tag == tagCounts && r.ints(v[:]):
		if v[0] != r.lists || v[1] != r.registers {
			return r.malformed("counts that do not match")
		}
		r.whole = true
		return nil
	default:
		return r.malformed("a record that cannot be read")
	}
}

// closeList gives the list that was read last.
func (r *stateReader) closeList() error {
	if !r.open {
		return nil
	}
	err := r.list(r.key, r.elements)
	r.open, r.elements = false, r.elements[:0]
	return err
}

func (r *stateReader) piece() bool {
	var n [1]int64
	if !r.ints(n[:]) || n[0] < 0 || n[0] > statePiece {
		return false
	}
	for range n[0] {
		var element [1]int64
		if !r.ints(element[:]) {
			return false
		}
		r.elements = append(r.elements, element[0])
	}
	return true
}

func (r *stateReader) ints(dst []int64) bool {
	for i := range dst {
		v, n := binary.Varint(r.buf)
		if n <= 0 {
			return false
		}
		dst[i], r.buf = v, r.buf[n:]
	}
	return true
}

func (r *stateReader) malformed(reason string) error {
	return &history.FormatError{Path: r.path, Reason: reason}
}
