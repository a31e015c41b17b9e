package bank

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"assay/history"
	"assay/internal/expect"
	"assay/workload"
	"assay/workload/journal"
)

// The tags of the file, which saved runs have.
const (
	tagAccount byte = 1
	tagEntry   byte = 2
	tagCounts  byte = 3
)

// rows are the rows of a state.
type rows struct {
	accounts []Account
	entries  []Entry
}

// each gives them as a database does.
func (r *rows) each(_ context.Context, row func(journal.Row) error) (err error) {
	for _, a := range r.accounts {
		err = errors.Join(err, row(journal.Row{Table: accountRow, Values: []int64{a.ID, a.Balance, a.Version}}))
	}
	for _, e := range r.entries {
		err = errors.Join(err, row(journal.Row{Table: transferRow, Values: []int64{e.ID, e.Source, e.Destination, e.Amount, e.SourceVersion, e.DestinationVersion}}))
	}
	return err
}

func replay(path string) (rows, error) {
	var r rows
	err := Replay(path,
		func(a Account) error { r.accounts = append(r.accounts, a); return nil },
		func(e Entry) error { r.entries = append(r.entries, e); return nil })
	return r, err
}

// example is a state with every kind of number in it.
func example(n int) *rows {
	r := workload.NewRandom(1, 1)
	numbers := []int64{0, 1, -1, math.MaxInt64, math.MinInt64}
	draw := func() int64 {
		if i := r.Below(20); i < uint64(len(numbers)) {
			return numbers[i]
		}
		return int64(r.Next()) >> r.Below(63)
	}
	f := &rows{}
	for range n {
		f.accounts = append(f.accounts, Account{draw(), draw(), draw()})
		f.entries = append(f.entries, Entry{Transfer{draw(), draw(), draw(), draw()}, draw(), draw()})
	}
	return f
}

func saved(t *testing.T, all *rows) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "state.bin")
	expect.NoError(t, state().Save(t.Context(), path, all.each, func(int64) {}))
	return path
}

func TestStateRoundTrip(t *testing.T) {
	for _, n := range []int{0, 1, 10, 5000} {
		store := example(n)
		got, err := replay(saved(t, store))
		expect.NoError(t, err)
		if !slices.Equal(got.accounts, store.accounts) || !slices.Equal(got.entries, store.entries) {
			t.Errorf("%d accounts and rows came back as %d and %d, or changed", n, len(got.accounts), len(got.entries))
		}
	}
}

func TestSaveTellsHowFarItIs(t *testing.T) {
	var told []int64
	path := filepath.Join(t.TempDir(), "state.bin")
	expect.NoError(t, state().Save(t.Context(), path, example(20_000).each, func(n int64) { told = append(told, n) }))
	if len(told) < 2 || !slices.IsSorted(told) || told[len(told)-1] > 40_000 {
		t.Errorf("told %v", told)
	}
}

// TestSaveReplacesByWholeFilesOnly: what was saved before stays until there is
// something better.
func TestSaveReplacesByWholeFilesOnly(t *testing.T) {
	first := example(10)
	path := saved(t, first)
	lost := errors.New("connection lost")
	broken := func(_ context.Context, row func(journal.Row) error) error {
		for i := range int64(50_000) {
			if err := row(journal.Row{Table: accountRow, Values: []int64{i + 1, 0, 0}}); err != nil {
				return err
			}
		}
		return lost
	}
	if err := state().Save(t.Context(), path, broken, func(int64) {}); !errors.Is(err, lost) {
		t.Fatalf("got %v", err)
	}
	got, err := replay(path)
	if err != nil || !slices.Equal(got.accounts, first.accounts) {
		t.Errorf("the file before is gone: %v", err)
	}
	files, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(files) != 1 {
		t.Errorf("a partial file stayed: %v, %v", files, err)
	}
	second := example(11)
	expect.NoError(t, os.WriteFile(path+".partial", []byte("of a killed process"), 0o600))
	expect.NoError(t, state().Save(t.Context(), path, second.each, func(int64) {}))
	if got, err := replay(path); err != nil || !slices.Equal(got.accounts, second.accounts) {
		t.Errorf("the new state is not there: %v", err)
	}
}

func TestSaveWhereNothingCanBeWritten(t *testing.T) {
	var refused *history.WriteError
	err := state().Save(t.Context(), filepath.Join(t.TempDir(), "missing", "state.bin"), example(1).each, func(int64) {})
	if !errors.As(err, &refused) {
		t.Errorf("got %v", err)
	}
}

// stateFile writes a state by hand: each part becomes a frame.
func stateFile(t *testing.T, magic string, parts ...[]byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "state.bin")
	w, err := history.CreateFrames(path, magic)
	expect.NoError(t, err)
	for _, p := range parts {
		expect.NoError(t, w.WriteFrame(p))
	}
	expect.NoError(t, w.Close())
	return path
}

func row(tag byte, values ...int64) []byte {
	out := []byte{tag}
	for _, v := range values {
		out = binary.AppendVarint(out, v)
	}
	return out
}

// TestCutStateIsNeverShort cuts a file of several frames at every byte.
func TestCutStateIsNeverShort(t *testing.T) {
	path := stateFile(t, state().Magic,
		append(row(tagAccount, 1, 100_000, 3), row(tagAccount, 2, 5, 0)...),
		row(tagAccount, 3, -7, 1),
		append(row(tagEntry, 9, 1, 2, 50, 1, 1), row(tagEntry, 10, 2, 1, 50, 2, 2)...),
		row(tagCounts, 3, 2))
	whole, err := os.ReadFile(path)
	expect.NoError(t, err)
	if got, err := replay(path); err != nil || len(got.accounts) != 3 || len(got.entries) != 2 {
		t.Fatalf("the whole file gave %+v, %v", got, err)
	}
	for length := range whole {
		expect.NoError(t, os.WriteFile(path, whole[:length], 0o600))
		wantRefused(t, path, "cut", length)
	}
	for at := range whole {
		bad := bytes.Clone(whole)
		bad[at] ^= 0x40
		expect.NoError(t, os.WriteFile(path, bad, 0o600))
		wantRefused(t, path, "changed", at)
	}
}

// wantRefused wants a *history.CutError or a *history.FormatError.
func wantRefused(t *testing.T, path, how string, at int) {
	t.Helper()
	_, err := replay(path)
	var cut *history.CutError
	var format *history.FormatError
	if !errors.As(err, &cut) && !errors.As(err, &format) {
		t.Errorf("%s at byte %d: got %v", how, at, err)
	}
}

func TestMalformedStates(t *testing.T) {
	account, entry, counts := row(tagAccount, 1, 2, 3), row(tagEntry, 1, 2, 3, 4, 5, 6), row(tagCounts, 1, 1)
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	tests := map[string][]byte{
		"too few accounts":     join(entry, counts),
		"too few rows":         join(account, counts),
		"a row too many":       join(account, entry, entry, counts),
		"a row after the end":  join(account, entry, counts, entry),
		"two ends":             join(account, entry, counts, counts),
		"an unknown tag":       join(account, []byte{77}, entry, counts),
		"half an account":      account[:2],
		"half a row":           join(account, entry[:3]),
		"an endless number":    join([]byte{tagAccount}, bytes.Repeat([]byte{0xff}, 20)),
		"counts without value": {tagCounts},
	}
	for name, payload := range tests {
		var format *history.FormatError
		path := stateFile(t, state().Magic, payload)
		if _, err := replay(path); !errors.As(err, &format) || format.Path != path {
			t.Errorf("%s: got %v", name, err)
		}
	}
	var format *history.FormatError
	if _, err := replay(stateFile(t, "ASSAYX01", join(account, entry, counts))); !errors.As(err, &format) {
		t.Errorf("another kind of file: got %v", err)
	}
	if _, err := replay(filepath.Join(t.TempDir(), "missing")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: got %v", err)
	}
}

func TestReplayStopsWhenToldTo(t *testing.T) {
	enough := errors.New("enough")
	path := saved(t, example(10))
	seen := 0
	err := Replay(path, func(Account) error {
		if seen++; seen == 3 {
			return enough
		}
		return nil
	}, func(Entry) error { t.Error("went on"); return nil })
	if !errors.Is(err, enough) || seen != 3 {
		t.Errorf("got %v after %d", err, seen)
	}
}

// FuzzReplay gives arbitrary frames: whatever they hold, a state without an
// error is one whose counts are right.
func FuzzReplay(f *testing.F) {
	f.Add(append(row(tagAccount, 1, 2, 3), row(tagCounts, 1, 0)...), []byte{})
	f.Add(row(tagAccount, 1, 2, 3), append(row(tagEntry, 1, 2, 3, 4, 5, 6), row(tagCounts, 1, 1)...))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		path := stateFile(t, state().Magic, first, second)
		got, err := replay(path)
		if err != nil {
			wantRefused(t, path, "arbitrary bytes", 0)
			return
		}
		again, err := replay(saved(t, &rows{got.accounts, got.entries}))
		if err != nil || !slices.Equal(again.accounts, got.accounts) || !slices.Equal(again.entries, got.entries) {
			t.Errorf("what was read does not come back: %v", err)
		}
		all := append(bytes.Clone(first), second...)
		end := row(tagCounts, int64(len(got.accounts)), int64(len(got.entries)))
		if !bytes.Contains(all, end[:1]) {
			t.Error("a state without counts was taken for whole")
		}
	})
}
