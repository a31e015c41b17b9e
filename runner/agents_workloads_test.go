package runner

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"assay/check"
	"assay/driver/bugs"
	"assay/load"
	"assay/report"
	"assay/runner/catalog"
	"assay/workload/availability"
	"assay/workload/bulkupdate"
	"assay/workload/candles"
	"assay/workload/churn"
	"assay/workload/ycsb"
)

// sharedScenario is a small run on an SQLite file, which several agents can open, and its number of
// operations.
func sharedScenario(t *testing.T, workload, more string) (s Scenario, ops int64) {
	t.Helper()
	s = small(onSQLite(t, more), 5, 120)
	become(&s, workloadOf(workload))
	s.Load.Clients = 3
	ofFewRows(t, &s, more)
	switch c := s.Config.(type) {
	case *availability.Config: // long enough for its readers, which come at a rate of their own
		s.Load.Arrivals, s.Load.Rate, c.ReadRate = load.Uniform, 40, 100
	case *bulkupdate.Config: // in the first round one of the agents has nothing to do
		s.Load.Ops, c.Users, c.Documents, c.Workers = 0, 25, 6, "1,3,4"
		s.Plan()
		return s, 75
	case *candles.Config:
		s.Load.Ops, c.Candles, c.Tickers, c.Batch, c.Queries, c.Intervals, c.Repeats = 0, 500, 5, 20, 20, 2, 3
		s.Plan()
		return s, 25 + 2*(20+2*3+1)
	case *churn.Config:
		s.Load.Ops, c.Rows, c.Batch, c.Cycles = 0, 200, 10, 2
		s.Plan()
		return s, 20*5 + 1
	}
	s.Plan()
	return s, 120
}

// TestAgentsOfEachWorkload: two agents work each workload on one SQLite file, and it is valid.
func TestAgentsOfEachWorkload(t *testing.T) {
	t.Parallel()
	for _, w := range catalog.Workloads() {
		t.Run(w.Name, func(t *testing.T) {
			t.Parallel()
			s, ops := sharedScenario(t, w.Name, "")
			x := newTeam(t, 2, "test", nil, nil)
			x.store.apart = true
			out := x.run(t, s, nil)
			r := out.Result
			if r.Verdict != check.Valid || r.Outcomes.Total() != ops {
				t.Errorf("verdict %v of %+v, want %d: %s", r.Verdict, r.Outcomes, ops, details(r))
			}
			if slices.ContainsFunc(r.Agents, func(a report.Agent) bool { return a.Operations == 0 || !a.Delivered }) {
				t.Errorf("agents %+v", r.Agents)
			}
			for _, round := range r.Rounds {
				if round.Seconds <= 0 || round.PerSecond <= 0 || round.Outcomes.Committed == 0 {
					t.Errorf("round %+v", round)
				}
			}
			again := recheck(t, out.Folder).Result
			sameFigures(t, again, r)
		})
	}
}

// TestAgentsConvict: two agents find, by the same check, a bug that one process always finds, in a
// workload with rounds and in one without.
func TestAgentsConvict(t *testing.T) {
	t.Parallel()
	for workload, bug := range map[string]string{churn.Name: "undeleted", ycsb.Name: "altered-read"} {
		t.Run(workload, func(t *testing.T) {
			t.Parallel()
			more := fmt.Sprintf("&bug=%s:0.3", bug)
			known := bugsOf(workload)
			i := slices.IndexFunc(known, func(b bugs.Bug) bool { return b.Name == bug })
			s, _ := sharedScenario(t, workload, more)
			one := carryOut(t, s).Result
			s, _ = sharedScenario(t, workload, more)
			x := newTeam(t, 2, "test", nil, nil)
			x.store.apart = true
			two := x.run(t, s, nil).Result
			if len(convictedBy(one, known[i])) == 0 || len(convictedBy(two, known[i])) == 0 {
				t.Errorf("one process says %v: %s\nand two agents say %v: %s", one.Verdict, details(one), two.Verdict, details(two))
			}
		})
	}
}

// TestOperationsOfALostAgentAreWaitedFor: a plan without a time limit leaves them five seconds too.
func TestOperationsOfALostAgentAreWaitedFor(t *testing.T) {
	for limit, want := range map[time.Duration]time.Duration{0: load.CutGrace, time.Second: time.Second, time.Minute: load.CutGrace} {
		if got := leftToLost(load.Plan{Timeout: limit}); got != want {
			t.Errorf("with a limit of %v: %v, want %v", limit, got, want)
		}
	}
}
