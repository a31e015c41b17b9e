package bugs

import (
	"slices"
	"testing"

	"assay/check"
	"assay/driver/drivertest"
	"assay/store"
	"assay/workload/ycsb"
)

// causal promises what its database keeps for sessions, and no more.
type causal struct{ store.Database }

func (causal) Promises() store.Promises {
	return store.Promises{Reads: store.Causal, Scans: store.Causal}
}

// TestBrokenSessions: a session's earlier reads convict old reads, and an honest database is not
// convicted.
func TestBrokenSessions(t *testing.T) {
	c := ycsb.Defaults()
	c.Mix, c.Records = "read=0.4,update=0.3,rmw=0.2,insert=0.1", 5
	found := map[string]bool{}
	for seed := range uint64(6) {
		for _, chance := range []Seeded{never, {"stale-read", 0.1}} {
			db := causal{opened(t, inMemory(), recordsOf(t, &c), ycsb.Bugs(), seed, chance)}
			run := drivertest.ShortRun{Workload: ycsb.Definition(), Config: &c, Seed: seed, Clients: 4, Each: 300, Attempts: 1}
			results := run.Judge(t.Context(), t, db).Results
			at := slices.IndexFunc(results, func(r check.Result) bool { return r.Name == ycsb.CheckSessions })
			if at < 0 {
				t.Fatalf("seed %d: the sessions were not judged: %v", seed, results)
			}
			if r := results[at]; r.Verdict != check.Violated && chance != never || r.Verdict != check.Valid && chance == never {
				t.Errorf("seed %d, bug %s: %v: %s %v", seed, chance.Name, r.Verdict, r.Detail, r.Evidence)
			}
			for _, f := range results[at].Findings {
				found[f.Kind] = true
			}
		}
	}
	if !found[store.ReadYourWrites] || !found[store.MonotonicReads] {
		t.Errorf("found %v", found)
	}
}
