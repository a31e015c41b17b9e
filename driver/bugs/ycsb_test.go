package bugs

import (
	"fmt"
	"slices"
	"testing"

	"assay/check"
	"assay/driver/drivertest"
	"assay/driver/mem"
	"assay/driver/sqlite"
	"assay/workload/keyvalue"
	"assay/workload/ycsb"
)

// TestEveryYCSBBugIsFound by one of the checks that the bug names, where it strikes often.
func TestEveryYCSBBugIsFound(t *testing.T) {
	for _, bug := range For(ycsb.Name) {
		for _, inMemory := range []bool{true, false} {
			if !inMemory && bug.Name != "lost-update" && bug.Name != lateApply {
				continue
			}
			t.Run(fmt.Sprint(bug.Name, "/", inMemory), func(t *testing.T) {
				t.Parallel()
				config := ycsb.Defaults()
				config.Records, config.Fields, config.FieldBytes = 20, 3, 40
				config.Mix = "read=0.3,update=0.3,insert=0.1,scan=0.1,rmw=0.2"
				run := drivertest.ShortRun{Workload: ycsb.Definition(), Config: &config, Seed: 1, Clients: 4, Each: 80, Attempts: 1}
				table, chance := drivertest.MutableTable(), 0.3
				if bug.Name == "truncated-read" {
					chance = 1
				}
				store := onBoth(t, table.Workload, inMemory, 1, Seeded{bug.Name, chance},
					keyvalue.By(mem.Open).On(table), keyvalue.By(sqlite.Driver().Open).On(table))
				results := run.Judge(t.Context(), t, store).Results
				found := false
				for _, r := range results {
					named := slices.ContainsFunc(r.Evidence, func(e check.Evidence) bool { return slices.Contains(bug.Kinds, e.Kind) })
					found = found || (r.Name == bug.Check || r.Name == bug.Or) && r.Verdict == check.Violated && named
					if bug.Check == "" && r.Verdict != check.Valid {
						t.Errorf("%s is %v: %s %+v", r.Name, r.Verdict, r.Detail, r.Evidence)
					}
				}
				if strikes := strikesOf(t, store, bug); found != (bug.Check != "") || strikes == 0 {
					t.Errorf("found is %v after %d strikes: %+v", found, strikes, results)
				}
			})
		}
	}
}
