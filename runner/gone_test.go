package runner

import (
	"strings"
	"testing"
	"time"

	"assay/check"
	"assay/report"
	"assay/workload/bank"
	"assay/workload/definition"
)

// TestAllIsGone: a database on servers of ours of which a fault left nothing has broken its
// word, unless it gave none.
func TestAllIsGone(t *testing.T) {
	cut := report.Fault{Nodes: []string{"n1", "n2", "n3"}, InjectedSecond: 9, HealedSecond: 10}
	for _, test := range []struct {
		name     string
		settings []report.Setting
		promised bool
		verdict  check.Verdict
	}{
		{"synced", []report.Setting{{Name: "fsync", Value: "on"}, {Name: "synchronous_commit", Value: "on"}}, true, check.Violated},
		{"synced soon", []report.Setting{{Name: "fsync", Value: "on"}, {Name: "synchronous_commit", Value: "off"}}, true, check.Violated},
		{"never synced", []report.Setting{{Name: "fsync", Value: "off"}}, false, check.Allowed},
	} {
		r := cutResult("PostgreSQL", test.settings, cut)
		r.Workload = bank.Name
		r.Outcomes.Committed = 70
		judged := definition.Judgement{Results: []check.Result{{Name: "total", Detail: "nothing was read back"}}}
		if !lostByFaults(r) {
			t.Fatal("a cut loses nothing")
		}
		enterGone(r, &judged, "n1 does not start again")
		s := Defaults(bank.Definition())
		if err := enterPromise(t.Context(), s, r, judged, check.Result{}, definition.Evidence{}); err != nil {
			t.Fatal(err)
		}
		c := r.Checks[0]
		if len(r.Checks) != 2 || c.Verdict != test.verdict || c.Promised == nil || *c.Promised != test.promised || c.Found != 70 || r.Lost.Operations != 70 ||
			!strings.Contains(c.Detail, "70") || !strings.HasPrefix(c.Detail, "n1") || len(r.NotApplicable) != 1 {
			t.Errorf("%s: %+v, lost %+v, not applicable %v", test.name, c, r.Lost, r.NotApplicable)
		}
	}
	r := cutResult("PostgreSQL", nil, cut)
	r.Faults = append(r.Faults, report.Fault{Action: "bit-flip", Nodes: []string{"n1"}, Proven: true})
	if lostByFaults(r) {
		t.Error("what a damaged file does not give is lost by the cut")
	}
	if lostByFaults(cutResult("PostgreSQL", nil)) {
		t.Error("without a fault of ours nobody knows who did it")
	}
}

// TestEverythingIsLost: what a fault of assay's left nothing of is a loss with its number, and
// allowed where the settings promise no more. So it is when the folder is judged again.
func TestEverythingIsLost(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ spec, fault, source string }{
		{"redis:1,set.appendonly=no,set.save=''", "kill n1 at 1500ms for 500ms", "appendonly=no"},
		{"postgres:1,fsync=off", "power-cut n1 at 1500ms for 500ms", "fsync=off"},
	} {
		t.Run(test.spec, func(t *testing.T) {
			s := small("", 1, 0)
			s.Cluster, s.Faults = test.spec, []string{test.fault}
			s.Load.Clients, s.Load.Duration = 4, 3*time.Second
			out := carryOut(t, s)
			mustHaveLostAll(t, out.Result, test.source)
			mustHaveLostAll(t, recheck(t, out.Folder).Result, test.source)
		})
	}
}

func mustHaveLostAll(t *testing.T, r *report.Result, source string) {
	t.Helper()
	acknowledged := check.Count(r.Outcomes.Committed)
	if r.Verdict != check.Allowed || r.Promise.Kept == nil || !*r.Promise.Kept || r.Lost == nil || r.Lost.Operations != r.Outcomes.Committed || r.Outcomes.Committed == 0 || !r.Durability.Tried {
		t.Errorf("%v: %s; lost %+v of %s, promise %+v, durability %+v", r.Verdict, details(r), r.Lost, acknowledged, r.Promise, r.Durability)
	}
	if !strings.Contains(details(r), source) || !strings.Contains(details(r), acknowledged) || strings.Contains(details(r), "lost: none") {
		t.Errorf("it says %s", details(r))
	}
}
