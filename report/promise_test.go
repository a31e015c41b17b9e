package report

import (
	"html"
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

// forms are all reports of a result as their readers see them.
func forms(t *testing.T, r *Result) map[string]string {
	t.Helper()
	var markdown, summary, tests strings.Builder
	expect.NoError(t, Markdown(&markdown, r), Summary(&summary, r, ""), junit.Write(&tests, "", []junit.Suite{Tests(r, "")}))
	all := map[string]string{"text": textOf(t, r, TextOptions{Width: 400}), "Markdown": markdown.String(), "page": htmlOf(t, r, Page{}), "summary": summary.String(), "tests": tests.String()}
	for form, text := range all {
		all[form] = strings.ReplaceAll(html.UnescapeString(text), nbsp, " ")
	}
	return all
}

// TestVerdictIsTold wants all reports to tell what the manual allows, and a missed model that was only
// asked for, from a broken promise and from what nobody knows, and the exit code to follow.
func TestVerdictIsTold(t *testing.T) {
	yes, no := true, false
	seeded, kept := foundRun(check.Violated), validRun()
	seeded.Seeded, seeded.Promise.Kept = "lost-ack:0.05", nil
	kept.Promise = &Promise{Asked: "serializable", Kept: &yes}
	for name, test := range map[string]struct {
		r                   *Result
		verdict, page, mark string
		code, found         int
	}{
		"allowed":            {foundRun(check.Allowed), `ALLOWED: 3 stale-read in snapshots; w:1 allows it (MongoDB manual, "Write Concern")`, "manual allows under these settings", "! snapshots", ExitValid, ExitViolated},
		"broken":             {foundRun(check.Violated), "VIOLATED: a promise of the vendor's is broken; 3 findings in 1 of", "broke a promise", "✗ snapshots", ExitViolated, ExitViolated},
		"not known":          {foundRun(check.Unknown), "UNKNOWN: 3 stale-read in snapshots; not known whether it is promised: w:1", "nobody can say", "? snapshots", ExitNoVerdict, ExitViolated},
		"seeded":             {seeded, "VIOLATED: seeded on purpose (lost-ack:0.05); 3 findings in 1 of", "neither the verdict nor the figures say anything about", "✗ snapshots", ExitViolated, ExitViolated},
		"a model missed":     {missedModel(&yes), "ALLOWED: 12 G2-item in isolation; snapshot-isolation, which the vendor promises where serializable was asked for, allows it (page)", "manual allows under these settings", "! isolation", ExitValid, ExitViolated},
		"a model broken":     {missedModel(&no), "VIOLATED: a promise of the vendor's is broken; serializable was asked; 12 findings in 1 of 5 checks (isolation)", "broke a promise", "✗ isolation", ExitViolated, ExitViolated},
		"a model, not known": {missedModel(nil), "UNKNOWN: 12 G2-item in isolation; not known whether it is promised: snapshot-isolation", "nobody can say", "? isolation", ExitNoVerdict, ExitViolated},
		"a model kept":       {kept, "VALID: all 4 checks found nothing wrong; serializable, as was asked", "VALID", "✓ total", ExitValid, ExitValid},
	} {
		all := forms(t, test.r)
		for form, text := range all {
			expect.Text(t, name+", "+form, text, test.verdict)
			if blamed := strings.Contains(text, "vendor's is broken"); blamed != (test.code == ExitViolated && test.r.Seeded == "") {
				t.Errorf("%s: that the %s blames the vendor is %v", name, form, blamed)
			}
		}
		expect.Text(t, name, all["text"], test.mark)
		expect.Text(t, name, all["page"], test.page)
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
