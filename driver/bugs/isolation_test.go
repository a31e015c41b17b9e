package bugs

import (
	"slices"
	"strings"
	"testing"

	"assay/driver/drivertest"
	"assay/workload/isolation"
)

// judged is a run on a new database, with the defaults but for the test.
func judged(t *testing.T, e engine, seed uint64, test, model string, each int, seeded ...Seeded) isolation.Judgement {
	t.Helper()
	c := isolation.Defaults()
	c.Test, c.Model = test, model
	run := drivertest.IsolationRun{Config: c, Seed: seed, Clients: 8, Each: each, Attempts: 3}
	return run.Judge(t.Context(), t, opened(t, e, isolation.Name, e.isolation, seed, seeded...).(isolation.Store))
}

// kinds returns the kinds of evidence that violated checks have, as "check: kind".
func kinds(j isolation.Judgement) (found []string) {
	for _, r := range j.Results {
		for _, e := range r.Evidence {
			if r.Verdict.String() == "violated" {
				found = append(found, r.Name+": "+e.Kind)
			}
		}
	}
	return found
}

// TestEveryIsolationBugIsConvicted: the named check finds the named kind on each
// kind of data in which the bug can be and has enough occasions.
func TestEveryIsolationBugIsConvicted(t *testing.T) {
	everywhere := []string{"append", "register", "all"}
	cases := map[string]struct {
		chance float64
		on     []string
	}{
		"duplicate-apply": {0.05, []string{"append", "all"}}, "extra-row": {0.05, []string{"append", "all"}},
		"split-brain": {0.05, []string{"append", "all"}}, "truncated-read": {0.05, []string{"append", "all"}},
		"lost-ack": {0.05, []string{"append", "all"}}, "reported-never-applied": {0.05, []string{"append", "all"}},
		"phantom": {0.05, []string{"predicate", "all"}}, "failed-but-applied": {0.05, everywhere},
		"late-apply": {0.05, everywhere}, "aborted-read": {0.05, everywhere}, "session-rollback": {0.5, everywhere},
		"internal": {0.5, everywhere}, "lost-update": {0.5, everywhere}, "write-skew": {1, everywhere}, "read-skew": {1, everywhere},
		"stale-read": {1, []string{"append", "all"}}, "long-fork": {1, []string{"append"}}, "dirty-read": {1, []string{"append", "register"}},
	}
	for _, bug := range For(isolation.Name) {
		c, known := cases[bug.Name]
		if !known {
			t.Errorf("there is no case for %s", bug.Name)
		}
		for i, test := range c.on {
			engines := []engine{inMemory()}
			if i == 0 && c.chance < 1 { // the others need thousands of transactions
				engines = append(engines, onSQLite())
			}
			for _, e := range engines {
				found := kinds(judged(t, e, 1, test, bug.Model, 600, Seeded{bug.Name, c.chance}))
				ok := slices.ContainsFunc(bug.Kinds, func(kind string) bool { return slices.Contains(found, bug.Check+": "+kind) })
				if ok != (bug.Check != "") || bug.Check == "" && len(found) > 0 {
					t.Errorf("%s, %s on %s: found %q, want %s with one of %q", bug.Name, test, e.name, found, bug.Check, bug.Kinds)
				}
			}
		}
	}
}

// TestWriteSkewBreaksPairs: and is allowed where the model allows it.
func TestWriteSkewBreaksPairs(t *testing.T) {
	for seed := range uint64(4) {
		skew := Seeded{"write-skew", 0.1}
		if found := kinds(judged(t, inMemory(), seed, "pairs", "", 500, skew)); !slices.Contains(found, "pairs: write-skew") {
			t.Errorf("seed %d: found %q", seed, found)
		}
		if found := kinds(judged(t, inMemory(), seed, "all", "snapshot-isolation", 500, skew)); len(found) > 0 {
			t.Errorf("seed %d: found %q under snapshot isolation", seed, found)
		}
	}
}

// TestTimeMakesTheDifference: a stale read is none where the model does not
// speak of real time, and what a session has forgotten is one only where the
// model speaks of sessions.
func TestTimeMakesTheDifference(t *testing.T) {
	for bug, allowed := range map[string]map[string]bool{
		"stale-read":       {"serializable": true, "strong-session-serializable": true, "strict-serializable": false},
		"session-rollback": {"serializable": true, "strong-session-serializable": false, "strict-serializable": false},
	} {
		for model, valid := range allowed {
			for seed := range uint64(3) {
				for _, test := range []string{"append", "register"} {
					found := kinds(judged(t, inMemory(), seed, test, model, 500, Seeded{bug, 0.5}))
					if (len(found) == 0) != valid {
						t.Errorf("%s under %s, %s, seed %d: found %q", bug, model, test, seed, found)
					}
					if model == "strong-session-serializable" && !valid && !slices.ContainsFunc(found, func(k string) bool { return strings.HasSuffix(k, "-process") }) {
						t.Errorf("seed %d: found %q", seed, found)
					}
				}
			}
		}
	}
}

// TestCutReadIsFound: what is missing of the lists or registers that are read back.
func TestCutReadIsFound(t *testing.T) {
	for test, kind := range map[string]string{"register": "durability: lost-write", "append": "durability: lost-append"} {
		for _, e := range []engine{inMemory(), onSQLite()} {
			if found := kinds(judged(t, e, 1, test, "", 200, Seeded{"truncated-read", 1})); !slices.Contains(found, kind) {
				t.Errorf("%s on %s: found %q", test, e.name, found)
			}
		}
	}
}
