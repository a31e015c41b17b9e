package runner

import (
	"testing"
	"time"

	"assay/internal/expect"
	"assay/runner/catalog"
	"assay/workload/bank"
)

// TestEstimate compares with the runs of studies/bank.yaml, each until the next one began.
func TestEstimate(t *testing.T) {
	w, err := catalog.WorkloadOf("bank")
	expect.NoError(t, err)
	for spec, took := range map[string]time.Duration{"mongodb:3": 23 * time.Second, "mongodb:2+arbiter": 21 * time.Second, "postgres:2": 19500 * time.Millisecond} {
		s := Defaults(w)
		s.Cluster, s.Load.Warmup, s.Load.Duration = spec, 2*time.Second, 12*time.Second
		s.Config.(*bank.Config).Accounts = 200_000
		if told := s.Estimate(0).Time; told < took*3/4 || told > took*5/4 {
			t.Errorf("a run on %s is told to take %v, and took %v", spec, told, took)
		}
	}
}
