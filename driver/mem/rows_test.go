package mem

import (
	"strings"
	"testing"

	"assay/driver/drivertest"
	"assay/internal/expect"
	"assay/store"
	"assay/workload/bulkupdate"
	"assay/workload/candles"
)

// TestUpdatesWithTimeouts: unknown updates do not convict the database.
func TestUpdatesWithTimeouts(t *testing.T) {
	for seed := range uint64(5) {
		db, err := Open(t.Context(), store.Target{Address: "mem://?timeout=0.2", Seed: seed}, bulkupdate.Schema())
		expect.NoError(t, err)
		run := drivertest.ShortRun{Workload: bulkupdate.Definition(), Attempts: 1, Seed: seed,
			Config: &bulkupdate.Config{Users: 40, Documents: 10, Workers: "1,3,5", Field: bulkupdate.FieldRandom, Loaders: 2}}
		if j := run.Valid(t.Context(), t, db); j.Counts.Total() != 120 || len(j.Facts) != 0 || len(j.Notes) != 1 || !strings.HasPrefix(j.Notes[0], "the documents of ") {
			t.Errorf("seed %d: %+v", seed, j)
		}
	}
}

// TestCandleTimeouts: batches without an answer do not convict the database.
func TestCandleTimeouts(t *testing.T) {
	config := candles.Defaults()
	config.Candles, config.Tickers, config.Batch, config.Loaders = 900, 6, 50, 2
	config.Queries, config.Latest, config.Intervals, config.Repeats = 60, 10, 3, 5
	unsure := false
	for seed := range uint64(4) {
		db, err := Open(t.Context(), store.Target{Address: "mem://?timeout=0.2", Seed: seed}, candles.Schema())
		expect.NoError(t, err)
		run := drivertest.ShortRun{Workload: candles.Definition(), Config: &config, Seed: seed, Clients: 2, Each: 1, Attempts: 1}
		j, err := candles.Judge(config, seed, run.Evidence(t.Context(), t, db))
		expect.NoError(t, err)
		for _, r := range j.Results {
			if r.Verdict.String() == "violated" {
				t.Errorf("seed %d: %s: %s", seed, r.Name, r.Evidence[0].Text)
			}
		}
		unsure = unsure || j.Figures.Unsure > 0
		if j.Figures.Unsure > 0 && j.Results[1].Verdict.String() != "unknown" {
			t.Errorf("seed %d: %d answers are unsure and the verdict is %s", seed, j.Figures.Unsure, j.Results[1].Verdict)
		}
	}
	if !unsure {
		t.Error("no answer was ever unsure")
	}
}
