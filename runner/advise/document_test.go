package advise

import (
	"bytes"
	"testing"

	"assay/check"
	"assay/internal/expect"
	"assay/report"
)

// TestConvictionIsShown: for a broken promise the advice has the transactions, the reason, and the
// number of times.
func TestConvictionIsShown(t *testing.T) {
	evidence := check.Evidence{Kind: "end", Smallest: &check.Excerpt{Clock: check.Nanoseconds, Operations: []check.Operation{
		{Name: "T1", Transaction: "close", Statements: []check.Statement{{Text: "COMMIT", Sent: 0, Answered: 9e6}}}}}}
	row := Row{Level: "serializable", Model: "serializable", Verdict: check.Violated, PromiseBroken: true, Found: "closed batches stay",
		Evidence:   []check.Result{{Name: "invariants", Verdict: check.Violated, Evidence: []check.Evidence{evidence}}},
		Conviction: &report.Conviction{Database: "PostgreSQL 15.18", Promise: "serializable", Causes: []report.Cause{{Name: "stalls of assay", RuledOut: true, Detail: "none"}}}}
	row.convict([]check.Result{{Verdict: check.Violated}, {Verdict: check.Valid}, {Verdict: check.Valid}, {Verdict: check.Valid}})
	a := &Advice{Alone: &Row{Verdict: check.Valid, Committed: 40}, Levels: []Row{{Level: "repeatable read", Verdict: check.Valid, Committed: 9}, row}}
	var b bytes.Buffer
	expect.NoError(t, a.Document("assay advise x.star").Text(&b, report.TextOptions{Width: 200}))
	expect.Text(t, "the advice", b.String(), "T1: COMMIT", "ruled out: stalls of assay", "ruled out: the script itself: one client alone kept what must hold in 40 transactions",
		"again: assay advise x.star --level 'serializable'", "how often: shown in 1 of 4 runs (95 %: 0.631 to 80.6 %)", "✗ serializable: the database broke what it promises")
}
