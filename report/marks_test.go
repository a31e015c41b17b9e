package report

import (
	"bytes"
	"errors"
	"testing"

	"assay/check"
	"assay/internal/expect"
)

// TestThresholdMarks: a tick or a cross stands beside the figure of each threshold,
// and a word says the same to those who do not see it; pages hide the mark from screen
// readers.
func TestThresholdMarks(t *testing.T) {
	r := examples()["valid"]
	r.Thresholds = []Threshold{{Text: "p99<100ms", Measured: 14.9, Unit: "ms", Kept: true}, {Text: "throughput>9000", Measured: 2263, Unit: "/s"}}
	var terminal, markdown, page bytes.Buffer
	expect.NoError(t, errors.Join(Text(&terminal, r, TextOptions{}), Markdown(&markdown, r), HTML(&page, r, Page{})))
	for _, want := range []struct{ where, text, line string }{
		{"terminal", terminal.String(), "✓ 14.9 ms   p99<100ms   kept"},
		{"terminal", terminal.String(), "✗ 2,263/s   throughput>9000   MISSED"},
		{"Markdown", markdown.String(), "| p99&lt;100ms | ✓ 14.9 ms | kept |"},
		{"Markdown", markdown.String(), "| throughput&gt;9000 | ✗ 2,263/s | MISSED |"},
		{"the page", page.String(), `<span aria-hidden="true">✓</span> 14.9`},
		{"the page", page.String(), `<span aria-hidden="true">✗</span> 2,263/s</td><td class="words">MISSED</td>`},
	} {
		expect.Text(t, want.where, want.text, want.line)
	}
}

// TestDocumentMarks: the same of a gate, which otherwise only a color would tell.
func TestDocumentMarks(t *testing.T) {
	d := Document{Title: "two runs", Verdicts: []DocumentVerdict{{Text: "gate missed", Verdict: check.Violated}, {Text: "gate kept", Verdict: check.Valid}}}
	var terminal, markdown, page bytes.Buffer
	expect.NoError(t, errors.Join(d.Text(&terminal, TextOptions{}), d.Markdown(&markdown), d.HTML(&page)))
	for text, wants := range map[string][]string{
		terminal.String(): {"✗ gate missed", "✓ gate kept"},
		markdown.String(): {"✗ **gate missed**", "✓ **gate kept**"},
		page.String():     {`<span class="mark" aria-hidden="true">✗</span> gate missed`, `<span class="mark" aria-hidden="true">✓</span> gate kept`},
	} {
		expect.Text(t, "the text", text, wants...)
	}
}
