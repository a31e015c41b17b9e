package bugs

import (
	"fmt"
	"slices"
	"testing"

	"assay/check"
	"assay/driver/drivertest"
	"assay/driver/mem"
	"assay/driver/sqlite"
	"assay/history"
	"assay/workload"
	"assay/workload/availability"
	"assay/workload/entity"
	"assay/workload/keyvalue"
)

// withBug is a Store with a bug that is hit now and then, in memory, where calls
// without a bug time out, or in a file.
func withBug(t *testing.T, table keyvalue.Table, inMemory bool, bug Bug) keyvalue.Store {
	chance := 0.1
	switch {
	case bug.Name == "truncated-read":
		chance = 1
	case bug.Check == keyvalue.CheckReads:
		chance = 0.5 // readers beside the writers may come to few reads
	}
	return onBoth(t, table.Workload, inMemory, 1, Seeded{bug.Name, chance},
		keyvalue.By(mem.Open).On(table), keyvalue.By(sqlite.Driver().Open).On(table))
}

// TestEveryAvailabilityBugIsFound by the checks that the bug names, and by no
// others.
func TestEveryAvailabilityBugIsFound(t *testing.T) {
	for _, bug := range For(availability.Name) {
		for i, policy := range append(availability.Policies(), availability.PolicyRetry) {
			inMemory := i < len(availability.Policies())
			t.Run(fmt.Sprint(bug.Name, "/", policy, "/", inMemory), func(t *testing.T) {
				t.Parallel()
				config := availability.Defaults()
				config.Policy, config.Readers = policy, 2
				store := withBug(t, availability.Table(), inMemory, bug)
				run := drivertest.ShortRun{Workload: availability.Definition(), Config: &config, Seed: 1, Clients: 3, Each: 60, Attempts: 50}
				wantConviction(t, bug, run.Judge(t.Context(), t, store).Results, store)
			})
		}
	}
}

// TestEveryEntityBugIsFound by the checks that the bug names, and by no others.
func TestEveryEntityBugIsFound(t *testing.T) {
	for _, bug := range For(entity.Name) {
		for _, inMemory := range []bool{true, false} {
			for _, attempts := range []int{1, 20} {
				t.Run(fmt.Sprint(bug.Name, "/", attempts, "/", inMemory), func(t *testing.T) {
					t.Parallel()
					config := entity.Defaults()
					config.Entities = 0 // a load does not bear timeouts
					store := withBug(t, entity.Table(), inMemory, bug)
					run := drivertest.ShortRun{Workload: entity.Definition(), Config: &config, Seed: 1, Clients: 4, Each: 80, Attempts: attempts, Idempotent: true}
					wantConviction(t, bug, run.Judge(t.Context(), t, store).Results, store)
				})
			}
		}
	}
}

// wantConviction fails the test unless the check that the bug names has found it,
// and no other has found anything that it must not.
func wantConviction(t *testing.T, bug Bug, results []check.Result, store workload.Store) {
	t.Helper()
	also := map[string][]string{"altered-row": {keyvalue.CheckReads}, "altered-field": {keyvalue.CheckRows, keyvalue.CheckReads}}
	found := false
	for _, r := range results {
		expected := r.Name == bug.Check
		if r.Verdict == check.Unknown || r.Verdict == check.Violated && !expected && !slices.Contains(also[bug.Name], r.Name) {
			t.Errorf("%s is %v: %s %+v", r.Name, r.Verdict, r.Detail, r.Evidence)
		}
		if !expected {
			continue
		}
		found = r.Verdict == check.Violated
		for _, e := range r.Evidence {
			if !slices.Contains(bug.Kinds, e.Kind) || e.Text == "" || len(e.Fields) == 0 {
				t.Errorf("evidence %+v, want one of %v", e, bug.Kinds)
			}
		}
	}
	if strikes := strikesOf(t, store, bug); found != (bug.Check != "") || strikes == 0 {
		t.Errorf("found is %v after %d strikes: %+v", found, strikes, results)
	}
}

// TestWhatIsReadOfOneRecord: what a bug has done to a record is what a client that
// reads it by its key is shown.
func TestWhatIsReadOfOneRecord(t *testing.T) {
	record := keyvalue.Record{Key: int64(1), Values: []keyvalue.Value{int64(7)}}
	for bug, want := range map[string]struct {
		outcome     history.Outcome
		found, same bool
		rows        int
	}{
		"reported-never-applied": {history.Committed, false, false, 0},
		"altered-row":            {history.Committed, true, false, 1},
		"duplicate-apply":        {history.Committed, true, true, 2},
		"extra-row":              {history.Committed, true, true, 2},
		"failed-but-applied":     {history.Failed, true, true, 1},
		"stale-read":             {history.Committed, false, false, 1},
		"altered-read":           {history.Committed, true, false, 1},
		lateApply:                {history.Unknown, false, false, 1}, // once Settle has returned
	} {
		for _, inMemory := range []bool{true, false} {
			table := availability.Table()
			store := onBoth(t, table.Workload, inMemory, 1, Seeded{bug, 1}, keyvalue.By(mem.Open).On(table), keyvalue.By(sqlite.Driver().Open).On(table))
			if err := store.Create(t.Context(), workload.Marker{}); err != nil {
				t.Fatal(err)
			}
			session, err := store.Session(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			wrote := session.Insert(t.Context(), record)
			got := session.Get(t.Context(), record.Key)
			session.Close()
			if wrote.Outcome != want.outcome || got.Found != want.found && bug != lateApply || got.Found && got.Record.Equal(record) != want.same && bug != lateApply {
				t.Errorf("%s: %+v, then %+v", bug, wrote, got)
			}
			rows := 0
			if err := store.Settle(t.Context()); err != nil {
				t.Error(err)
			}
			if err := store.Read(t.Context(), func(keyvalue.Record) error { rows++; return nil }); err != nil || rows != want.rows {
				t.Errorf("%s: %d records, want %d; %v", bug, rows, want.rows, err)
			}
		}
	}
}
