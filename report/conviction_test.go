package report

import (
	"testing"

	"assay/check"
	"assay/internal/expect"
)

// TestConviction: what an engineer of the vendor needs stands in the terminal, on the page and in
// Markdown, at most three pieces of evidence with their statements.
func TestConviction(t *testing.T) {
	r := violatedRun()
	r.Checks = []check.Result{{Name: "invariants", Verdict: check.Violated, Found: 5}}
	for range 4 {
		r.Checks[0].Evidence = append(r.Checks[0].Evidence, check.Evidence{Kind: "end", Text: "wrong", Smallest: &check.Excerpt{Clock: check.Nanoseconds, Of: 9, Operations: []check.Operation{
			{Name: "T1", ID: 4, Process: 2, Transaction: "close", Attempt: 2, Statements: []check.Statement{{Text: "BEGIN", Sent: 5e6, Answered: -1}, {Text: "COMMIT", Sent: 7e6, Answered: 9e6}}},
			{Name: "T2", Statements: []check.Statement{{Text: "SELECT 1", Answer: "gives (1)", Sent: 6e6, Answered: 65e5}}},
		}}})
	}
	r.Conviction = &Conviction{Database: "PostgreSQL 15.18", Asked: "serializable", InForce: "serializable", Promise: "serializable", Manual: `PostgreSQL manual 15, "Transaction Isolation"`,
		Causes: []Cause{{"stalls", true, "none"}, {"clocks", false, "several"}}, Command: "assay run x", Chance: ChanceOf(3, 250)}
	got := textOf(t, r, TextOptions{})
	expect.Text(t, "the terminal", got,
		"T1: BEGIN (close, client 2, operation 4, attempt 2)  0.000 ms  with the next\n"+
			"T2: SELECT 1 gives (1)                               1.000 ms       1.500 ms\n"+
			"T1: COMMIT                                           2.000 ms       4.000 ms\n",
		"- level: assay asked for serializable, the server answers that", "- promise: serializable (PostgreSQL manual 15, \"Transaction Isolation\")\n",
		"- ruled out: stalls: none\n- not ruled out: clocks: several\n- again: assay run x\n- how often: shown in 3 of 250 runs (95 %: 0.248 to 3.47 %)")
	if n := len(Statements(r.Checks)); n != 3 {
		t.Errorf("%d pieces of evidence have their statements", n)
	}
	r.Conviction.With(CauseScript(0))
	r.Conviction.With(CauseScript(7))
	got = textOf(t, r, TextOptions{})
	expect.Text(t, "the script alone, in place of what was not known", got, "- ruled out: the script itself: one client alone kept what must hold in 7\n  transactions\n")
	if n := len(r.Conviction.Causes); n != 3 {
		t.Errorf("%d causes, and each has one name", n)
	}
	page := htmlOf(t, r, Page{})
	expect.Text(t, "the page", page, "T2: SELECT 1 gives (1)", "not ruled out: clocks: several")
}
