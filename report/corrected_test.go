package report

import (
	"bytes"
	"strings"
	"testing"

	"assay/internal/expect"
)

// The corrected latency stands beside what was measured, where it differs, and
// never in its place.
func TestCorrectedLatencyIsARowOfItsOwn(t *testing.T) {
	for material, want := range map[bool]bool{true: true, false: false} {
		r := validRun()
		corrected := r.Latency
		corrected.P99 = 10_400
		r.Corrected, r.Correction = &corrected, &Correction{Interval: 2, Added: 900, Material: material}
		var text, markdown, page bytes.Buffer
		expect.NoError(t, Text(&text, r, TextOptions{}))
		expect.NoError(t, Markdown(&markdown, r))
		expect.NoError(t, HTML(&page, r, Page{}))
		for name, said := range map[string]string{"text": text.String(), "markdown": markdown.String(), "page": page.String()} {
			if got := strings.Contains(said, "corrected"); got != want {
				t.Errorf("%s, material %v: the corrected row is there: %v", name, material, got)
			}
			expect.Text(t, name, strings.ReplaceAll(said, nbsp, " "), strings.ReplaceAll(millis(r.Latency.P99), nbsp, " "))
		}
	}
}
