package advise

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"assay/check"
	"assay/internal/expect"
	"assay/report"
	"assay/runner"
	"assay/store"
	"assay/workload/script"
)

// TestNothingIsRight: what is not known of a level is not told as gone wrong.
func TestNothingIsRight(t *testing.T) {
	broken, unknown, failed := Row{Level: "a", Verdict: check.Violated, Committed: 9}, Row{Level: "b"}, Row{Level: "c", Problem: "the database is gone."}
	for name, c := range map[string]struct {
		rows []Row
		want string
	}{
		"all wrong":                {[]Row{broken, broken}, "no level and no change kept what must hold"},
		"no verdict":               {[]Row{unknown, unknown}, "nothing is known of any level: no run had a verdict; declare what must hold"},
		"no run":                   {[]Row{unknown, failed}, "nothing is known of any level: the database is gone"},
		"some wrong":               {[]Row{broken, unknown, failed}, "no level and no change was seen to keep what must hold; 2 are not known"},
		"valid, with runs missing": {[]Row{broken, {Level: "d", Verdict: check.Valid, Committed: 1, Problem: "no servers"}}, "no level and no change was seen to keep what must hold; 1 is not known"},
	} {
		a := &Advice{Levels: c.rows}
		a.rank()
		d := a.Document("")
		if answer := strings.ToUpper(c.want[:1]) + c.want[1:] + "."; d.Answers[0] != answer || d.Verdicts[len(d.Verdicts)-1].Text != c.want {
			t.Errorf("%s: %q, %+v", name, d.Answers, d.Verdicts)
		}
	}
}

// TestALaterErrorTakesNothingBack: changes that could not be tried leave the advice its levels, with
// the promise that the database broke at one of them.
func TestALaterErrorTakesNothingBack(t *testing.T) {
	f := &finding{plan: Plan{Base: runner.Scenario{Config: &script.Config{Script: script.Script{File: filepath.Join(t.TempDir(), "none.star")}}}}, sent: &script.Sent{}}
	a := &Advice{Alone: &Row{Verdict: check.Valid}, Levels: []Row{{Level: "weak", Verdict: check.Valid, Committed: 1}, {Level: "strong", Model: "serializable", Verdict: check.Violated, PromiseBroken: true}}}
	if err := f.conclude(t.Context(), a, []store.Level{{Name: "weak"}, {Name: "strong"}}); err == nil || a.Verdict() != check.Violated || len(a.Right) != 1 {
		t.Fatalf("%+v, %v", a, err)
	}
	var b bytes.Buffer
	expect.NoError(t, a.Document("assay advise x.star").Text(&b, report.TextOptions{Width: 200}))
	expect.Text(t, "the advice", b.String(), "strong: the database broke what it promises", "not tried: changes at the levels that went wrong")
}

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
