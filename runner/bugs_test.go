package runner

import (
	"testing"

	"assay/check"
	"assay/report"
	"assay/workload/bank"
)

// dry is a load under which accounts run dry and transfers are rejected.
func dry(database string, seed uint64) Scenario {
	s := small(database, seed, 20_000)
	s.Config.(*bank.Config).Payroll = 0
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
