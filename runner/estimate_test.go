package runner

import (
	"testing"
	"time"

	"assay/internal/expect"
	"assay/runner/catalog"
	"assay/workload/bank"
	"assay/workload/ycsb"
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

// TestEstimateOfUpdates counts the rows that operations add: an hour of updates of a few records
// leaves little more than the history.
func TestEstimateOfUpdates(t *testing.T) {
	w, err := catalog.WorkloadOf("ycsb")
	expect.NoError(t, err)
	kept := map[string]int64{}
	for _, mix := range []string{"a", "d"} { // d inserts 5 in 100
		s := Defaults(w)
		s.Load.Duration = time.Hour
		s.Config.(*ycsb.Config).Mix, s.Config.(*ycsb.Config).Records = mix, 300
		kept[mix] = s.Estimate(0).Kept
	}
	const history = 3610 * assumedPerSecond * bytesPerOperation
	if kept["a"] < history*9/10 || kept["a"] > history*11/10 || kept["d"] < 2*history {
		t.Errorf("an hour keeps %d bytes with updates and %d with inserts; its history has about %d", kept["a"], kept["d"], int64(history))
	}
}
