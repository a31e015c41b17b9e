package runner

import (
	"strings"
	"testing"

	"assay/check"
	"assay/measure"
	"assay/workload/churn"
)

func churning(database string, seed uint64) Scenario {
	s := small(database, seed, 0)
	become(&s, churn.Definition())
	s.Config = &churn.Config{Rows: 400, RowBytes: 50, DeleteShare: 0.4, Cycles: 3, Batch: 10, Repair: true}
	s.Plan()
	return s
}

// TestChurn: an honest database is valid, also with timeouts, and again from the folder. TestTrust
// has the bugs.
func TestChurn(t *testing.T) {
	t.Parallel()
	for _, database := range []string{"", "mem://?timeout=0.1"} {
		out := carryOut(t, churning(database, 1))
		r := out.Result
		if r.Verdict != check.Valid || r.Checks[0].Name != churn.CheckRows {
			t.Errorf("%q: %v: %s", database, r.Verdict, details(r))
		}
		if len(r.Rounds) != 8 || r.Rounds[0].Name != "fill" || !r.Rounds[7].Apart || r.Outcomes.Total() != 7*40+1 {
			t.Errorf("%q: rounds %+v, outcomes %+v", database, r.Rounds, r.Outcomes)
		}
		for _, round := range r.Rounds {
			if len(round.Facts) < 2 {
				t.Errorf("%q: %s has the facts %+v", database, round.Name, round.Facts)
			}
			if round.Size == nil || round.Size.Bytes <= 0 || round.Size.Payload != 50*round.Size.Rows {
				t.Errorf("%q: after %s the size is %+v", database, round.Name, round.Size)
			}
		}
		sameFigures(t, recheck(t, out.Folder).Result, r)
	}
}

func TestChurnRefusals(t *testing.T) {
	for name, change := range map[string]func(*churn.Config){
		"rows": func(c *churn.Config) { c.Rows = 0 }, "bytes": func(c *churn.Config) { c.RowBytes = 20_000 },
		"share": func(c *churn.Config) { c.DeleteShare = 0 }, "cycles": func(c *churn.Config) { c.Cycles = 0 },
		"batch": func(c *churn.Config) { c.Batch = churn.MaxBatch + 1 }, "all": func(c *churn.Config) { c.Rows, c.Cycles = 50_000_000, 2 },
	} {
		s := churning("mem://", 1)
		change(s.Config.(*churn.Config))
		if s.Validate() == nil {
			t.Errorf("%s was not refused: %+v", name, s.Config)
		}
	}
	s := churning("mem://", 1)
	s.Load.Timeout = 0
	if s.Validate() == nil {
		t.Error("a run without a time limit was not refused")
	}
}

// TestShortRoundsAreNoMeasurement: rounds of milliseconds are judged, but not measured.
func TestShortRoundsAreNoMeasurement(t *testing.T) {
	tiny := churning("mem://", 1)
	c := tiny.Config.(*churn.Config)
	c.Rows, c.Cycles = 20, 1
	for name, s := range map[string]Scenario{"churn": tiny, "bulkupdate": bulkUpdates("mem://", 1), "candles": smallCandles("mem://")} {
		r := carryOut(t, s).Result
		// On a busy machine they can be long enough for a measurement.
		seconds := r.Series.MeasureEnd - r.Series.MeasureStart
		limits := measure.DefaultLimits()
		if limit := s.definition().Limit; limit != nil {
			limit(&limits)
		}
		short := seconds < limits.MinMeasured.Seconds()
		if r.Verdict != check.Valid || (short && r.Measurement.Verdict != invalid) || strings.Contains(reasons(r), " s were measured, and ") != short {
			t.Errorf("%s: %v, %.3g s, %+v", name, r.Verdict, seconds, r.Measurement)
		}
	}
}
