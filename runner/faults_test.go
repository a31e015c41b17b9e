package runner

import (
	"errors"
	"slices"
	"testing"
	"time"

	"assay/cluster"
	"assay/fault"
	"assay/internal/expect"
	"assay/report"
	"assay/store"
	"assay/workload/bank"
	"assay/workload/churn"
)

func TestFaultsThatCannotBeAskedFor(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Scenario)
		is     func(error) bool
	}{
		{"without a cluster", func(s *Scenario) { s.Cluster = "" }, is[*store.OptionError]},
		{"no such action", func(s *Scenario) { s.Faults[0] = "hug primary" }, is[*fault.ParseError]},
		{"after the end", func(s *Scenario) { s.Faults[0] = "kill primary at 1h" }, is[*fault.ScheduleError]},
		{"behind one that never ends", func(s *Scenario) { s.Faults = []string{"kill n1 at 1s for ever", "pause n1 at 2s"} }, is[*fault.ScheduleError]},
		{"without end in a run that waits for it", func(s *Scenario) { s.Faults[0], s.Load.Ops = "kill all at 1s for ever", 5 }, is[*fault.ScheduleError]},
		{"without end while loading", func(s *Scenario) { s.Faults[0] = "kill all while loading for ever" }, is[*fault.ScheduleError]},
		{"no such cluster", func(s *Scenario) { s.Cluster = "mongodb:0" }, is[*cluster.SpecError]},
		{"while rows are loaded in a workload that cannot go on", func(s *Scenario) {
			*s = Defaults(churn.Definition())
			s.Cluster, s.Faults = "mongodb:3", []string{"kill primary while loading at 2s"}
		}, is[*store.OptionError]},
		{"a power cut while rows are loaded", func(s *Scenario) { s.Faults[0] = "power-cut primary while loading at 1s" }, is[*store.OptionError]},
		{"a database as well", func(s *Scenario) { s.Database = "mem:" }, is[*store.OptionError]},
	} {
		s := Defaults(bank.Definition())
		s.Cluster, s.Faults = "mongodb:3", []string{"kill primary at 2s"}
		expect.NoError(t, s.Validate())
		s.Faults[0] = "kill primary while loading at 1h"
		if err := s.Validate(); err != nil {
			t.Errorf("nobody knows how long loading takes: %v", err)
		}
		c.change(&s)
		if err := s.Validate(); !c.is(err) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func is[E error](err error) bool {
	var wanted E
	return errors.As(err, &wanted)
}

// TestFaultWhoseTimeNeverCame leaves a run of a number of operations unanswered.
func TestFaultWhoseTimeNeverCame(t *testing.T) {
	t.Parallel()
	s := small("", 1, 200)
	s.Cluster, s.Faults = "redis:1", []string{"pause n1 at 0s for 50ms", "kill n1 at 1h"}
	r := carryOut(t, s).Result
	const want = "a fault did nothing: kill n1 at 1h for 15s: the work ended before it could be done; run for longer, or let it happen earlier"
	if len(r.Faults) != 2 || !r.Faults[1].Skipped || !slices.Contains(r.Unanswered, want) || report.ExitOf(r).Code != report.ExitNoVerdict {
		t.Errorf("%v, %+v, unanswered %q", r.Verdict, r.Faults, r.Unanswered)
	}
}

// TestWhatWasNotHealedHasNoTime of its end.
func TestWhatWasNotHealedHasNoTime(t *testing.T) {
	start := time.Now()
	if text := healing(fault.Injection{}, start, ""); text != "not healed" {
		t.Error(text)
	}
	if text := healing(fault.Injection{HealedAt: start.Add(1500 * time.Millisecond)}, start, " of loading"); text != "1.5 s of loading: healed" {
		t.Error(text)
	}
}
