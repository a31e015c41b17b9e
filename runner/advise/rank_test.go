package advise

import (
	"slices"
	"testing"

	"assay/check"
	"assay/report"
	"assay/workload/script"
)

// TestRank puts proven before fast, and valid figures before invalid ones.
func TestRank(t *testing.T) {
	yes, no := true, false
	row := func(robust *bool, invalid int, speed float64) Row {
		return Row{Verdict: check.Valid, Committed: 1, Look: script.Look{Robust: robust}, Invalid: invalid, Throughput: Throughput{PerSecond: speed}}
	}
	a := Advice{Levels: []Row{row(nil, 0, 900), row(&yes, 0, 10), row(&no, 0, 950), row(&yes, 1, 500), row(&yes, 0, 20), {Verdict: check.Violated, Committed: 1}}}
	a.rank()
	if want := []int{4, 1, 3, 2, 0}; !slices.Equal(a.Right, want) {
		t.Errorf("the order is %v, not %v", a.Right, want)
	}
}

// TestWhatBreaksThePromise is told of a run that broke it, not of one before it.
func TestWhatBreaksThePromise(t *testing.T) {
	run := func(v check.Verdict, kept bool, text string) *report.Result {
		allowed := check.Result{Verdict: check.Allowed, Found: 1, Evidence: []check.Evidence{{Text: "a skew that the level allows"}}}
		return &report.Result{Verdict: v, Promise: &report.Promise{Kept: &kept}, Checks: []check.Result{allowed, {Verdict: v, Found: 1, Evidence: []check.Evidence{{Text: text}}}}}
	}
	var r Row
	for _, of := range []*report.Result{run(check.Allowed, true, "another"), run(check.Violated, false, "a lost update"), run(check.Violated, false, "a later one")} {
		r.take(of)
	}
	if !r.PromiseBroken || r.Found != "a lost update" {
		t.Errorf("broken %v, by %q", r.PromiseBroken, r.Found)
	}
}

// TestNoIntervalWiderThanTheFigure omits meaningless intervals.
func TestNoIntervalWiderThanTheFigure(t *testing.T) {
	bound := func(f float64) *float64 { return &f }
	wide := Row{Throughput: Throughput{PerSecond: 10, Low: bound(0), High: bound(137)}}
	narrow := Row{Throughput: Throughput{PerSecond: 10, Low: bound(9), High: bound(11)}}
	if wide.plusMinus() != "not known" || narrow.plusMinus() != "10 %" {
		t.Errorf("the intervals are %s and %s", wide.plusMinus(), narrow.plusMinus())
	}
}
