package runner

import (
	"strings"
	"testing"
	"time"

	"assay/check"
	"assay/report"
)

// TestEverythingIsLost: a fault's total loss is a loss with its number, and allowed if the settings
// promise no more, also when judged again.
func TestEverythingIsLost(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ spec, fault, source string }{
		{"redis:1,set.appendonly=no,set.save=''", "kill n1 at 1500ms for 500ms", "appendonly=no"},
		{"redis:1,set.appendonly=no,set.save=''", "restart n1 at 1500ms", "appendonly=no"},
		{"postgres:1,fsync=off", "power-cut n1 at 1500ms for 500ms", "fsync=off"},
	} {
		t.Run(test.spec+" "+test.fault, func(t *testing.T) {
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
