package report

import (
	"strings"
	"testing"
	"unicode/utf8"

	"assay/check"
	"assay/internal/expect"
)

// skewedClients is a write skew of two clients that a third has seen.
func skewedClients() *check.Excerpt {
	return &check.Excerpt{
		Of: 12_345, Minimal: true, Clock: check.Nanoseconds, Why: "T1 is before T2, and T2 is before T1. serializable forbids that (G2-item).",
		Operations: []check.Operation{
			{Name: "T1", ID: 7, Process: 0, Invoke: 1_000_000, Complete: 3_500_000, Outcome: "committed", Steps: []string{"read [] from key 1", "append 1 to key 2"}},
			{Name: "T2", ID: 9, Process: 4, Invoke: 1_200_000, Complete: -1, Outcome: "unknown", Steps: []string{"append 1 to key 1"}},
			{Name: "T3", ID: -1, Process: -1, Invoke: 4_000_000, Complete: 4_000_001, Outcome: "committed", Steps: []string{"read [1] from key 1"}},
		},
	}
}

// TestLanes: time goes down, each process has a column, and what overlapped is
// side by side.
func TestLanes(t *testing.T) {
	want := `
time     process 0              process 4              the end
0 ms     ┌ T1
         │ read [] from key 1
         │ append 1 to key 2
200 µs   │                      ┌ T2
         │                      ┊ append 1 to key 1
2.50 ms  └ committed            ┊
3.00 ms                         ┊                      ┌ T3
                                ┊                      │ read [1] from key 1
3.00 ms                         ┊                      └ committed
`
	if got := "\n" + strings.Join(drawLanes(skewedClients(), 80), "\n") + "\n"; got != want {
		t.Errorf("%s\nwant%s", got, want)
	}
}

// TestLanesFitTheirWidth: many processes, long words and wide times stay within
// the columns that there are, and what is too large is not drawn.
func TestLanesFitTheirWidth(t *testing.T) {
	for processes := range 14 {
		x := &check.Excerpt{Clock: check.Events}
		for i := range processes {
			x.Operations = append(x.Operations, check.Operation{
				Name: "T1", Process: int64(i) * 1_000_000_007, Invoke: int64(i) + 1_000_000_000, Complete: int64(i) + 2_000_000_000, Outcome: "committed",
				Steps: []string{"append " + strings.Repeat("9", 50) + " to key 17", "read nothing from key 18"},
			})
		}
		lines := drawLanes(x, 80)
		if drawn := len(lines) > 0; drawn != (processes > 0 && processes <= mostLanes) {
			t.Errorf("%d processes: drawn %v", processes, drawn)
		}
		for _, line := range lines {
			if utf8.RuneCountInString(line) > 80 {
				t.Errorf("%d processes: %q", processes, line)
			}
		}
	}
}

// TestExplanation: the story names who did what, what went on at the same time,
// and why it cannot be.
func TestExplanation(t *testing.T) {
	h := History{
		Path: "x.edn", Kind: "list-append", Verdict: check.Violated, Model: "serializable",
		Evidence: []check.Evidence{{Kind: "G2-item", Text: "T1 and T2", Smallest: skewedClients()}, {Kind: "garbage-read", Text: "a read of what nobody wrote"}},
	}
	var b strings.Builder
	expect.NoError(t, h.Text(&b, TextOptions{Explain: true}))
	text := strings.Join(strings.Fields(b.String()), " ")
	expect.Text(t, "the text", text,
		"list-append: G2-item 3 operations of 12,345, the smallest part of the history that shows it.",
		"┌ T1", "┌ T2",
		"T1, of process 0, begins. It reads [] from key 1, then appends 1 to key 2. It is acknowledged.",
		"T2, of process 4, begins while T1 runs. It appends 1 to key 1. Nobody knows whether it took effect.",
		"T3, the read at the end, begins after the end of T1. It reads [1] from key 1.",
		"That cannot be: T1 is before T2, and T2 is before T1. serializable forbids that (G2-item).",
		"list-append: garbage-read a read of what nobody wrote")
}
