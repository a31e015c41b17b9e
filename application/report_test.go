package application

import (
	"fmt"
	"strings"
	"testing"

	"assay/application/wire"
	"assay/check"
	"assay/internal/expect"
)

// TestReport has each outcome: the page has a row of each event and what was done twice, and the summary
// has at most twelve entries, the gravest first.
func TestReport(t *testing.T) {
	r := &Report{Command: []string{"./orders"}, Product: "PostgreSQL", own: "assay app --seed 5", Again: "assay app --seed 5 -- ./orders", Tries: []Try{{Happens: Survived, Verdict: check.Valid}}}
	for i, c := range []struct {
		happens string
		verdict check.Verdict
	}{{Survived, check.Valid}, {Retried, check.Valid}, {Twice, check.Violated}, {LeftOut, check.Allowed}, {Lost, check.Violated}, {Broke, check.Violated}, {Hung, check.Violated}, {Crashed, check.Allowed}, {NotKnown, check.Unknown}} {
		r.Tries = append(r.Tries, Try{Event: fmt.Sprintf("reset@%08d:1", i), Action: wire.Reset, Place: []string{"INSERT a", "COMMIT"}, Happens: c.happens, Verdict: c.verdict, Detail: "so it is"})
	}
	r.Tries[3].Twice = []*wire.Transaction{sold(10, false, "INSERT INTO sale VALUES ('first', 1)"), sold(20, true, "INSERT INTO sale VALUES ('again', 1)")}
	r.Untouched.Habits = []Habit{{Kind: "n+1", Statement: "SELECT a", Times: 7}}
	r.finish()
	var page, summary strings.Builder
	expect.NoError(t, r.Document().HTML(&page), r.Lines(&summary, "out/report.html"))
	expect.Text(t, "the page", page.String(), "reset@00000002:1", "INSERT a; COMMIT", "so it is", "Done twice at reset@00000002:1", "first", "again", "Habits", "one event again: assay app --seed 5 --event reset@00000008:1 -- ./orders")
	if n := strings.Count(page.String(), "reset@0000000"); n < 9 {
		t.Errorf("%d events are there", n)
	}
	lines := strings.Split(strings.TrimSpace(summary.String()), "\n")
	entries := 0
	for _, line := range lines {
		if !strings.HasPrefix(line, " ") {
			entries++
		}
	}
	if entries > 12 || !strings.HasPrefix(lines[3], "✗ lost") || lines[len(lines)-1] != "report          out/report.html" {
		t.Errorf("%d entries: %s", entries, summary.String())
	}
}

// TestTries bounds the events, and says how many there are.
func TestTries(t *testing.T) {
	x := &trying{Plan: Plan{Product: limited{}, Tries: 2}, base: &baseline{places: []*wire.Place{{Name: "abcd0123", Kind: wire.Begin, Shapes: []string{"BEGIN"}, Times: 1}}}}
	r := &Report{}
	all, err := x.attempts(t.Context(), r)
	if err != nil || len(all) != 2 || r.Possible != 3 || len(r.Notes) != 1 || r.Notes[0] != "2 of 3 events were tried; --tries 3 tries all" {
		t.Errorf("%v, %v: %d possible, %q", all, err, r.Possible, r.Notes)
	}
	x.Tries, r = 3, &Report{}
	if all, err = x.attempts(t.Context(), r); err != nil || len(all) != 3 || len(r.Notes) != 0 {
		t.Errorf("%v, %v: %q", all, err, r.Notes)
	}
}
