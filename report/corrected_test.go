package report

import (
	"strings"
	"testing"

	"assay/internal/expect"
)

// The corrected latency stands beside what was measured, where it differs, and
// never in its place.
func TestCorrectedLatencyIsARowOfItsOwn(t *testing.T) {
	for _, material := range []bool{true, false} {
		r := validRun()
		corrected := r.Latency
		corrected.P99 = 10_400
		r.Corrected, r.Correction = &corrected, &Correction{Interval: 2, Added: 900, Material: material}
		for form, text := range forms(t, r) {
			if got := strings.Contains(text, "corrected"); got != (material && form != "summary" && form != "tests") {
				t.Errorf("%s, material %v: the corrected row is there: %v", form, material, got)
			}
			if form != "tests" {
				expect.Text(t, form, text, strings.ReplaceAll(millis(r.Latency.P99), nbsp, " "))
			}
		}
	}
}
