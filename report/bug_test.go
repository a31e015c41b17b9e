package report

import (
	"strings"
	"testing"

	"assay/check"
	"assay/internal/expect"
)

// TestBugPage: the sessions stand side by side in the order of time, each statement with its answer;
// and nothing that a server said ends a block of the page, or becomes a part of it.
func TestBugPage(t *testing.T) {
	r := violatedRun()
	r.Conviction = &Conviction{Promise: "serializable", Manual: `PostgreSQL manual 15, "Transaction Isolation"`}
	b := Bug{Result: r, Check: check.Result{Name: "invariants", Verdict: check.Violated, Found: 2, Findings: []check.Finding{{Kind: "end", Found: 2}}},
		Causes: []Cause{{"stalls", true, "none"}, {"clocks", false, "two"}}, Scenario: "workload: bank\n", Moment: "now",
		Logs: []Setting{{"a.log", "one <b>\n```\ntwo\x1b[31m"}}}
	b.Finding = check.Evidence{Kind: "end", Text: "wrong", Smallest: &check.Excerpt{Clock: check.Nanoseconds, Of: 9, Why: "it cannot", Operations: []check.Operation{
		{Name: "T1", Process: 2, Invoke: 5e6, Statements: []check.Statement{{Text: "BEGIN", Sent: 5e6, Answered: -1}, {Text: "SELECT 1", Answer: "gives (1)", Sent: 5e6, Answered: 65e5}, {Text: "COMMIT", Sent: 8e6, Answered: 9e6}}},
		{Name: "T2", Process: 4, Invoke: 6e6, Statements: []check.Statement{{Text: "UPDATE x", Answer: "changes 1", Sent: 6e6, Answered: 7e6}}},
	}}}
	var page, html strings.Builder
	expect.NoError(t, b.Document().Markdown(&page))
	expect.NoError(t, b.Document().HTML(&html))
	expect.Text(t, "Markdown", page.String(), `| promised | serializable, PostgreSQL manual 15, "Transaction Isolation" |`, "✗ **violated: 2 findings in invariants: 2 end**",
		"```text\ncat > scenario.yaml <<'END_OF_SCENARIO'\nworkload: bank\nEND_OF_SCENARIO\n", "````text\none <b>\n```\ntwo\uFFFD[31m\n````", "| clocks | no | two |",
		"time     process 2                               process 4\n0 ms     ┌ T1\n         │ BEGIN\n         │ SELECT 1\n1.00 ms  │                                       ┌ T2\n         │                                       │ UPDATE x\n"+
			"1.50 ms  └ gives (1)                             │\n2.00 ms                                          └ changes 1\n3.00 ms  ┌ T1\n         │ COMMIT\n4.00 ms  └ done\n\nThat cannot be: it cannot\n")
	expect.Text(t, "HTML", html.String(), "one &lt;b&gt;\n```", "3.00 ms  ┌ T1")
	r.Seeded = "lost-ack"
	page.Reset()
	expect.NoError(t, b.Document().Markdown(&page))
	if text := page.String(); strings.Contains(text, "PostgreSQL manual 15") || !strings.Contains(text, "seeded on purpose (lost-ack)") {
		t.Errorf("of a seeded bug\n%s", text)
	}
}
