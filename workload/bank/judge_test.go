package bank

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/check"
	"assay/check/ledger"
	"assay/history"
	"assay/internal/expect"
	"assay/workload"
	"assay/workload/definition"
)

// books is a run by hand: six operations of one client, one of each outcome
// and a second committed and unknown one.
type books struct {
	config   Config
	seed     uint64
	outcomes []history.Outcome
	store    *rows
	// reserved is how long the history is once the operations are reserved,
	// and so before the first of them starts.
	reserved int64
}

func newBooks(t *testing.T) *books {
	t.Helper()
	b := &books{config: Config{Accounts: 50, Keys: "uniform", Payroll: 0.2, Loaders: 1}, seed: 11}
	b.outcomes = []history.Outcome{
		history.Committed, history.Rejected, history.Failed, history.Unknown, history.Committed, history.Unknown,
	}
	b.store = &rows{accounts: opening(b.config.Accounts)}
	for seq, outcome := range b.outcomes {
		if outcome == history.Committed || seq == 3 {
			b.apply(NewTransfers(b.config, b.seed).At(workload.OperationID(0, uint64(seq))))
		}
	}
	return b
}

// opening are accounts as they are loaded.
func opening(n int64) (all []Account) {
	for id := int64(1); id <= n; id++ {
		all = append(all, Account{ID: id, Balance: NewAccounts(n).Opening(id)})
	}
	return all
}

func (b *books) apply(t Transfer) {
	source, destination := &b.store.accounts[t.Source-1], &b.store.accounts[t.Destination-1]
	source.Balance -= t.Amount
	source.Version++
	destination.Balance += t.Amount
	destination.Version++
	b.store.entries = append(b.store.entries, Entry{t, source.Version, destination.Version})
}

// files writes the run down.
func (b *books) files(t *testing.T) definition.Evidence {
	t.Helper()
	e := definition.Evidence{History: filepath.Join(t.TempDir(), "history.bin"), State: saved(t, b.store)}
	w, err := history.Create(e.History, history.Header{Run: "by hand", Workload: "bank"})
	expect.NoError(t, err)
	expect.NoError(t, w.Reserve(history.Reservation{Client: 0, UpTo: 100}))
	b.reserved = size(t, e.History)
	for seq, outcome := range b.outcomes {
		op := history.Op{Seq: uint64(seq), Attempt: 1, Last: true, Kind: KindTransfer, Outcome: outcome, Final: outcome,
			Due: int64(seq), First: int64(seq), Start: int64(seq), End: int64(seq) + 1}
		expect.NoError(t, w.Record(&op))
	}
	expect.NoError(t, w.Close())
	return e
}

func verdicts(t *testing.T, j definition.Judgement) map[string]check.Verdict {
	t.Helper()
	out := map[string]check.Verdict{}
	for _, r := range j.Results {
		out[r.Name] = r.Verdict
		if r.Detail == "" {
			t.Errorf("%s has no detail", r.Name)
		}
	}
	if len(out) < 3 {
		t.Errorf("only %d checks", len(out))
	}
	return out
}

func TestJudge(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(*books)
		// what the three checks must say
		total, accounts, transfers check.Verdict
	}{
		{"nothing wrong", func(*books) {}, check.Valid, check.Valid, check.Valid},
		{"a lost transfer, without a trace", func(b *books) {
			last := b.store.entries[2]
			b.store.entries = b.store.entries[:2]
			b.undo(last)
		}, check.Valid, check.Valid, check.Violated},
		{"a lost credit", func(b *books) {
			b.store.accounts[b.store.entries[2].Destination-1].Balance--
		}, check.Violated, check.Violated, check.Valid},
		{"a rejected transfer that was done", func(b *books) {
			b.apply(b.transfer(1))
		}, check.Valid, check.Valid, check.Violated},
		{"a failed transfer that was done", func(b *books) {
			b.apply(b.transfer(2))
		}, check.Valid, check.Valid, check.Violated},
		{"an unknown transfer that was done", func(b *books) {
			b.apply(b.transfer(5))
		}, check.Valid, check.Valid, check.Valid},
		{"a transfer that nobody recorded but may have asked for", func(b *books) {
			b.apply(b.transfer(99))
		}, check.Valid, check.Valid, check.Valid},
		{"a transfer that nobody can have asked for", func(b *books) {
			b.apply(b.transfer(100))
		}, check.Valid, check.Valid, check.Violated},
		{"another amount in the journal", func(b *books) {
			b.store.entries[0].Amount++
		}, check.Valid, check.Violated, check.Violated},
		{"a missing account", func(b *books) {
			b.store.accounts = b.store.accounts[:49]
		}, check.Violated, check.Unknown, check.Valid},
		{"the books of another seed", func(b *books) { b.seed++ }, check.Valid, check.Valid, check.Violated},
		{"nothing committed", func(b *books) {
			b.outcomes = []history.Outcome{history.Unknown, history.Unknown, history.Unknown, history.Unknown, history.Unknown}
		}, check.Unknown, check.Unknown, check.Unknown},
	}
	for _, test := range tests {
		b := newBooks(t)
		test.spoil(b)
		j, err := b.config.Judge(t.Context(), b.seed, b.files(t))
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		got := verdicts(t, j)
		want := map[string]check.Verdict{"total": test.total, "accounts": test.accounts, "transfers": test.transfers}
		for name, verdict := range want {
			if got[name] != verdict {
				t.Errorf("%s: %s is %v, want %v", test.name, name, got[name], verdict)
			}
		}
	}
}

func (b *books) transfer(seq uint64) Transfer {
	return NewTransfers(b.config, b.seed).At(workload.OperationID(0, seq))
}

func (b *books) undo(e Entry) {
	source, destination := &b.store.accounts[e.Source-1], &b.store.accounts[e.Destination-1]
	source.Balance += e.Amount
	source.Version--
	destination.Balance -= e.Amount
	destination.Version--
}

func TestJudgeTallies(t *testing.T) {
	b := newBooks(t)
	b.apply(b.transfer(5))
	j, err := b.config.Judge(t.Context(), b.seed, b.files(t))
	expect.NoError(t, err)
	if want := (history.Counts{Committed: 2, Rejected: 1, Failed: 1, Unknown: 2}); j.Counts != want ||
		!slices.Equal(j.Notes, []string{"of 2 unknown transfers 2 turned out done, none not done"}) {
		t.Errorf("counts %+v, notes %q", j.Counts, j.Notes)
	}
}

// TestJudgeNeverTrustsHalfTheEvidence: what is missing is never taken for
// right, and what is wrong stays wrong.
func TestJudgeNeverTrustsHalfTheEvidence(t *testing.T) {
	spoil := map[string]func(*testing.T, *definition.Evidence){
		"no state":    func(t *testing.T, e *definition.Evidence) { remove(t, e.State) },
		"a cut state": func(t *testing.T, e *definition.Evidence) { cut(t, e.State, 1) },
		"in flight":   func(_ *testing.T, e *definition.Evidence) { e.InFlight = "a session is still there" },
		"an empty one": func(t *testing.T, e *definition.Evidence) {
			e.State = stateFile(t, state().Magic, row(tagCounts, 0, 0))
		},
	}
	for name, spoil := range spoil {
		b := newBooks(t)
		e := b.files(t)
		spoil(t, &e)
		j, err := b.config.Judge(t.Context(), b.seed, e)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for name2, verdict := range verdicts(t, j) {
			if verdict != check.Unknown && !(name == "an empty one" && verdict == check.Violated) {
				t.Errorf("%s: %s is %v", name, name2, verdict)
			}
		}
	}
	b := newBooks(t)
	b.store.entries[0].Amount++
	e := b.files(t)
	e.InFlight = "a session is still there"
	j, err := b.config.Judge(t.Context(), b.seed, e)
	if err != nil || check.Combine(j.Results) != check.Violated {
		t.Errorf("an altered row in an incomplete journal: %v, %v", check.Combine(j.Results), err)
	}
}

func TestJudgeRefusesWhatItCannotRead(t *testing.T) {
	b := newBooks(t)
	good := b.files(t)
	var format *history.FormatError
	e := good
	e.State = stateFile(t, state().Magic, []byte{77})
	if _, err := b.config.Judge(t.Context(), b.seed, e); !errors.As(err, &format) || format.Path != e.State {
		t.Errorf("a malformed state: %v", err)
	}
	e = good
	e.History = good.State
	if _, err := b.config.Judge(t.Context(), b.seed, e); !errors.As(err, &format) || format.Path != e.History {
		t.Errorf("a state in the place of the history: %v", err)
	}
	e.History = filepath.Join(t.TempDir(), "missing")
	if _, err := b.config.Judge(t.Context(), b.seed, e); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no history: %v", err)
	}
	b.config.Accounts = 0
	if _, err := b.config.Judge(t.Context(), b.seed, good); err == nil {
		t.Error("a configuration that cannot be used was used")
	}
}

// TestJudgeOfAKilledRun cuts the history at every byte that a kill can leave: a
// history that ends early convicts nobody.
func TestJudgeOfAKilledRun(t *testing.T) {
	b := newBooks(t)
	e := b.files(t)
	for size(t, e.History) > b.reserved {
		cut(t, e.History, 1)
		j, err := b.config.Judge(t.Context(), b.seed, e)
		if err != nil {
			t.Fatalf("at byte %d: %v", size(t, e.History), err)
		}
		if got := check.Combine(j.Results); got == check.Violated {
			t.Fatalf("at byte %d the run was convicted: %+v", size(t, e.History), j.Results)
		}
		if j.Counts.Committed+j.Counts.Unknown < 3 {
			t.Fatalf("at byte %d: counts %+v", size(t, e.History), j.Counts)
		}
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	expect.NoError(t, os.Remove(path))
}

// cut takes bytes off the end of a file.
func cut(t *testing.T, path string, bytes int64) {
	t.Helper()
	expect.NoError(t, os.Truncate(path, size(t, path)-bytes))
}

func size(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	expect.NoError(t, err)
	return info.Size()
}

func TestSameBytes(t *testing.T) {
	folder := t.TempDir()
	file := func(name string, content string) string {
		path := filepath.Join(folder, name)
		expect.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	long := strings.Repeat("0123456789abcdef", 8<<10)
	one := file("one", long)
	for name, c := range map[string]struct {
		content string
		same    bool
	}{
		"same": {long, true}, "shorter": {long[:len(long)-1], false}, "half": {long[:len(long)/2], false}, "longer": {long + "0", false},
		"other": {long[:len(long)-1] + "x", false}, "empty": {"", false},
	} {
		other := file(name, c.content)
		if sameBytes(one, other) != c.same || sameBytes(other, one) != c.same || !sameBytes(other, other) {
			t.Errorf("%s: not %v", name, c.same)
		}
	}
	if sameBytes(one, filepath.Join(folder, "none")) || sameBytes(filepath.Join(folder, "none"), one) {
		t.Error("a file that is not there is the same")
	}
}

// TestAServerThatTakesWritesOfItsOwn leaves it unknown whether replicas agree. So does one that
// is down, unless another differs.
func TestAServerThatTakesWritesOfItsOwn(t *testing.T) {
	for _, c := range []struct {
		own, differs bool
		want         check.Verdict
	}{{false, false, check.Unknown}, {false, true, check.Violated}, {true, false, check.Unknown}, {true, true, check.Unknown}} {
		b := newBooks(t)
		e := b.files(t)
		all := []savedReplica{{Name: "n2", File: filepath.Base(e.State)}, {Name: "n3", Problem: "it says why", OwnWrites: c.own}}
		if c.differs {
			b.store.accounts[0].Balance++
			all[0].File = "other.bin"
			expect.NoError(t, os.Rename(saved(t, b.store), filepath.Join(filepath.Dir(e.State), all[0].File)))
		}
		expect.NoError(t, history.WriteJSON(filepath.Join(filepath.Dir(e.State), fileReplicas), all))
		j, err := b.config.Judge(t.Context(), b.seed, e)
		expect.NoError(t, err)
		at := slices.IndexFunc(j.Results, func(r check.Result) bool { return r.Name == ledger.CheckReplicas })
		if at < 0 || j.Results[at].Verdict != c.want || !strings.Contains(j.Results[at].Detail, "it says why") {
			t.Errorf("%+v: %+v", c, j.Results)
		}
	}
}
