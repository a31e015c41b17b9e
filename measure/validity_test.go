package measure

import (
	"strings"
	"testing"
	"time"

	"assay/history"
)

// good is a run that nothing can be concluded against.
func good() (Figures, Conditions) {
	s := steps(20, flat(1000), flat(3))
	low, high := 970.0, 1030.0
	return Figures{
		Throughput:  Throughput{PerSecond: 1000, Seconds: 20, Low: &low, High: &high},
		Scope:       Scope{MeasureStart: sec, MeasureEnd: 21 * sec, End: 22 * sec},
		Measured:    history.Counts{Committed: 20_000, Rejected: 5000, Failed: 100, Unknown: 10},
		Latency:     Latency{Count: 20_000, P99: 5},
		ServiceTime: Latency{Count: 20_000, P99: 4},
		Steps:       s,
	}, Conditions{CPUShare: 0.4}
}

// own makes an open loop of these response times and own lateness, in
// milliseconds.
func own(p50, own50, p99, own99 float64) func(*Figures, *Conditions) {
	return func(f *Figures, c *Conditions) {
		f.Latency = Latency{Count: 20_000, P50: p50, P99: p99}
		c.OpenLoop, c.OwnLagP50Millis, c.OwnLagP99Millis = true, own50, own99
	}
}

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  func(f *Figures, c *Conditions)
		reasons []string // the beginnings
		notes   []string // parts
	}{
		{"good", func(*Figures, *Conditions) {}, nil, nil},
		{"cut", func(f *Figures, _ *Conditions) { f.Scope.Cut = "interrupt" }, []string{"the run was cut: interrupt"}, nil},
		{"just long enough", func(f *Figures, _ *Conditions) {
			f.Scope.MeasureEnd = 2 * sec
			f.Measured = history.Counts{Committed: 100}
		}, nil, nil},
		{"short", func(f *Figures, _ *Conditions) { f.Scope.MeasureEnd = 2*sec - 1 }, []string{"too short: "}, nil},
		{"few", func(f *Figures, _ *Conditions) { f.Measured = history.Counts{Committed: 99} }, []string{"too short: 99 operations"}, nil},
		{"one", func(f *Figures, _ *Conditions) { f.Measured = history.Counts{Committed: 1} }, []string{"too short: 1 operation was committed in the"}, nil},
		{"none of one", func(f *Figures, _ *Conditions) { f.Measured = history.Counts{Rejected: 1} }, []string{"nothing committed: none of 1 operation in the"}, nil},
		{"two unserved", func(f *Figures, c *Conditions) {
			f.Measured = history.Counts{Committed: 100}
			c.OpenLoop, c.Unserved = true, 2
		}, []string{"schedule slipped: of 102 arrivals 2 were never served (2.0 %)"}, []string{"own lateness"}},
		{"none", func(f *Figures, _ *Conditions) { f.Measured = history.Counts{Rejected: 7} }, []string{"nothing committed: none of 7"}, nil},
		{"nothing", func(f *Figures, _ *Conditions) { f.Measured = history.Counts{} }, []string{"nothing committed: none of 0"}, nil},
		{"a tenth failed", func(f *Figures, _ *Conditions) { f.Measured = history.Counts{Committed: 900, Failed: 60, Unknown: 40} }, nil, nil},
		{"more failed", func(f *Figures, _ *Conditions) { f.Measured = history.Counts{Committed: 899, Failed: 101} }, []string{"too many errors: 101 of 1,000"}, nil},
		{"more unknown", func(f *Figures, _ *Conditions) { f.Measured = history.Counts{Committed: 899, Unknown: 101} }, []string{"too many errors: 101 of 1,000"}, nil},
		{"rejections are business", func(f *Figures, _ *Conditions) { f.Measured = history.Counts{Committed: 900, Rejected: 9000} }, nil, nil},
		{"busy", func(_ *Figures, c *Conditions) { c.CPUShare = 0.89 }, nil, nil},
		{"saturated", func(_ *Figures, c *Conditions) { c.CPUShare = 0.9 }, []string{"client saturated: "}, nil},
		{"saturated by the database inside", func(_ *Figures, c *Conditions) { c.CPUShare, c.Embedded = 1, true }, nil, []string{"100 % busy"}},
		{"embedded and idle", func(_ *Figures, c *Conditions) { c.CPUShare, c.Embedded = 0.2, true }, nil, nil},
		{"who knows", func(_ *Figures, c *Conditions) { c.CPUShare = -1 }, nil, []string{"not known"}},
		{"clients wait for processors", func(_ *Figures, c *Conditions) { c.Clients, c.CPUs, c.SchedulerP99Millis = 200, 2, 3 },
			[]string{"client saturated: its 200 clients waited up to 3 ms (p99) for one of 2 processors, where p99"}, nil},
		{"half a client at a time", func(_ *Figures, c *Conditions) {
			c.Clients, c.CPUs, c.SchedulerP99Millis, c.Runnable, c.Embedded = 4, 2, 3, 0.5, true
		}, nil, []string{"for one of 2 processors, where p99"}},
		{"more than half of them at a time", func(f *Figures, c *Conditions) {
			f.Latency.P99 = 562
			c.Clients, c.CPUs, c.SchedulerP99Millis, c.Runnable, c.Embedded = 10_000, 2, 168, 9900, true
		}, []string{"client saturated: its 10000 clients waited up to 168 ms (p99) for one of 2 processors, 9900 of them at a time"}, nil},
		{"a short wait beside the response", func(f *Figures, c *Conditions) {
			f.Latency.P99 = 562
			c.Clients, c.CPUs, c.SchedulerP99Millis, c.Runnable = 200, 2, 168, 60
		}, nil, nil},
		{"microseconds", func(f *Figures, c *Conditions) {
			f.Latency.P99 = 0.01
			c.Clients, c.CPUs, c.SchedulerP99Millis = 200, 2, 0.9
		}, nil, nil},
		{"few clients of a database inside", func(_ *Figures, c *Conditions) {
			c.Clients, c.CPUs, c.SchedulerP99Millis, c.Embedded = 8, 2, 30, true
		}, nil, []string{"the processors were short, with the database inside"}},
		{"many", func(_ *Figures, c *Conditions) {
			c.Clients, c.CPUs, c.SchedulerP99Millis, c.Embedded = 9, 2, 30, true
		}, []string{"client saturated: its 9 clients"}, nil},
		{"no more clients than processors", func(_ *Figures, c *Conditions) { c.Clients, c.CPUs, c.SchedulerP99Millis = 2, 2, 30 }, nil, nil},
		{"others at work", func(_ *Figures, c *Conditions) { c.OtherWork = OtherWork{Others: 0.48, Busiest: "stress 46 %, sh 2 %"} },
			[]string{"machine busy: other processes used 48.0 % of its processors (stress 46 %, sh 2 %), and 10 % are allowed"}, nil},
		{"a little beside", func(_ *Figures, c *Conditions) {
			c.OtherWork = OtherWork{Others: 0.10, Steal: 0.05, Perhaps: 0.1, Unseen: 0.1}
		}, nil, nil},
		{"steal", func(_ *Figures, c *Conditions) { c.OtherWork.Steal = 0.07 }, []string{"machine busy: its host gave 7.0 %"}, nil},
		{"nobody is blamed without certainty", func(_ *Figures, c *Conditions) { c.OtherWork = OtherWork{Perhaps: 0.5, Unseen: 0.3} }, nil,
			[]string{"cannot be told", "cannot be seen"}},
		{"a few unserved", func(_ *Figures, c *Conditions) { c.OpenLoop, c.Unserved = true, 253 }, nil, []string{"(0 %) are assay's own lateness"}},
		{"many unserved", func(_ *Figures, c *Conditions) { c.OpenLoop, c.Unserved = true, 254 }, []string{"schedule slipped: of 25,364 arrivals 254 were never served (1.0 %)"}, []string{"own lateness"}},
		{"all unserved", func(f *Figures, c *Conditions) { f.Measured = history.Counts{}; c.OpenLoop, c.Unserved = true, 9 },
			[]string{"nothing committed", "schedule slipped: of 9 arrivals 9 were"}, []string{"own lateness"}},
		{"own lateness of the response time", own(1, 0.1, 4, 1), nil, []string{"of p50 1.00 ms up to 100 µs (10 %) and of p99 4.00 ms up to 1.00 ms (25 %) are assay's own lateness"}},
		{"half a millisecond of a millisecond", own(0.572, 0.567, 2.1, 0.2), []string{"schedule slipped: of p50 572 µs up to 567 µs (99 %)"}, nil},
		{"much at p50", own(1, 0.11, 4, 1), []string{"schedule slipped: of p50 1.00 ms up to 110 µs (11 %)"}, nil},
		{"much at p99", own(1, 0.1, 4, 1.1), []string{"schedule slipped: of p50 1.00 ms "}, nil},
		{"a slow database hides no lateness", own(20, 1, 100, 49), []string{"schedule slipped: of p50 20.0 ms "}, nil},
		{"ten milliseconds of a second", own(500, 9, 1000, 10), nil, []string{"of p50 500 ms up to 9.00 ms (2 %) and of p99 1.00 s "}},
		{"microseconds", own(0.03, 0.02, 0.06, 0.05), nil, []string{"response times of so few microseconds"}},
		{"too many of them", own(0.03, 0.02, 0.1, 0.06), []string{"schedule slipped: of p50 30.0 µs"}, nil},
		{"never late", own(0.03, 0, 0.1, 0), nil, []string{"up to 0 ms (0 %) and"}},
		{"no response time", own(0, 0, 0, 0), nil, []string{"(0 %)"}},
		{"a closed loop has no schedule", func(_ *Figures, c *Conditions) { c.Unserved, c.OwnLagP99Millis = 999_999, 999 }, nil, nil},
		{"no steady state", func(f *Figures, _ *Conditions) { f.Steps = steps(20, ramp(1000, 3000), flat(3)) }, []string{"no steady state: not steady over 20"}, nil},
		{"clients start, and then it is steady", func(f *Figures, c *Conditions) {
			f.Steps = steps(20, func(t float64) float64 { return min(2000*t, 1000) }, flat(3))
			c.AllStarted = 11 * sec
		}, nil, []string{"with all of them 1,000/s were committed, over 10 intervals"}},
		{"fast", func(f *Figures, c *Conditions) {
			f.Steps = steps(20, flat(14_085), flat(3))
			c.AllStarted = 5 * sec
		}, nil, []string{"with all of them 14,085/s were committed"}},
		{"they have started before", func(f *Figures, c *Conditions) {
			f.Steps = steps(20, ramp(1000, 3000), flat(3))
			c.AllStarted = sec
		}, []string{"no steady state: not steady over 20"}, nil},
		{"it goes on to change", func(f *Figures, c *Conditions) {
			f.Steps = steps(20, ramp(1000, 9000), flat(3))
			c.AllStarted = 6 * sec
		}, []string{"no steady state: not steady over 15"}, []string{"still starting"}},
		{"they start until the end", func(f *Figures, c *Conditions) {
			f.Steps = steps(20, ramp(1000, 9000), flat(3))
			c.AllStarted = 30 * sec
		}, nil, []string{"still starting until 30 s, within the measured part, whose figures hold that as well", "steady state not judged"}},
		{"too short for a trend", func(f *Figures, _ *Conditions) { f.Steps = steps(5, ramp(1000, 3000), flat(3)) }, nil, []string{"steady state not judged"}},
		{"too noisy for a trend", func(f *Figures, _ *Conditions) {
			n := 0
			f.Steps = steps(20, func(float64) float64 { n++; return float64(1000 + 500*(n%3)) }, flat(3))
		}, nil, nil},
		{"out of range", func(f *Figures, _ *Conditions) { f.Latency.OutOfRange, f.Uncommitted.OutOfRange = 2, 3 }, nil, []string{"5 response times"}},
		{"all at once", func(f *Figures, c *Conditions) {
			f.Scope = Scope{MeasureEnd: sec / 2, Cut: "interrupt"}
			f.Measured = history.Counts{Committed: 5, Failed: 5}
			c.CPUShare = 0.95
		}, []string{"the run was cut", "too short: 0.5 s", "too short: 5", "too many errors", "client saturated"}, nil},
	} {
		f, conditions := good()
		c.change(&f, &conditions)
		got := Judge(f, conditions, DefaultLimits())
		if (got.Grade == Invalid) != (len(c.reasons) > 0) || got.Grade == Wide || len(got.Reasons) != len(c.reasons) || len(got.Notes) != len(c.notes) {
			t.Errorf("%s: grade %v, reasons %q, notes %q", c.name, got.Grade, got.Reasons, got.Notes)
			continue
		}
		for i, want := range c.reasons {
			if !strings.HasPrefix(got.Reasons[i], want) {
				t.Errorf("%s: reason %q, want %q", c.name, got.Reasons[i], want)
			}
		}
		for i, want := range c.notes {
			if !strings.Contains(got.Notes[i], want) {
				t.Errorf("%s: note %q, want %q", c.name, got.Notes[i], want)
			}
		}
	}
}

func TestLimitsAreKept(t *testing.T) {
	f, c := good()
	own(10, 0.9, 20, 1)(&f, &c)
	c.Unserved = 1
	f.Steps = steps(20, ramp(1000, 1050), flat(3))
	for name, tighten := range map[string]func(*Limits){
		"MinMeasured":      func(l *Limits) { l.MinMeasured = time.Minute },
		"MinCommitted":     func(l *Limits) { l.MinCommitted = 1_000_000 },
		"MaxErrorShare":    func(l *Limits) { l.MaxErrorShare = 0.001 },
		"MaxCPUShare":      func(l *Limits) { l.MaxCPUShare = 0.3 },
		"MaxUnservedShare": func(l *Limits) { l.MaxUnservedShare = 0 },
		"SteadyMargin":     func(l *Limits) { l.SteadyMargin = 0.08 },
		"MaxHalfWidth":     func(l *Limits) { l.MaxHalfWidth = 0.02 },
		"MaxOwnShareP50":   func(l *Limits) { l.MaxOwnShareP50 = 0.08 },
		"MaxOwnShareP99":   func(l *Limits) { l.MaxOwnShareP99 = 0.04 },
	} {
		limits := DefaultLimits()
		if v := Judge(f, c, limits); v.Grade != Valid {
			t.Fatalf("by default: %q", v.Reasons)
		}
		tighten(&limits)
		if v := Judge(f, c, limits); len(v.Reasons) != 1 {
			t.Errorf("%s: %q", name, v.Reasons)
		}
	}
}
