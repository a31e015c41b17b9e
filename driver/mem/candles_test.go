package mem

import (
	"slices"
	"testing"

	"assay/driver/drivertest"
	"assay/workload"
	"assay/workload/candles"
)

func mustCandles(t testing.TB, o Options) *Candles {
	t.Helper()
	d, err := NewCandles(o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestCandles(t *testing.T) {
	d := mustCandles(t, Options{})
	setForeign := func(foreign bool) {
		d.mu.Lock()
		d.foreign = foreign
		d.mu.Unlock()
	}
	drivertest.RunCandles(t, drivertest.Candles{
		Open: func(*testing.T) candles.Store { return d.Candles() },
		MakeForeign: func(t *testing.T) {
			setForeign(true)
			t.Cleanup(func() { setForeign(false) })
		},
		ForeignIntact: func(t *testing.T) {
			if d.mark != nil || len(d.rows) != 0 {
				t.Error("what is foreign was changed")
			}
		},
	})
}

// TestEveryCandleBugIsFound: a run with the bug is violated, by the check that
// it names, and by no other that it does not; one strike is enough.
func TestEveryCandleBugIsFound(t *testing.T) {
	config := candles.Defaults()
	config.Candles, config.Tickers, config.Batch, config.Loaders = 900, 6, 50, 2
	config.Queries, config.Latest, config.Intervals, config.Repeats = 60, 10, 3, 5
	for _, bug := range CandleBugs() {
		for seed := range uint64(8) {
			d := mustCandles(t, Options{Seed: seed, Inject: []Injection{{Name: bug.Name, Probability: 0.05}}})
			j := drivertest.JudgeCandles(t.Context(), t, d.Candles(), config, seed)
			strikes := d.armed[0].strikes
			for _, r := range j.Results {
				switch {
				case strikes == 0 && r.Verdict.String() != "valid":
					t.Errorf("%s, seed %d: %s is %s although nothing was wrong: %s", bug.Name, seed, r.Name, r.Verdict, r.Detail)
				case strikes > 0 && r.Name == bug.Check && r.Verdict.String() != "violated":
					t.Errorf("%s, seed %d: %s is %s after %d strikes: %s", bug.Name, seed, r.Name, r.Verdict, strikes, r.Detail)
				case r.Verdict.String() == "violated" && r.Name != bug.Check && r.Name != bug.Or:
					t.Errorf("%s, seed %d: %s is violated: %s", bug.Name, seed, r.Name, r.Evidence[0].Text)
				}
				if r.Name == bug.Check {
					for _, e := range r.Evidence {
						if !slices.Contains(bug.Kinds, e.Kind) {
							t.Errorf("%s, seed %d: evidence %s: %s", bug.Name, seed, e.Kind, e.Text)
						}
					}
				}
			}
		}
	}
}

// TestCandleTimeouts: batches without an answer, of which any row may be there,
// are nothing against the database.
func TestCandleTimeouts(t *testing.T) {
	config := candles.Defaults()
	config.Candles, config.Tickers, config.Batch, config.Loaders = 900, 6, 50, 2
	config.Queries, config.Latest, config.Intervals, config.Repeats = 60, 10, 3, 5
	unsure := false
	for seed := range uint64(8) {
		d := mustCandles(t, Options{Seed: seed, Timeout: 0.2})
		j := drivertest.JudgeCandles(t.Context(), t, d.Candles(), config, seed)
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

func TestCandleAddress(t *testing.T) {
	for address, possible := range map[string]bool{"mem://?bug=truncated-read:0.5": true, "mem://?bug=torn-transfer:1": false} {
		if _, err := OpenCandles(t.Context(), workload.Target{Address: address}); (err == nil) != possible {
			t.Errorf("%s: %v", address, err)
		}
	}
}
