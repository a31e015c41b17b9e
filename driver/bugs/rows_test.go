package bugs

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"assay/check"
	"assay/driver/drivertest"
	"assay/driver/mem"
	"assay/driver/sqlite"
	"assay/workload"
	"assay/workload/bulkupdate"
	"assay/workload/candles"
	"assay/workload/script"
)

// onBoth is a Store with a bug, in memory or in a file.
func onBoth[S workload.Store](t *testing.T, name string, inMemory bool, seed uint64, bug Seeded, inMem, inFile func(context.Context, workload.Target) (S, error)) S {
	t.Helper()
	open, address := inFile, "sqlite:"+filepath.Join(t.TempDir(), "bugs.db")+"?synchronous=off"
	if inMemory {
		open, address = inMem, "mem://"
	}
	store, err := open(t.Context(), workload.Target{Address: address})
	if err != nil {
		t.Fatal(err)
	}
	wrapped, err := Wrap(store, name, []Seeded{bug}, seed)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = wrapped.Close() }) // the run may have closed it
	return wrapped.(S)
}

// named fails a test unless the results are what a bug that has taken effect so
// often must leave: the check that it names is violated, with one of its kinds, and
// no other than those that it names.
func named(t *testing.T, bug Bug, strikes int64, results []check.Result) {
	t.Helper()
	for _, r := range results {
		violated := r.Verdict == check.Violated
		switch {
		case violated && (strikes == 0 || r.Name != bug.Check && r.Name != bug.Or):
			t.Errorf("%s: %s is violated after %d strikes: %s", bug.Name, r.Name, strikes, r.Evidence[0].Text)
		case !violated && strikes > 0 && r.Name == bug.Check && !bug.Passing:
			t.Errorf("%s: %s is %v after %d strikes: %s", bug.Name, r.Name, r.Verdict, strikes, r.Detail)
		}
		for _, e := range r.Evidence {
			if r.Name == bug.Check && !slices.Contains(bug.Kinds, e.Kind) {
				t.Errorf("%s: evidence %+v, want one of %v", bug.Name, e, bug.Kinds)
			}
		}
	}
}

func strikesOf(t *testing.T, store workload.Store, bug Bug) int64 {
	t.Helper()
	size, err := store.Size(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return size.Rows[StrikesOf(bug.Name)]
}

func TestEveryBulkUpdateBugIsFound(t *testing.T) {
	for _, bug := range For(bulkupdate.Name) {
		chance := 0.3
		if bug.Name == "truncated-read" {
			chance = 1
		}
		for i, inMemory := range []bool{true, true, false} {
			seed := uint64(i)
			t.Run(fmt.Sprint(bug.Name, "/", i), func(t *testing.T) {
				t.Parallel()
				store := onBoth(t, bulkupdate.Name, inMemory, seed, Seeded{bug.Name, chance}, bulkupdate.Opener(mem.Open), bulkupdate.Opener(sqlite.Driver().Open))
				j := drivertest.ShortRun{Workload: bulkupdate.Definition(), Attempts: 1, Seed: seed,
					Config: &bulkupdate.Config{Users: 40, Documents: 10, Workers: "1,3,5", Field: bulkupdate.FieldRandom, Loaders: 2}}.Judge(t.Context(), t, store)
				strikes := strikesOf(t, store, bug)
				named(t, bug, strikes, j.Results)
				found := slices.ContainsFunc(j.Results, func(r check.Result) bool { return r.Verdict == check.Violated })
				if found != (bug.Check != "") || strikes == 0 {
					t.Errorf("found %v after %d strikes", found, strikes)
				}
			})
		}
	}
}

// TestEveryCandleBugIsFound: one strike is enough.
func TestEveryCandleBugIsFound(t *testing.T) {
	config := candles.Defaults()
	config.Candles, config.Tickers, config.Batch, config.Loaders = 900, 6, 50, 2
	config.Queries, config.Latest, config.Intervals, config.Repeats = 60, 10, 3, 5
	for _, bug := range For(candles.Name) {
		t.Run(bug.Name, func(t *testing.T) {
			t.Parallel()
			struck := int64(0)
			for seed := range uint64(4) {
				store := onBoth(t, candles.Name, seed < 3, seed, Seeded{bug.Name, 0.05}, candles.Opener(mem.Open), candles.Opener(sqlite.Driver().Open))
				run := drivertest.ShortRun{Workload: candles.Definition(), Config: &config, Seed: seed, Clients: 2, Each: 1, Attempts: 1}
				j := run.Judge(t.Context(), t, store)
				strikes := strikesOf(t, store, bug)
				named(t, bug, strikes, j.Results)
				struck += strikes
			}
			if struck == 0 {
				t.Error("never struck")
			}
		})
	}
}

// TestEveryScriptBugIsFound in the bank of the examples.
func TestEveryScriptBugIsFound(t *testing.T) {
	config := script.Defaults()
	for _, flag := range config.Flags() {
		if file, is := flag.Value.(interface{ Set(string) error }); is && flag.Name == "script" {
			if err := file.Set(filepath.Join("..", "..", "examples", "bank.star")); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, bug := range For(script.Name) {
		t.Run(bug.Name, func(t *testing.T) {
			t.Parallel()
			store := onBoth(t, script.Name, false, 1, Seeded{bug.Name, 1}, nil, script.Opener(sqlite.Driver().Open))
			run := drivertest.ShortRun{Workload: script.Definition(), Config: &config, Seed: 1, Clients: 2, Each: 60, Attempts: 1}
			results := run.Judge(t.Context(), t, store).Results
			strikes := strikesOf(t, store, bug)
			named(t, bug, strikes, results)
			if found := check.Combine(results) == check.Violated; strikes == 0 || found != (bug.Check != "") {
				t.Errorf("found %v after %d strikes: %+v", found, strikes, results)
			}
		})
	}
}
