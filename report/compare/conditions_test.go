package compare

import (
	"testing"

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
