package compare

import (
	"slices"
	"testing"

	"assay/internal/expect"
	"assay/report"
)

// TestAwayForEver: runs whose node came back and runs whose node never did were not of the
// same faults; when a fault happened and how long it lasted does not matter.
func TestAwayForEver(t *testing.T) {
	for asked, comparable := range map[string]bool{"kill primary at 2s for 9s": true, "": true, "kill primary at 2s for ever": false} {
		a, b := group("a", 1, 2), group("b", 1, 2)
		for i := range b.Runs {
			a.Runs[i].Result.Faults = []report.Fault{{Action: "kill", Target: "primary", Asked: "kill primary at 1s for 5s"}}
			b.Runs[i].Result.Faults = []report.Fault{{Action: "kill", Target: "primary", Asked: asked}}
		}
		if _, err := Compare(a, b, Options{}); (err == nil) != comparable {
			t.Errorf("beside %q: %v", asked, err)
		}
	}
}

// TestOtherServersAreNamed: that a setting or a limit of the servers differs refuses nothing,
// and is said.
func TestOtherServersAreNamed(t *testing.T) {
	on := func(name, spec string) Group {
		g := group(name, 1000, 1010, 990, 1005)
		g.Runs[0].Result.Cluster = &report.Cluster{Spec: spec}
		return g
	}
	said := func(a, b Group) bool {
		c, err := Compare(a, b, Options{})
		expect.NoError(t, err)
		return slices.Contains(c.differing(), "cluster postgres:1,set.work_mem=1MB -> postgres:1")
	}
	a, b := on("a", "postgres:1,set.work_mem=1MB"), on("b", "postgres:1")
	if !said(a, b) || said(a, a) {
		t.Error("it is not said, or of the same servers")
	}
}
