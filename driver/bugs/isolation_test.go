package bugs

import (
	"fmt"
	"slices"
	"testing"

	"assay/check"
	"assay/driver/drivertest"
	"assay/workload/isolation"
)

// isolationRun returns the results of a run on a new database, and how often the first bug struck.
func isolationRun(t *testing.T, e engine, seed uint64, test, model string, each int, seeded ...Seeded) ([]check.Result, int64) {
	t.Helper()
	c := isolation.Defaults()
	c.Test, c.Model, c.Keys = test, model, 4
	db := opened(t, e, isolation.Schema(), isolation.Bugs(), seed, seeded...)
	run := drivertest.ShortRun{Workload: isolation.Definition(), Config: &c, Seed: seed, Clients: 8, Each: each, Attempts: 3}
	return run.Judge(t.Context(), t, db).Results, strikesOf(t, db, Bug{Name: seeded[0].Name})
}

// kinds returns the evidence of violated checks as "check: kind".
func kinds(results []check.Result) (found []string) {
	for _, r := range results {
		for _, e := range r.Evidence {
			if r.Verdict == check.Violated {
				found = append(found, r.Name+": "+e.Kind)
			}
		}
	}
	return found
}

// untilNamed lengthens runs until a check named by the bug finds one of its kinds. In each run the
// check must be violated if the bug struck, unless its traces may pass, and not otherwise.
func untilNamed(t *testing.T, e engine, bug Bug, test, model string, chance float64) {
	t.Helper()
	for each := 40; each <= 2560; each *= 4 {
		results, strikes := isolationRun(t, e, 1, test, model, each, Seeded{bug.Name, chance})
		found, violated := kinds(results), false
		named := slices.ContainsFunc(bug.Kinds, func(kind string) bool {
			return slices.Contains(found, bug.Check+": "+kind) || slices.Contains(found, bug.Or+": "+kind)
		})
		for _, r := range results {
			violated = violated || r.Verdict == check.Violated && (r.Name == bug.Check || r.Name == bug.Or)
		}
		if violated && strikes == 0 || !violated && strikes > 0 && !bug.MayPass(test) {
			t.Errorf("%d operations a client: violated %v after %d strikes; found %q", each, violated, strikes, found)
		}
		if named {
			return
		}
	}
	t.Errorf("found none of %q", bug.Kinds)
}

// chanceOf is a bug's chance to strike in these tests; 1 if it has few occasions.
func chanceOf(bug Bug) float64 {
	if slices.Contains([]string{"write-skew", "read-skew", "stale-read", "session-rollback", "long-fork", "dirty-read", "internal", "lost-update"}, bug.Name) {
		return 1
	}
	return 0.1
}

// TestTrustEveryIsolationBug is convicted on all suitable data, and has no effect on others.
func TestTrustEveryIsolationBug(t *testing.T) {
	for _, bug := range isolation.Bugs() {
		chance := chanceOf(bug)
		for i, test := range append(slices.Clone(bug.Tests), "all") {
			engines := []engine{inMemory()}
			if i == 0 && chance < 1 { // the others need thousands of transactions
				engines = append(engines, onSQLite())
			}
			for _, e := range engines {
				t.Run(bug.Name+"/"+test+"/"+e.name, func(t *testing.T) {
					t.Parallel()
					if bug.Check != "" {
						untilNamed(t, e, bug, test, bug.Model, chance)
						return
					}
					results, strikes := isolationRun(t, e, 1, test, bug.Model, 60, Seeded{bug.Name, chance})
					if found := kinds(results); len(found) > 0 || strikes == 0 {
						t.Errorf("found %q after %d strikes", found, strikes)
					}
				})
			}
		}
		t.Run(bug.Name+"/elsewhere", func(t *testing.T) {
			t.Parallel()
			for _, test := range []string{"append", "register", "predicate", "pairs"} {
				if slices.Contains(bug.Tests, test) {
					continue
				}
				if results, strikes := isolationRun(t, inMemory(), 1, test, bug.Model, 40, Seeded{bug.Name, 1}); strikes != 0 || len(kinds(results)) > 0 {
					t.Errorf("%s: found %q after %d strikes", test, kinds(results), strikes)
				}
			}
		})
	}
}

// TestTimeMakesTheDifference: a stale read violates only models with real time, a session's
// forgotten write only models with sessions.
func TestTimeMakesTheDifference(t *testing.T) {
	for name, allowed := range map[string]map[string]bool{
		"stale-read":       {"serializable": true, "strong-session-serializable": true, "strict-serializable": false},
		"session-rollback": {"serializable": true, "strong-session-serializable": false, "strict-serializable": false},
	} {
		for model, valid := range allowed {
			for _, test := range []string{"append", "register"} {
				t.Run(fmt.Sprint(name, "/", model, "/", test), func(t *testing.T) {
					t.Parallel()
					if !valid {
						bug := Bug{Name: name, Check: "isolation", Kinds: []string{"G-single-item-realtime", "G-nonadjacent-item-realtime"}}
						if model == "strong-session-serializable" {
							bug.Kinds = []string{"G-single-item-process", "G-nonadjacent-item-process"}
						}
						untilNamed(t, inMemory(), bug, test, model, 1)
						return
					}
					for seed := range uint64(2) {
						if results, _ := isolationRun(t, inMemory(), seed, test, model, 150, Seeded{name, 0.5}); len(kinds(results)) != 0 {
							t.Errorf("seed %d: found %q", seed, kinds(results))
						}
					}
				})
			}
		}
	}
}
