package bugs

import (
	"path/filepath"
	"slices"
	"testing"

	"assay/check"
	"assay/driver/drivertest"
	"assay/driver/sqlite"
	"assay/workload"
	"assay/workload/script"
)

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
	for _, bug := range script.Bugs() {
		t.Run(bug.Name, func(t *testing.T) {
			t.Parallel()
			inner, err := script.Opener(sqlite.Driver().Open)(t.Context(), workload.Target{Address: onSQLite().address(t)})
			if err != nil {
				t.Fatal(err)
			}
			store := Wrap(inner, []Seeded{{bug.Name, 1}}, 1)
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
