package report

import (
	"strings"
	"testing"

	"assay/check"
	"assay/internal/expect"
)

func briefOf(t *testing.T, r *Result) string {
	t.Helper()
	var b strings.Builder
	expect.NoError(t, Brief(&b, r, TextOptions{Report: "runs/x/report.html"}))
	return b.String()
}

// TestBriefOutages: the longest read outage is another fault's than the longest write outage.
func TestBriefOutages(t *testing.T) {
	r := &Result{Workload: "bank", Verdict: check.Valid, Faults: []Fault{
		{Action: "pause", Target: "n1", WriteOutage: 0, ReadOutage: 20_000},
		{Action: "kill", Target: "n2", WriteOutage: 0.5, ReadOutage: 0.2},
	}}
	text := strings.Join(strings.Fields(strings.ReplaceAll(briefOf(t, r), nbsp, " ")), " ")
	expect.Text(t, "the summary", text, "the longest of 2 faults of writes: kill n2 ", "the longest of 2 faults of reads: pause n1 ", "read outage 20.0 s")
	r.Faults[1].ReadOutage = 30_000
	if text := briefOf(t, r); strings.Contains(text, "of writes:") || !strings.Contains(text, "kill") {
		t.Errorf("one fault has both: %s", text)
	}
	r.Faults[0].WriteOutage, r.Faults[0].WritesAway = 0.1, true // it may be the longest
	r.Faults = append(r.Faults, Fault{Action: "isolate", Target: "n3", Skipped: true, WriteOutage: 60_000, ReadOutage: 60_000})
	expect.Text(t, "with one that was cut, and one skipped", strings.ReplaceAll(briefOf(t, r), nbsp, " "), "write outage at least 500 µs, read outage 30.0 s")
}

// TestBriefSummary: a run ends in about twelve lines of 80 columns, the verdict first and the report
// last; what is wrong is in them, and at most three pieces of evidence.
func TestBriefSummary(t *testing.T) {
	for _, run := range examples() {
		text := briefOf(t, run)
		lines := strings.Split(strings.TrimSpace(text), "\n")
		if len(run.Rounds) == 0 && run.Verdict == check.Valid && len(lines) > 16 {
			t.Errorf("%d lines:\n%s", len(lines), text)
		}
		if !strings.HasPrefix(lines[2], "verdict       ") || !strings.Contains(lines[len(lines)-1], "runs/x/report.html  (--verbose prints all)") {
			t.Errorf("the verdict is not first, or the report not last:\n%s", text)
		}
		for _, line := range lines {
			if len([]rune(line)) > 80 {
				t.Errorf("a line is too wide: %s", line)
			}
		}
	}
	r := &Result{Workload: "bank", Verdict: check.Violated, Measurement: Measurement{Verdict: "invalid", Reasons: []string{"too short: 1 s", "stalled: 2 s"}}}
	for _, name := range []string{"total", "accounts", "transfers", "order", "record"} {
		r.Checks = append(r.Checks, check.Result{Name: name, Verdict: check.Violated, Detail: "2 lost", Found: 2, Evidence: []check.Evidence{{Kind: "lost", Text: "transfer 7 of " + name}}})
	}
	r.Checks[4].Verdict = check.Valid
	text := briefOf(t, r)
	expect.Text(t, "the summary", text, "✗ total       VIOLATED: 2 lost", "lost: transfer 7 of transfers, and 1 more", "✗ order ", "✓ valid       record", "(INVALID, see below)", "INVALID: too short: 1 s; stalled")
	if n := strings.Count(text, "transfer 7 of"); n != 3 {
		t.Errorf("%d pieces of evidence:\n%s", n, text)
	}
	var judged strings.Builder
	expect.NoError(t, Judged(&judged, r, TextOptions{}))
	expect.Text(t, "what was judged", judged.String(), "✗ order", "evidence of total", "verdict       VIOLATED")
	if strings.Contains(judged.String(), "throughput") || strings.Count(judged.String(), "transfer 7 of") != 3 {
		t.Errorf("the run's report again:\n%s", judged.String())
	}
}
