package runner

import (
	"testing"

	"assay/check"
	"assay/workload/bulkupdate"
)

func bulkUpdates(database string, seed uint64) Scenario {
	s := small(database, seed, 0)
	become(&s, bulkupdate.Definition())
	s.Config = &bulkupdate.Config{Users: 30, Documents: 8, Workers: "1,3..4", Field: bulkupdate.FieldRandom, Loaders: 2}
	s.Plan()
	return s
}

// TestBulkUpdates: an honest database is valid, also with timeouts, and again from the folder.
// TestTrust has the bugs.
func TestBulkUpdates(t *testing.T) {
	t.Parallel()
	for _, database := range []string{"", "mem://?timeout=0.1"} {
		out := carryOut(t, bulkUpdates(database, 1))
		if out.Result.Verdict != check.Valid {
			t.Errorf("%q: %v: %s", database, out.Result.Verdict, details(out.Result))
		}
		if len(out.Result.Rounds) != 3 || out.Result.Rounds[1].Name != "3 workers" || out.Result.Rounds[1].Clients != 3 || out.Result.Outcomes.Total() != 90 {
			t.Errorf("%q: rounds %+v, outcomes %+v", database, out.Result.Rounds, out.Result.Outcomes)
		}
		if x := out.Result.Rounds[1]; int64(len(x.Tasks)) != x.Service.Count || len(x.Tasks) == 0 || x.Tasks[0][1] <= 0 {
			t.Errorf("%q: the times of %+v", database, x)
		}
		sameFigures(t, recheck(t, out.Folder).Result, out.Result)
	}
}
