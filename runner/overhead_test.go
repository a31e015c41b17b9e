package runner

import (
	"errors"
	"strings"
	"testing"
	"time"

	"assay/check"
	"assay/store"
	"assay/workload/bank"
	"assay/workload/churn"
	"assay/workload/entity"
)

// TestTheNullStoreIsJudgedByNothing: a run on it is measured and recorded, and no check
// says that anything was right or wrong, now or later.
func TestTheNullStoreIsJudgedByNothing(t *testing.T) {
	for _, w := range []string{bank.Name, entity.Name} {
		s := Defaults(workloadOf(w))
		s.Database, s.Load.Seed, s.Load.Ops, s.Load.Warmup, s.Load.Duration = nullAddress, 7, 500, 0, 0
		out := carryOut(t, s)
		for _, when := range []string{"run", "judged again"} {
			r := out.Result
			if r.Verdict != check.Unknown || r.Measured.Committed != 500 || len(r.Checks) != 2 ||
				!strings.Contains(r.Checks[0].Detail, "keeps nothing") || r.Checks[1].Verdict != check.Valid || r.Data.Kept != "" {
				t.Errorf("%s, %s: %v, %+v, %+v", w, when, r.Verdict, r.Measured, r.Checks)
			}
			out = recheck(t, out.Folder)
		}
	}
}

// TestOverhead: what assay itself takes is measured at the run's pace and kept.
func TestOverhead(t *testing.T) {
	s := Defaults(bank.Definition())
	s.Database, s.Overhead, s.Load.Seed = "mem://", true, 7
	s.Load.Rate, s.Load.Arrivals, s.Load.Warmup, s.Load.Duration = 500, "uniform", 0, time.Second
	out := carryOut(t, s)
	o := out.Result.Overhead
	if o == nil || o.Rate < 1 || o.Rate > 600 || o.P50 <= 0 || o.P99 < o.P50 || o.CPU <= 0 || o.RunCPU <= 0 || o.Seconds <= 0 {
		t.Fatalf("%+v, notes %q", o, out.Result.Notes)
	}
	if again := recheck(t, out.Folder).Result; again.Overhead == nil || *again.Overhead != *o {
		t.Errorf("judged again: %+v", again)
	}
}

func TestOverheadThatCannotBeMeasured(t *testing.T) {
	s := Defaults(churn.Definition())
	s.Overhead = true
	if err := s.Validate(); !errors.As(err, new(*store.OptionError)) || !strings.Contains(err.Error(), "the null store answers transfers") {
		t.Errorf("%v", err)
	}
}
