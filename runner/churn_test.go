package runner

import (
	"slices"
	"strings"
	"testing"

	"assay/check"
	"assay/workload/churn"
)

func churning(database string, seed uint64) Scenario {
	s := small(database, seed, 0)
	become(&s, churn.Definition())
	s.Config = &churn.Config{Rows: 400, RowBytes: 50, DeleteShare: 0.4, Cycles: 3, Batch: 10, Repair: true}
	s.Plan()
	return s
}

// TestChurn: every bug of the reference database is found, nothing in an honest
// one, and both again from the folder alone.
func TestChurn(t *testing.T) {
	t.Parallel()
	kinds := map[string][]string{"": nil, "mem://?timeout=0.1": nil}
	for _, bug := range bugsOf(churn.Name) {
		chance := ":0.2"
		if bug.Name == "truncated-read" {
			chance = ":1"
		}
		kinds["mem://?bug="+bug.Name+chance] = bug.Kinds
	}
	for database, want := range kinds {
		out := carryOut(t, churning(database, 1))
		r := out.Result
		verdict := check.Valid
		if want != nil {
			verdict = check.Violated
		}
		if r.Verdict != verdict || r.Checks[0].Name != churn.CheckRows {
			t.Errorf("%q: %v, want %v: %s", database, r.Verdict, verdict, details(r))
		}
		for _, e := range r.Checks[0].Evidence {
			if !slices.Contains(want, e.Kind) || e.Text == "" || len(e.Fields) == 0 {
				t.Errorf("%q: evidence %+v, want one of %v", database, e, want)
			}
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

// TestShortRoundsAreNoMeasurement: rounds of some milliseconds are judged, and
// their times are not to be believed.
func TestShortRoundsAreNoMeasurement(t *testing.T) {
	tiny := churning("mem://", 1)
	c := tiny.Config.(*churn.Config)
	c.Rows, c.Cycles = 20, 1
	for name, s := range map[string]Scenario{"churn": tiny, "bulkupdate": bulkUpdates("mem://", 1), "candles": smallCandles("mem://")} {
		r := carryOut(t, s).Result
		// On a busy machine they may take as long as a measurement.
		seconds := r.Series.MeasureEnd - r.Series.MeasureStart
		short := seconds < limits(s).MinMeasured.Seconds()
		if r.Verdict != check.Valid || (short && r.Measurement.Verdict != invalid) || strings.Contains(reasons(r), " s were measured, and ") != short {
			t.Errorf("%s: %v, %.3g s, %+v", name, r.Verdict, seconds, r.Measurement)
		}
	}
}
