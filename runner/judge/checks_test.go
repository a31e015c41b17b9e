package judge

import (
	"strings"
	"testing"

	"assay/check"
	"assay/history"
	"assay/measure"
	"assay/report"
)

// TestTwoPrimariesAreNoVerdict: the first primary's rows say nothing of the second's.
func TestTwoPrimariesAreNoVerdict(t *testing.T) {
	for name, one := range map[string]*report.Result{"no cluster": {}, "one primary": {Cluster: &report.Cluster{Settled: "all nodes held the same data"}}} {
		if checks := twoPrimaries(one); len(checks) > 0 {
			t.Errorf("%s is taken for two: %+v", name, checks)
		}
	}
	checks := twoPrimaries(&report.Result{Cluster: &report.Cluster{TwoPrimaries: true, Settled: "n1 takes writes of its own"}})
	if len(checks) != 1 || checks[0].Verdict != check.Unknown || !strings.Contains(checks[0].Detail, "n1 takes writes of its own") {
		t.Errorf("two primaries: %+v", checks)
	}
}

// TestAccountingDoubtsTheTester: differing counts are the tester's fault and void every verdict.
func TestAccountingDoubtsTheTester(t *testing.T) {
	all := history.Counts{Committed: 250, Rejected: 50}
	counted, figures := all, measure.Figures{Outcomes: all, Attempts: 320}
	less, more := counted, all
	less.Committed--
	more.Committed++
	for name, c := range map[string]struct {
		judged history.Counts
		live   *report.Counted
		want   check.Verdict
	}{
		"nobody counted along":                          {counted, nil, check.Valid},
		"all agree":                                     {counted, &report.Counted{Outcomes: all, Attempts: figures.Attempts}, check.Valid},
		"an attempt counted and not recorded":           {counted, &report.Counted{Outcomes: all, Attempts: figures.Attempts + 1}, check.Unknown},
		"an operation counted and not recorded":         {counted, &report.Counted{Outcomes: more, Attempts: figures.Attempts}, check.Unknown},
		"an operation that was recorded and not judged": {less, nil, check.Unknown},
	} {
		if got := accounting(figures, c.judged, &report.Client{Counted: c.live}); got.Verdict != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestRulingOfCopies: for copies beside backups it is unknown whose the findings are.
func TestRulingOfCopies(t *testing.T) {
	backup, copied, restore := report.Fault{Action: "backup", Backup: &report.Backup{Number: 1}}, report.Fault{Action: "backup=copy", Backup: &report.Backup{Number: 2}},
		report.Fault{Action: "restore", Backup: &report.Backup{Number: 1, Restore: 1}}
	if r := rulingOfCopies([]report.Fault{backup, restore, {Action: "kill"}}); r != nil {
		t.Errorf("without a copy: %+v", r)
	}
	if r := rulingOfCopies([]report.Fault{copied, restore}); r == nil || r.Promised == nil || *r.Promised {
		t.Errorf("of copies alone: %+v", r)
	}
	if r := rulingOfCopies([]report.Fault{backup, copied, restore}); r == nil || r.Promised != nil {
		t.Errorf("of a copy beside a backup: %+v", r)
	}
}
