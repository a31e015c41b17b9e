package runner

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/catalog"
	"assay/check"
	"assay/load"
	"assay/report"
	"assay/workload/availability"
	"assay/workload/tpcc"
	"assay/workload/ycsb"
)

// TestAgentsOfEachWorkload: each workload is worked by two agents, each with connections
// of its own to an SQLite file, and found valid; or says why it cannot be shared.
func TestAgentsOfEachWorkload(t *testing.T) {
	t.Parallel()
	refused := map[string]string{"candles": "rounds", "bulkupdate": "rounds", "churn": "rounds", "script": "kept in the process"}
	for _, w := range catalog.Workloads() {
		t.Run(w.Name, func(t *testing.T) {
			t.Parallel()
			s := small("sqlite:"+filepath.Join(t.TempDir(), "shared.db")+"?synchronous=off", 5, 120)
			become(&s, w)
			s.Load.Clients = 3
			switch c := s.Config.(type) {
			case *availability.Config: // long enough for its readers, which come at a rate of their own
				s.Load.Arrivals, s.Load.Rate, c.ReadRate = load.Uniform, 40, 100
			case *tpcc.Config:
				c.Items, c.Customers, c.Warehouses = 100, 10, 2
			case *ycsb.Config:
				c.Records = 30
			}
			if why := refused[w.Name]; why != "" {
				if err := (&Agents{Count: 2}).validate(s); err == nil || !strings.Contains(err.Error(), w.Name) || !strings.Contains(err.Error(), why) {
					t.Errorf("not refused as one of %s: %v", why, err)
				}
				return
			}
			x := newTeam(t, 2, "test", nil, nil)
			x.store.apart = true
			r := x.run(t, s, nil).Result
			if r.Verdict != check.Valid || r.Outcomes.Total() != 120 {
				t.Errorf("verdict %v of %+v: %s", r.Verdict, r.Outcomes, details(r))
			}
			if slices.ContainsFunc(r.Agents, func(a report.Agent) bool { return a.Operations == 0 || !a.Delivered }) {
				t.Errorf("agents %+v", r.Agents)
			}
		})
	}
}
