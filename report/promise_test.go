package report

import (
	"errors"
	"strings"
	"testing"

	"assay/check"
	"assay/internal/expect"
	"assay/report/junit"
)

// foundRun is a run whose only finding is promised, allowed by w:1, or would be if it were known.
func foundRun(verdict check.Verdict) *Result {
	r := validRun()
	r.Verdict = verdict
	finding := check.Finding{Kind: "stale-read", Found: 3, Property: "recency", Source: "w:1", Manual: `MongoDB manual, "Write Concern"`}
	kept := verdict == check.Allowed
	r.Promise = &Promise{Detail: "snapshots: an audit is older"}
	switch no := false; verdict {
	case check.Allowed:
		finding.Promised, r.Promise.Kept = &no, &kept
	case check.Violated:
		finding, r.Promise.Kept = check.Finding{Kind: "stale-read", Found: 3}, &kept
	}
	r.Checks = append(r.Checks, check.Result{Name: "snapshots", Verdict: verdict, Detail: "an audit is older than a transfer", Found: 3,
		Evidence: []check.Evidence{{Kind: "stale-read", Text: "an audit missed a transfer"}}, Findings: []check.Finding{finding}})
	return r
}

// TestVerdictIsTold wants all reports to tell what the manual allows from a broken promise
// and from what nobody knows, and the exit code to follow.
func TestVerdictIsTold(t *testing.T) {
	seeded := foundRun(check.Violated)
	seeded.Seeded, seeded.Promise.Kept = "lost-ack:0.05", nil
	for name, test := range map[string]struct {
		r                   *Result
		verdict, page, mark string
		code, found         int
	}{
		"allowed":   {foundRun(check.Allowed), `ALLOWED: 3 stale-read in snapshots; w:1 allows it (MongoDB manual, "Write Concern")`, "manual allows under these settings", "! snapshots", ExitValid, ExitViolated},
		"broken":    {foundRun(check.Violated), "VIOLATED: a promise of the vendor's is broken; 3 findings in 1 of", "broke a promise", "✗ snapshots", ExitViolated, ExitViolated},
		"not known": {foundRun(check.Unknown), "UNKNOWN: 3 stale-read in snapshots; not known whether it is promised: w:1", "nobody can say", "? snapshots", ExitNoVerdict, ExitViolated},
		"seeded":    {seeded, "VIOLATED: seeded on purpose (lost-ack:0.05); 3 findings in 1 of", "neither the verdict nor the figures say anything about", "✗ snapshots", ExitViolated, ExitViolated},
	} {
		var markdown, page, line, summary, tests strings.Builder
		expect.NoError(t, errors.Join(Markdown(&markdown, test.r), HTML(&page, test.r, Page{}), Line(&line, test.r), Summary(&summary, test.r, ""), junit.Write(&tests, "", []junit.Suite{Tests(test.r, "")})))
		said := strings.NewReplacer("&#34;", `"`, "&#39;", "'", "&quot;", `"`)
		text := textOf(t, test.r, TextOptions{Width: 400})
		expect.Text(t, name, text, test.mark)
		for form, text := range map[string]string{"text": text, "Markdown": markdown.String(), "page": said.Replace(page.String()), "summary": said.Replace(summary.String()), "tests": said.Replace(tests.String())} {
			if !strings.Contains(text, test.verdict) {
				t.Errorf("%s: the %s does not say %q", name, form, test.verdict)
			}
			if blamed := strings.Contains(text, "vendor's is broken"); blamed != (name == "broken") {
				t.Errorf("%s: that the %s blames the vendor is %v", name, form, blamed)
			}
		}
		expect.Text(t, name, page.String(), test.page)
		for judge, want := range map[string]int{"": test.code, JudgePromise: test.code, JudgeFound: test.found} {
			test.r.Judge = judge
			if e := ExitOf(test.r); e.Code != want || (len(e.Reasons) == 0) != (want == ExitValid) {
				t.Errorf("%s: with --judge %s it ends with %d: %v", name, judge, e.Code, e.Reasons)
			}
		}
	}
}

// TestVerdictsOfEarlierVersions: all that was found was violated there, and the promise beside it
// says what it is.
func TestVerdictsOfEarlierVersions(t *testing.T) {
	for _, want := range []check.Verdict{check.Violated, check.Allowed, check.Unknown} {
		r := foundRun(want)
		c := &r.Checks[len(r.Checks)-1]
		r.Verdict, c.Verdict = check.Violated, check.Violated
		if kept := r.Promise.Kept; kept != nil {
			broken := !*kept
			c.Promised = &broken
		}
		if renewVerdict(r); r.Verdict != want || c.Verdict != want {
			t.Errorf("%s: it is %s, the check %s", want, r.Verdict, c.Verdict)
		}
		r.Verdict, c.Verdict, c.Promised = check.Violated, check.Violated, nil
		r.Promise.Kept, r.Seeded = nil, "lost-ack:0.05"
		if renewVerdict(r); r.Verdict != check.Violated || c.Verdict != check.Violated {
			t.Errorf("%s, and seeded: it is %s, the check %s", want, r.Verdict, c.Verdict)
		}
	}
}
