package runner

import (
	"fmt"
	"slices"
	"testing"

	"assay/check"
	"assay/driver/bugs"
	"assay/report"
	"assay/workload/bank"
)

// conviction is what must be found of one bug.
type conviction struct {
	probability string
	always      []string // these checks must be violated
	sometimes   []string // these may be, which hangs on the moment
	// slow gives a bug in audits time for them.
	slow bool
}

// convictions are the exact checks that must find each bug, except where chance decides. Some bugs
// are found by one check alone, which is why there are six.
var convictions = map[string]conviction{
	"torn-transfer":      {"0.01", []string{"accounts", "order", "total"}, []string{"snapshots"}, false},
	"duplicate-apply":    {"0.01", []string{"accounts", "transfers"}, nil, false},
	"moved-twice":        {"0.01", []string{"accounts", "order"}, []string{"snapshots"}, false},
	"lost-update":        {"0.01", []string{"accounts", "order", "total"}, []string{"snapshots"}, false},
	"lost-ack":           {"0.01", []string{"transfers"}, []string{"snapshots"}, false},
	"failed-but-applied": {"0.01", []string{"transfers"}, nil, false},
	"altered-row":        {"0.01", []string{"accounts", "transfers"}, nil, false},
	"extra-row":          {"0.01", []string{"transfers"}, nil, false},
	"truncated-read":     {"1", []string{"replicas"}, []string{"accounts", "order", "total", "transfers", "snapshots"}, false},
	"late-apply":         {"0.05", nil, nil, false},
	"split-brain":        {"0.01", []string{"replicas", "transfers"}, nil, false},
	"dirty-read":         {"0.5", []string{"snapshots"}, nil, true},
	"read-skew":          {"0.5", []string{"snapshots"}, nil, true},
	"long-fork":          {"1", []string{"snapshots"}, nil, true},
	"stale-read":         {"0.5", []string{"snapshots"}, nil, true},
}

// dry is a load under which accounts run dry and transfers are rejected.
func dry(database string, seed uint64) Scenario {
	s := small(database, seed, 20_000)
	s.Config.(*bank.Config).Payroll = 0
	return s
}

func (c conviction) scenario(bug string, seed uint64) Scenario {
	s := dry(fmt.Sprintf("mem://?bug=%s:%s", bug, c.probability), seed)
	if c.slow {
		s.Database += "&latency=50us"
		s.Load.Ops, s.Config.(*bank.Config).Audits = 5000, 1000
	}
	return s
}

func convicting(r *report.Result) (names []string) {
	for _, c := range r.Checks {
		if c.Verdict == check.Violated {
			names = append(names, c.Name)
		}
	}
	return names
}

// TestTrustEveryBugOfBank: exactly the right checks find it.
func TestTrustEveryBugOfBank(t *testing.T) {
	for _, bug := range bugsOf(bank.Name) {
		want, known := convictions[bug.Name]
		if !known {
			t.Errorf("there is no conviction for %s", bug.Name)
			continue
		}
		if bug.Check != "" && !slices.Contains(slices.Concat(want.always, want.sometimes), bug.Check) {
			t.Errorf("%s says that %s finds it", bug.Name, bug.Check)
		}
		out := carryOut(t, want.scenario(bug.Name, 1))
		got := convicting(out.Result)
		for _, name := range want.always {
			if !slices.Contains(got, name) {
				t.Errorf("%s: %s did not find it, only %v", bug.Name, name, got)
			}
		}
		for _, name := range got {
			if !slices.Contains(slices.Concat(want.always, want.sometimes), name) {
				t.Errorf("%s: %s is violated, which the bug does not explain", bug.Name, name)
			}
		}
		wantVerdict := check.Violated
		if bug.Check == "" {
			wantVerdict = check.Valid
		}
		if out.Result.Verdict != wantVerdict {
			t.Errorf("%s: the verdict is %v, want %v", bug.Name, out.Result.Verdict, wantVerdict)
		}
		if out.Result.Data.Rows[bugs.StrikesOf(bug.Name)] == 0 {
			t.Errorf("%s never struck", bug.Name)
		}
		for _, c := range out.Result.Checks {
			if c.Verdict == check.Violated && (len(c.Evidence) == 0 || c.Found == 0 || c.Evidence[0].Text == "") {
				t.Errorf("%s: %s convicts without evidence", bug.Name, c.Name)
			}
		}
		// Judged again, the run has the same findings.
		again := recheck(t, out.Folder)
		sameFigures(t, again.Result, out.Result)
	}
	if len(convictions) != len(bugsOf(bank.Name)) {
		t.Errorf("%d convictions for %d bugs", len(convictions), len(bugsOf(bank.Name)))
	}
}

// TestTrustTruncatedReadInBothForms: the seed decides whether accounts or rows are missing.
func TestTrustTruncatedReadInBothForms(t *testing.T) {
	found := map[string]bool{}
	for seed := range uint64(12) {
		s := small("mem://?bug=truncated-read:1", seed, 300)
		for _, name := range convicting(carryOut(t, s).Result) {
			found[name] = true
		}
	}
	if !found["total"] || !found["transfers"] {
		t.Errorf("found by %v", found)
	}
}
