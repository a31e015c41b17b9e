package history

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// recordFrame is how many bytes of records make a frame.
const recordFrame = 64 << 10

// CutError means that a file of records lacks its end.
type CutError struct{ Path string }

func (e *CutError) Error() string {
	return fmt.Sprintf("%s is not whole: the run was cut while it read the database", e.Path)
}

// RecordWriter writes records (a tag and integers) as frames. It is not safe for concurrent use.
type RecordWriter struct {
	file    *FrameWriter
	buf     []byte
	flushed func()
}

// SaveRecords writes a framed file of records under a temporary name and renames it once fill
// has succeeded. So only a whole file replaces an existing one. flushed is called before each
// frame is written. The error is fill's or a *WriteError.
func SaveRecords(path, magic string, flushed func(), fill func(*RecordWriter) error) error {
	partial := path + ".partial"
	if err := os.Remove(partial); err != nil && !errors.Is(err, os.ErrNotExist) {
		return &WriteError{Path: partial, Err: err}
	}
	file, err := CreateFrames(partial, magic)
	if err != nil {
		return err
	}
	w := &RecordWriter{file: file, flushed: flushed}
	if err = fill(w); err == nil {
		err = w.flush()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Remove(partial))
	}
	if err := os.Rename(partial, path); err != nil {
		return &WriteError{Path: path, Err: err}
	}
	return nil
}

// Put begins a record.
func (w *RecordWriter) Put(tag byte, values ...int64) error {
	if len(w.buf) >= recordFrame {
		w.flushed()
		if err := w.flush(); err != nil {
			return err
		}
	}
	w.buf = append(w.buf, tag)
	w.Add(values...)
	return nil
}

// Add adds integers to the last record. A record must fit into a frame: 300,000 integers do.
func (w *RecordWriter) Add(values ...int64) {
	for _, v := range values {
		w.buf = binary.AppendVarint(w.buf, v)
	}
}

func (w *RecordWriter) flush() error {
	err := w.file.WriteFrame(w.buf)
	w.buf = w.buf[:0]
	return err
}

// RecordReader reads one record for ReplayRecords.
type RecordReader struct {
	path  string
	buf   []byte
	whole bool
}

// ReplayRecords calls record for each record of a file. record reads with Ints the integers that
// belong to the tag, and calls Whole for the last record. A file without that record is a
// *CutError, a damaged one a *FormatError. An error of record is returned unchanged.
func ReplayRecords(path, magic string, record func(tag byte, r *RecordReader) error) error {
	frames, err := OpenFrames(path, magic)
	if err != nil {
		return err
	}
	r := &RecordReader{path: path}
	return errors.Join(r.all(frames, record), frames.Close())
}

func (r *RecordReader) all(frames *FrameReader, record func(tag byte, r *RecordReader) error) error {
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
			if r.whole {
				return r.Malformed("something after the end")
			}
			tag := r.buf[0]
			r.buf = r.buf[1:]
			if err := record(tag, r); err != nil {
				return err
			}
		}
	}
}

// Ints fills dst with the next integers and reports whether they were there.
func (r *RecordReader) Ints(dst []int64) bool {
	b := r.buf
	for i := range dst {
		dst[i], b = varint(b)
	}
	r.buf = b
	return b != nil
}

// Whole marks this record as the last.
func (r *RecordReader) Whole() { r.whole = true }

// Malformed returns the error for a record that makes no sense.
func (r *RecordReader) Malformed(reason string) error {
	return &FormatError{Path: r.path, Reason: reason}
}

// WhyMissing explains, for people, an error of ReplayRecords that leaves the records of a run
// unknown: no file, or a cut one. It returns any other error as other.
func WhyMissing(err error) (why string, other error) {
	var cut *CutError
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "the database was not read back", nil
	case errors.As(err, &cut):
		return err.Error(), nil
	default:
		return "", err
	}
}
