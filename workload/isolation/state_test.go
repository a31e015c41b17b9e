package isolation

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"assay/history"
	"assay/internal/expect"
)

// give is a reading of just that.
func (s *state) give(list func(key int64, elements []int64) error, register func(key, value int64) error) error {
	for _, l := range s.lists {
		if err := list(l.key, s.elements[l.from:l.to]); err != nil {
			return err
		}
	}
	for _, r := range s.values {
		if err := register(r.key, r.value); err != nil {
			return err
		}
	}
	return nil
}

// large has an empty list, one of several pieces and one of exactly one.
func large() *state {
	s := &state{}
	for key, n := range []int{0, 3, 3*statePiece + 5, statePiece, 1, 50_000} {
		elements := make([]int64, n)
		for i := range elements {
			elements[i] = int64(i)*1_000_003 - 7
		}
		_ = s.list(int64(2*key), elements)
	}
	for key := range int64(20_000) {
		_ = s.register(2*key+1, -key)
	}
	return s
}

func mustSave(t *testing.T, give reading) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), FileState)
	expect.NoError(t, save(path, func(int64) {}, give))
	return path
}

func TestStateComesBack(t *testing.T) {
	for name, want := range map[string]*state{"nothing": {}, "large": large()} {
		path := filepath.Join(t.TempDir(), FileState)
		reported := int64(0)
		err := save(path, func(rows int64) {
			if rows < reported {
				t.Errorf("%d rows after %d", rows, reported)
			}
			reported = rows
		}, want.give)
		expect.NoError(t, err)
		var got state
		if err := Replay(path, got.list, got.register); err != nil || !reflect.DeepEqual(&got, want) {
			t.Errorf("%s: %d lists, %d elements, %d registers came back: %v", name, len(got.lists), len(got.elements), len(got.values), err)
		}
		if name == "large" && reported == 0 {
			t.Error("nobody was reported of the progress")
		}
		entries, err := os.ReadDir(filepath.Dir(path))
		if err != nil || len(entries) != 1 {
			t.Errorf("beside the state: %v, %v", entries, err)
		}
	}
}

func TestSaveThatFails(t *testing.T) {
	broken := errors.New("the server went away")
	path := mustSave(t, (&state{values: []savedValue{{1, 2}}}).give)
	before, err := os.ReadFile(path)
	expect.NoError(t, err)
	failing := func(list func(int64, []int64) error, _ func(int64, int64) error) error {
		return errors.Join(list(2, []int64{1}), broken)
	}
	if err := save(path, func(int64) {}, failing); !errors.Is(err, broken) {
		t.Errorf("save: %v", err)
	}
	after, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the older state was touched (%v)", err)
	}
	var write *history.WriteError
	if err := save(filepath.Join(path, "x"), func(int64) {}, failing); !errors.As(err, &write) {
		t.Errorf("into a file as a folder: %v", err)
	}
}

func TestReplayOfWhatIsNotWhole(t *testing.T) {
	path := mustSave(t, large().give)
	whole, err := os.ReadFile(path)
	expect.NoError(t, err)
	ignore := func(int64, []int64) error { return nil }
	ignoreValue := func(int64, int64) error { return nil }
	replay := func(content []byte) error {
		expect.NoError(t, os.WriteFile(path, content, 0o644))
		return Replay(path, ignore, ignoreValue)
	}
	var cut *history.CutError
	for _, n := range []int{len(whole) - 1, len(whole) / 2, 9, 8} {
		if err := replay(whole[:n]); !errors.As(err, &cut) {
			t.Errorf("%d of %d bytes: %v", n, len(whole), err)
		}
	}
	damaged := slices.Clone(whole)
	damaged[len(damaged)/2] ^= 1
	var malformed *history.FormatError
	for name, content := range map[string][]byte{"damaged": damaged, "of another form": []byte("ASSAYS01"), "empty": {}} {
		if err := replay(content); !errors.As(err, &malformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := Replay(path+"x", ignore, ignoreValue); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	enough := errors.New("enough")
	expect.NoError(t, os.WriteFile(path, whole, 0o644))
	if err := Replay(path, func(int64, []int64) error { return enough }, ignoreValue); !errors.Is(err, enough) {
		t.Errorf("a callback's error: %v", err)
	}
	if err := Replay(path, ignore, func(int64, int64) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("a callback's error: %v", err)
	}
}

// TestReplayOfWhatCannotBe writes frames that no Save would.
func TestReplayOfWhatCannotBe(t *testing.T) {
	for name, payload := range map[string][]byte{
		"unknown tag": {9}, "no key": {tagList}, "no length": {tagList, 2}, "short piece": {tagList, 2, 4, 8},
		"negative piece": {tagList, 2, 1}, "more of nothing": {tagMore, 2, 2}, "more after a register": {tagList, 2, 0, tagRegister, 2, 2, tagMore, 2, 2},
		"wrong counts": {tagCounts, 2, 0}, "after the end": {tagCounts, 0, 0, tagRegister, 2, 2}, "no value": {tagRegister, 2},
	} {
		path := filepath.Join(t.TempDir(), FileState)
		file, err := history.CreateFrames(path, stateMagic)
		expect.NoError(t, err)
		expect.NoError(t, errors.Join(file.WriteFrame(payload), file.Close()))
		err = Replay(path, func(int64, []int64) error { return nil }, func(int64, int64) error { return nil })
		var malformed *history.FormatError
		if !errors.As(err, &malformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzReplay(f *testing.F) {
	f.Add([]byte{tagList, 4, 4, 2, 2, tagMore, 0, tagRegister, 3, 1, tagCounts, 2, 2})
	f.Fuzz(func(t *testing.T, payload []byte) {
		path := filepath.Join(t.TempDir(), FileState)
		file, err := history.CreateFrames(path, stateMagic)
		expect.NoError(t, err)
		expect.NoError(t, errors.Join(file.WriteFrame(payload), file.Close()))
		var got state
		if Replay(path, got.list, got.register) != nil {
			return
		}
		again := filepath.Join(t.TempDir(), FileState)
		expect.NoError(t, save(again, func(int64) {}, got.give))
		var twice state
		if err := Replay(again, twice.list, twice.register); err != nil || !reflect.DeepEqual(got, twice) {
			t.Errorf("%+v, then %+v, %v", got, twice, err)
		}
	})
}
