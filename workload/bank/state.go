package bank

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"assay/history"
)

// The state of the bank after the run is kept in a framed file
// (history.FrameWriter), so that it can be judged again without the database:
// accounts and journal rows as the database gave them, then their counts,
// without which the file is not whole.
const (
	stateMagic      = "ASSAYS01"
	stateFrame      = 64 << 10
	tagAccount byte = 1
	tagEntry   byte = 2
	tagCounts  byte = 3
)

// Save reads the whole state of the store into a new file. read is called now
// and then with the number of rows so far. A file that exists is replaced,
// and only by a whole one.
func Save(ctx context.Context, store Store, path string, read func(rows int64)) error {
	return save(func(account func(Account) error, entry func(Entry) error) error {
		return store.Read(ctx, account, entry)
	}, path, read)
}

// save is Save for any source of accounts and journal rows.
func save(source func(func(Account) error, func(Entry) error) error, path string, read func(rows int64)) error {
	partial := path + ".partial"
	if err := os.Remove(partial); err != nil && !errors.Is(err, os.ErrNotExist) {
		return &history.WriteError{Path: partial, Err: err}
	}
	file, err := history.CreateFrames(partial, stateMagic)
	if err != nil {
		return err
	}
	w := stateWriter{file: file, read: read}
	err = source(w.account, w.entry)
	if err == nil {
		w.buf = append(w.buf, tagCounts)
		w.ints(w.accounts, w.entries)
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
	file              *history.FrameWriter
	read              func(rows int64)
	buf               []byte
	accounts, entries int64
}

func (w *stateWriter) account(a Account) error {
	w.accounts++
	w.buf = append(w.buf, tagAccount)
	w.ints(a.ID, a.Balance, a.Version)
	return w.flushFull()
}

func (w *stateWriter) entry(e Entry) error {
	w.entries++
	w.buf = append(w.buf, tagEntry)
	w.ints(e.ID, e.Source, e.Destination, e.Amount, e.SourceVersion, e.DestinationVersion)
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
	w.read(w.accounts + w.entries)
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

// Replay reads a saved state: what Store.Read gave, in its order. A file that
// is not whole gives a *CutError, a damaged one a *history.FormatError, and a
// callback's error is returned as it is.
func Replay(path string, account func(Account) error, entry func(Entry) error) error {
	frames, err := history.OpenFrames(path, stateMagic)
	if err != nil {
		return err
	}
	r := stateReader{path: path, account: account, entry: entry}
	return errors.Join(r.all(frames), frames.Close())
}

type stateReader struct {
	path              string
	account           func(Account) error
	entry             func(Entry) error
	buf               []byte
	accounts, entries int64
	whole             bool
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
	var v [6]int64
	switch {
	case r.whole:
		return r.malformed("rows after the end")
	case tag == tagAccount && r.ints(v[:3]):
		r.accounts++
		return r.account(Account{ID: v[0], Balance: v[1], Version: v[2]})
	case tag == tagEntry && r.ints(v[:6]):
		r.entries++
		return r.entry(Entry{
			Transfer:      Transfer{ID: v[0], Source: v[1], Destination: v[2], Amount: v[3]},
			SourceVersion: v[4], DestinationVersion: v[5],
		})
	case tag == tagCounts && r.ints(v[:2]):
		if v[0] != r.accounts || v[1] != r.entries {
			return r.malformed("counts that do not match the rows")
		}
		r.whole = true
		return nil
	default:
		return r.malformed("a row that cannot be read")
	}
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
