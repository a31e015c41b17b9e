package history

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"assay/internal/expect"
)

const recordMagic = "ASSAYT01"

func saveRecords(t *testing.T, path string, n int64) (flushed int) {
	t.Helper()
	err := SaveRecords(path, recordMagic, func() { flushed++ }, func(w *RecordWriter) error {
		for i := range n {
			if err := w.Put(1, i, -i); err != nil {
				return err
			}
			w.Add(i * i)
		}
		return w.Put(2, n)
	})
	expect.NoError(t, err)
	return flushed
}

func replayRecords(path string) (n int64, err error) {
	err = ReplayRecords(path, recordMagic, func(tag byte, r *RecordReader) error {
		var v [3]int64
		switch {
		case tag == 1 && r.Ints(v[:]) && v == [3]int64{n, -n, n * n}:
			n++
			return nil
		case tag == 2 && r.Ints(v[:1]) && v[0] == n:
			r.Whole()
			return nil
		default:
			return r.Malformed("a record that cannot be read")
		}
	})
	return n, err
}

func TestRecords(t *testing.T) {
	path := filepath.Join(t.TempDir(), "records")
	for _, n := range []int64{0, 1, 30_000} {
		flushed := saveRecords(t, path, n) // replaces what is there
		if got, err := replayRecords(path); err != nil || got != n {
			t.Errorf("%d records came back as %d, %v", n, got, err)
		}
		if (flushed > 2) != (n > 10_000) {
			t.Errorf("%d records were written in %d frames", n, flushed+1)
		}
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestRecordsThatFail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "records")
	saveRecords(t, path, 5)
	sentinel := errors.New("enough")
	err := SaveRecords(path, recordMagic, func() {}, func(w *RecordWriter) error { return errors.Join(w.Put(1, 1), sentinel) })
	if !errors.Is(err, sentinel) {
		t.Errorf("the error came back as %v", err)
	}
	if got, err := replayRecords(path); err != nil || got != 5 {
		t.Errorf("what was there is %d records, %v", got, err)
	}
	if _, err := os.Stat(path + ".partial"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a part of a file was left: %v", err)
	}
	var write *WriteError
	if err := SaveRecords(filepath.Join(path, "below"), recordMagic, func() {}, func(*RecordWriter) error { return nil }); !errors.As(err, &write) {
		t.Errorf("in a folder that is none: %v", err)
	}
}

func TestDamagedRecords(t *testing.T) {
	path := filepath.Join(t.TempDir(), "records")
	fill := func(f func(w *RecordWriter) error) {
		t.Helper()
		expect.NoError(t, SaveRecords(path, recordMagic, func() {}, f))
	}
	var cut *CutError
	var malformed *FormatError
	fill(func(w *RecordWriter) error { return w.Put(1, 0, 0, 0) })
	if _, err := replayRecords(path); !errors.As(err, &cut) {
		t.Errorf("without an end: %v", err)
	}
	fill(func(w *RecordWriter) error { return errors.Join(w.Put(2, 0), w.Put(1, 0, 0, 0)) })
	if _, err := replayRecords(path); !errors.As(err, &malformed) {
		t.Errorf("with something after the end: %v", err)
	}
	fill(func(w *RecordWriter) error { return w.Put(1, 0) })
	if _, err := replayRecords(path); !errors.As(err, &malformed) {
		t.Errorf("with a record cut short: %v", err)
	}
	saveRecords(t, path, 30_000)
	info, err := os.Stat(path)
	expect.NoError(t, err)
	expect.NoError(t, os.Truncate(path, info.Size()-1))
	if _, err := replayRecords(path); !errors.As(err, &cut) {
		t.Errorf("torn: %v", err)
	}
	if err := ReplayRecords(path, "ASSAYX01", nil); !errors.As(err, &malformed) {
		t.Errorf("of another form: %v", err)
	}
}

func TestWhyMissing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "records")
	_, none := replayRecords(path)
	expect.NoError(t, SaveRecords(path, recordMagic, func() {}, func(w *RecordWriter) error { return w.Put(1, 0, 0, 0) }))
	_, cut := replayRecords(path)
	for err, want := range map[error]string{none: "the database was not read back", cut: cut.Error(), nil: ""} {
		if why, other := WhyMissing(err); why != want || other != nil {
			t.Errorf("%v: %q, %v; want %q", err, why, other, want)
		}
	}
	sentinel := errors.New("enough")
	if why, other := WhyMissing(sentinel); why != "" || other != sentinel {
		t.Errorf("another error: %q, %v", why, other)
	}
}
