package runner

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/check"
	"assay/history"
	"assay/internal/expect"
	"assay/internal/yamlfile"
	"assay/report"
	"assay/runner/readback"
	"assay/workload/bank"
	"assay/workload/definition"
)

// TestRecheckKeepsTheRunsNotes: the run's own notes stay, in result and page, and no note is
// doubled.
func TestRecheckKeepsTheRunsNotes(t *testing.T) {
	t.Parallel()
	first := carryOut(t, small("", 5, 300))
	const note, stale = "the servers are gone & nobody misses them", noteNoSize + ": it was not told"
	_, r, err := readRun(first.Folder)
	expect.NoError(t, err)
	r.RunNotes = []string{note, stale}
	expect.NoError(t, writeResult(first.Folder, r))
	for range 2 {
		again := recheck(t, first.Folder)
		if want := append([]string{note, stale}, first.Result.Notes...); !slices.Equal(again.Result.Notes, want) {
			t.Errorf("notes %q, want %q", again.Result.Notes, want)
		}
		keepsSchema(t, again.Folder)
		if page := string(read(t, again.Report)); !strings.Contains(page, "the servers are gone &amp; nobody misses them") {
			t.Error("the page lacks the run's note")
		}
	}
	// The second reading gives the database's size.
	remove(t, filepath.Join(first.Folder, bank.FileState))
	if again := recheck(t, first.Folder); !slices.Equal(again.Result.RunNotes, []string{note}) || slices.Contains(again.Result.Notes, stale) {
		t.Errorf("notes %q, of the run %q", again.Result.Notes, again.Result.RunNotes)
	}
}

func TestRecheckReadsOnlyItsOwnRun(t *testing.T) {
	t.Parallel()
	file := "sqlite:" + filepath.Join(t.TempDir(), "bank.sqlite")
	first := carryOut(t, small(file, 5, 300))
	remove(t, filepath.Join(first.Folder, bank.FileState))
	second := carryOut(t, small(file, 5, 300)) // even with the same seed
	wantOther(t, first, RecheckOptions{}, second.Result.Run)
	// The same with a given address, and with nothing left.
	wantOther(t, first, RecheckOptions{Database: file, Again: true}, second.Result.Run)
	wantInput(t, first.Folder, RecheckOptions{Database: "mem://"}, "holds nothing of assay's")
	wantInput(t, first.Folder, RecheckOptions{Database: "sqlite:" + filepath.Join(t.TempDir(), "none")}, "holds nothing of assay's")
	if exists(first.Folder, bank.FileState) {
		t.Error("another run's state was kept")
	}
	// The second run is untouched.
	remove(t, filepath.Join(second.Folder, bank.FileState))
	sameFigures(t, recheck(t, second.Folder).Result, second.Result)
}

func wantInput(t *testing.T, folder string, o RecheckOptions, part string) {
	t.Helper()
	o.Progress = &diary{}
	_, err := Recheck(t.Context(), folder, o)
	if !is[*report.InputError](err) || !strings.Contains(err.Error(), part) {
		t.Errorf("got %v, want an report.InputError that says %q", err, part)
	}
}

func TestRecheckOfWhatIsNoRun(t *testing.T) {
	t.Parallel()
	whole := carryOut(t, small("mem://", 1, 300)).Folder
	for name, spoil := range map[string]func(folder string){
		"an empty folder":   func(folder string) { clear(t, folder) },
		"no scenario":       func(folder string) { remove(t, filepath.Join(folder, FileScenario)) },
		"no result":         func(folder string) { remove(t, filepath.Join(folder, FileResult)) },
		"no history":        func(folder string) { remove(t, filepath.Join(folder, FileHistory)) },
		"half a result":     func(folder string) { truncate(t, filepath.Join(folder, FileResult)) },
		"half a scenario":   func(folder string) { truncate(t, filepath.Join(folder, FileScenario)) },
		"an empty history":  func(folder string) { empty(t, filepath.Join(folder, FileHistory)) },
		"an empty state":    func(folder string) { empty(t, filepath.Join(folder, bank.FileState)) },
		"a broken history":  func(folder string) { flip(t, filepath.Join(folder, FileHistory)) },
		"another's history": func(folder string) { swap(t, folder) },
		"another seed":      func(folder string) { reseed(t, folder) },
	} {
		folder := filepath.Join(t.TempDir(), "run")
		expect.NoError(t, os.CopyFS(folder, os.DirFS(whole)))
		spoil(folder)
		out, err := Recheck(t.Context(), folder, RecheckOptions{Progress: &diary{}})
		if !is[*report.InputError](err) && !is[*ScenarioError](err) && !is[*yamlfile.Error](err) && !is[*history.FormatError](err) {
			t.Errorf("%s: got %v, %+v", name, err, out.Result)
		}
		if err != nil && (!strings.Contains(err.Error(), folder) || strings.Count(err.Error(), folder) > 1) {
			t.Errorf("%s: %q names the folder not at all or twice", name, err)
		}
	}
	wantInput(t, filepath.Join(t.TempDir(), "missing"), RecheckOptions{}, "holds no run")
}

// TestTamperingIsFound changes one thing in a valid run's files.
func TestTamperingIsFound(t *testing.T) {
	t.Parallel()
	s := small("mem://", 1, 3000)
	s.Config.(*bank.Config).Payroll = 0 // so that some are rejected
	s.Load.Clients = 3
	folder := carryOut(t, s).Folder
	original := map[string][]byte{}
	for _, name := range []string{FileHistory, bank.FileState} {
		original[name] = read(t, filepath.Join(folder, name))
	}
	tests := map[string]struct {
		tamper func()
		checks []string
	}{
		"nothing": {func() { rewriteHistory(t, folder, func(*history.Op) {}) }, nil},
		"a committed one is said to have failed": {func() {
			rewriteHistory(t, folder, once(history.Committed, history.Failed))
		}, []string{"transfers"}},
		"a committed one is said to be rejected": {func() {
			rewriteHistory(t, folder, once(history.Committed, history.Rejected))
		}, []string{"transfers"}},
		"a rejected one is said to be committed": {func() {
			rewriteHistory(t, folder, once(history.Rejected, history.Committed))
		}, []string{"transfers"}},
		"a version was acknowledged otherwise": {func() {
			done := false
			rewriteHistory(t, folder, func(op *history.Op) {
				if !done && op.Kind == bank.KindTransfer && len(op.Values) == 4 {
					op.Values[1]++
					done = true
				}
			})
		}, []string{"transfers"}},
		"an amount": {func() {
			rewriteState(t, folder, nil, func(i int, e *bank.Entry) bool { e.Amount += int64(b2i(i == 7)); return true })
		}, []string{"accounts", "transfers"}},
		"a row less": {func() {
			rewriteState(t, folder, nil, func(i int, _ *bank.Entry) bool { return i != 7 })
		}, []string{"accounts", "transfers"}},
		"a balance": {func() {
			rewriteState(t, folder, func(i int, a *bank.Account) bool { a.Balance -= int64(b2i(i == 7)); return true }, nil)
		}, []string{"accounts", "total"}},
		"a version": {func() {
			rewriteState(t, folder, func(i int, a *bank.Account) bool { a.Version += int64(b2i(i == 7)); return true }, nil)
		}, []string{"accounts"}},
		"an account less": {func() {
			rewriteState(t, folder, func(i int, _ *bank.Account) bool { return i != 99 }, nil)
		}, []string{"total"}},
	}
	for name, test := range tests {
		for file, text := range original {
			put(t, filepath.Join(folder, file), string(text))
		}
		test.tamper()
		r := recheck(t, folder).Result
		if got := violated(r); !slices.Equal(got, test.checks) {
			t.Errorf("%s: violated are %v, want %v", name, got, test.checks)
		}
		want := check.Valid
		if test.checks != nil {
			want = check.Violated
		}
		if r.Verdict != want {
			t.Errorf("%s: %v, want %v", name, r.Verdict, want)
		}
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestWhatHadNotSettledIsNotValid, also later by its files alone.
func TestWhatHadNotSettledIsNotValid(t *testing.T) {
	folder := carryOut(t, small("mem://", 1, 500)).Folder
	path := filepath.Join(folder, FileHistory)
	rewrite(t, path, func(*history.Op) {}, func(e history.Event) bool { return e.Name != history.EventQuiesced })
	remove(t, filepath.Join(folder, readback.File)) // as earlier versions left it
	if r := recheck(t, folder).Result; r.Verdict != check.Unknown {
		t.Errorf("the verdict is %v: %s", r.Verdict, details(r))
	}
}

// TestAKilledRun cuts the history and removes later files.
func TestAKilledRun(t *testing.T) {
	t.Parallel()
	first := carryOut(t, small("", 1, 3000)) // no more than are reserved at once
	truncate(t, filepath.Join(first.Folder, FileHistory))
	kill(t, first, bank.FileState)
	r := recheck(t, first.Folder).Result
	if r.Verdict != check.Valid {
		t.Errorf("%v: %s", r.Verdict, details(r))
	}
	if r.Measurement.Verdict != invalid || !strings.Contains(reasons(r), "the run was cut:") {
		t.Errorf("measurement %+v", r.Measurement)
	}
	if r.Outcomes.Committed == 0 || r.Outcomes.Committed >= first.Result.Outcomes.Committed {
		t.Errorf("%d of %d committed", r.Outcomes.Committed, first.Result.Outcomes.Committed)
	}
	if !exists(first.Folder, FileReport) {
		t.Error("no page was made")
	}
	keepsSchema(t, first.Folder)
}

func TestReportMakesThePageAgain(t *testing.T) {
	first := carryOut(t, small("mem://", 1, 200))
	page, result := read(t, first.Report), read(t, filepath.Join(first.Folder, FileResult))
	remove(t, first.Report)
	again, err := Report(first.Folder)
	expect.NoError(t, err)
	if string(read(t, again.Report)) != string(page) || string(read(t, filepath.Join(first.Folder, FileResult))) != string(result) {
		t.Error("the page or the result is another")
	}
	sameFigures(t, again.Result, first.Result)
	if _, err := Report(t.TempDir()); !is[*report.InputError](err) {
		t.Errorf("of an empty folder: %v", err)
	}
}

func once(from, to history.Outcome) func(*history.Op) {
	done := false
	return func(op *history.Op) {
		if !done && op.Kind == bank.KindTransfer && op.Final == from {
			op.Outcome, op.Final, op.Values, done = to, to, nil, true
		}
	}
}

func rewriteHistory(t *testing.T, folder string, change func(*history.Op)) {
	t.Helper()
	rewrite(t, filepath.Join(folder, FileHistory), change, func(history.Event) bool { return true })
}

func rewrite(t *testing.T, path string, change func(*history.Op), keep func(history.Event) bool) {
	t.Helper()
	old := path + ".old"
	expect.NoError(t, os.Rename(path, old))
	defer remove(t, old)
	var w *history.Writer
	_, err := history.Read(old, history.Visitor{
		Header:      func(h history.Header) (err error) { w, err = history.Create(path, h); return err },
		Reservation: func(r history.Reservation) error { return w.Reserve(r) },
		Op:          func(op *history.Op) error { change(op); return w.Record(op) },
		Event: func(e history.Event) error {
			if !keep(e) {
				return nil
			}
			return w.Mark(e)
		},
	})
	if err = errors.Join(err, w.Flush(), w.Close()); err != nil {
		t.Fatal(err)
	}
}

// rewriteState changes the state. A function that returns false drops the row.
func rewriteState(t *testing.T, folder string, account func(int, *bank.Account) bool, entry func(int, *bank.Entry) bool) {
	t.Helper()
	path := filepath.Join(folder, bank.FileState)
	accounts, entries := -1, -1
	file := definition.RowFile{Magic: "ASSAYS02", First: 1, End: 3, Columns: []int{3, 6}, Apart: true}
	expect.NoError(t, file.Save(path, func(int64) {}, func(w *definition.RowWriter) error {
		return bank.Replay(path, func(a bank.Account) error {
			if accounts++; account != nil && !account(accounts, &a) {
				return nil
			}
			return w.Put(0, a.ID, a.Balance, a.Version)
		}, func(e bank.Entry) error {
			if entries++; entry != nil && !entry(entries, &e) {
				return nil
			}
			return w.Put(1, e.ID, e.Source, e.Destination, e.Amount, e.SourceVersion, e.DestinationVersion)
		})
	}))
}

func remove(t *testing.T, path string) {
	t.Helper()
	expect.NoError(t, os.Remove(path))
}

func clear(t *testing.T, folder string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	expect.NoError(t, err)
	for _, e := range entries {
		remove(t, filepath.Join(folder, e.Name()))
	}
}

func truncate(t *testing.T, path string) {
	t.Helper()
	expect.NoError(t, os.Truncate(path, int64(len(read(t, path))/2)))
}

func empty(t *testing.T, path string) {
	t.Helper()
	expect.NoError(t, os.Truncate(path, 0))
}

func flip(t *testing.T, path string) {
	t.Helper()
	text := read(t, path)
	text[len(text)/2] ^= 1
	put(t, path, string(text))
}

func swap(t *testing.T, folder string) {
	t.Helper()
	other := carryOut(t, small("mem://", 1, 300))
	put(t, filepath.Join(folder, FileHistory), string(read(t, filepath.Join(other.Folder, FileHistory))))
}

func reseed(t *testing.T, folder string) {
	t.Helper()
	path := filepath.Join(folder, FileScenario)
	text := strings.Replace(string(read(t, path)), "seed: 1", "seed: 2", 1)
	put(t, path, text)
}
