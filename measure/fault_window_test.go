package measure

import (
	"math"
	"testing"

	"assay/history"
	"assay/internal/expect"
)

// second is in nanoseconds.
const second = int64(1e9)

// TestFaultWindows: a run of 100 s, with faults from 20 to 30 and from 25 to 40, and
// from 60 to 70; an operation each second that takes half of one, and one that takes
// five while the first fault acts.
func TestFaultWindows(t *testing.T) {
	scope := Scope{MeasureEnd: 100 * second, End: 100 * second}
	w := NewFaultWindows(scope, []FaultPeriod{{20 * second, 30 * second}, {25 * second, 40 * second}, {60 * second, 70 * second}})
	add := func(at, took int64, outcome history.Outcome) {
		w.Add(&history.Op{Last: true, Due: at, First: at, Start: at, End: at + took, Outcome: outcome, Final: outcome})
	}
	for i := range int64(100) {
		add(i*second, second/2, history.Committed)
	}
	add(18*second, 5*second, history.Committed) // begun before, ended during
	add(65*second, second, history.Failed)
	all := w.Figures()
	for name, want := range map[string]struct {
		seconds   float64
		committed int64 // by due
		ended     float64
		max       float64
	}{
		"before": {20, 20, 20, 500}, "during": {30, 31, 31, 5000}, "after": {30, 30, 30, 500},
	} {
		f := all[faultWindows()[name]]
		if f.Throughput.Seconds != want.seconds || f.Measured.Committed != want.committed || math.Abs(f.Throughput.PerSecond*want.seconds-want.ended) > 1e-9 || f.Latency.Max != want.max {
			t.Errorf("%s: %+v of %+v in %+v", name, f.Latency, f.Measured, f.Throughput)
		}
	}
	if n := all[duringFaults].Measured.Failed; n != 1 {
		t.Errorf("%d failed during faults", n)
	}
	for text, kept := range map[string]bool{
		"max < 1s before faults": true, "max < 1s during faults": false, "max<1s after faults": true, "failed<1% after faults": true,
		"failed < 1% during faults": false, "committed_per_second >= 1 after faults": true, "throughput>1.1 after faults": false, "max < 1s": false,
	} {
		threshold, err := ParseThreshold(text)
		expect.NoError(t, err)
		whole := Figures{Measured: history.Counts{Committed: 101, Failed: 1}, Latency: Latency{Count: 101, Max: 5000}, ByFaults: all}
		if got := threshold.Judge(whole); got.Kept != kept || got.Missing != "" {
			t.Errorf("%s: %+v", text, got)
		}
		if got := threshold.Judge(Figures{}); got.Kept || !got.Undecided || got.Missing == "" {
			t.Errorf("%s of a run without faults: %+v", text, got)
		}
	}
}

func TestNoFaultsNoWindows(t *testing.T) {
	w := NewFaultWindows(Scope{MeasureEnd: second}, nil)
	w.Add(&history.Op{Last: true, Final: history.Committed})
	if all := w.Figures(); all != nil {
		t.Errorf("%+v", all)
	}
}

func TestOutageThreshold(t *testing.T) {
	threshold, err := ParseThreshold("outage < 10s")
	expect.NoError(t, err)
	f := Figures{Outage: Gap{From: 3 * second, To: 12 * second, Known: true}}
	if got := threshold.Judge(f); !got.Kept || got.Measured != 9000 || got.Unit != "ms" {
		t.Errorf("%+v", got)
	}
	f.Outage.To = 13 * second
	if got := threshold.Judge(f); got.Kept {
		t.Errorf("%+v", got)
	}
	f.Outage.Open = true
	if got := threshold.Judge(f); got.Kept || got.Undecided || !got.AtLeast {
		t.Errorf("too long already, and cut: %+v", got)
	}
	f.Outage.To = 12 * second
	if got := threshold.Judge(f); got.Kept || !got.Undecided || !got.AtLeast {
		t.Errorf("cut before it was too long: %+v", got)
	}
	if got := threshold.Judge(Figures{}); got.Kept || got.Missing == "" {
		t.Errorf("nothing written: %+v", got)
	}
}
