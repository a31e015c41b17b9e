package report

import (
	"errors"
	"strings"
	"testing"

	"assay/check"
	"assay/internal/expect"
)

// allowedRun is a run whose only finding is what w:1 allows, or would if it were known.
func allowedRun(kept *bool) *Result {
	r := validRun()
	r.Verdict = check.Violated
	no := false
	finding := check.Finding{Kind: "stale-read", Found: 1, Property: "recency", Source: "w:1", Manual: `MongoDB manual, "Write Concern"`}
	if kept != nil {
		finding.Promised = &no
	}
	r.Checks = append(r.Checks, check.Result{Name: "snapshots", Verdict: check.Violated, Detail: "an audit is older than a transfer", Found: 1,
		Evidence: []check.Evidence{{Kind: "stale-read", Text: "an audit missed a transfer"}}, Findings: []check.Finding{finding}})
	r.Promise = &Promise{Kept: kept, Source: finding.Source, Manual: finding.Manual, Detail: "snapshots: an audit is older"}
	return r
}

// TestAllowedIsTold wants all reports to tell what the manual allows from a broken promise
// and from what nobody knows, and the exit code to follow what was asked for.
func TestAllowedIsTold(t *testing.T) {
	kept, broken := true, false
	worse := allowedRun(&broken)
	worse.Promise.Source, worse.Promise.Manual, worse.Checks[len(worse.Checks)-1].Findings = "", "", nil
	for name, test := range map[string]struct {
		r             *Result
		verdict, page string
		line          string
		judged        int
	}{
		"allowed": {allowedRun(&kept), `VIOLATED, and allowed by w:1 (MongoDB manual, "Write Concern"): 1 finding in 1 of`, "manual allows under these settings",
			`exit 1: violated: 1 finding in snapshots; allowed by w:1 (MongoDB manual, "Write Concern")`, ExitValid},
		"broken": {worse, "VIOLATED: a promise of the vendor's is broken; 1 finding in 1 of", "broke a promise", "a promise of the vendor's is broken", ExitViolated},
		"not known": {allowedRun(nil), "VIOLATED, and not known whether the vendor promises it (w:1): 1 finding in 1 of", "not known whether the vendor promises",
			"not known whether the vendor promises it (w:1)", ExitNoVerdict},
	} {
		var markdown, page, line strings.Builder
		expect.NoError(t, errors.Join(Markdown(&markdown, test.r), HTML(&page, test.r, Page{}), Line(&line, test.r)))
		said := strings.NewReplacer("&#34;", `"`, "&#39;", "'")
		for form, text := range map[string]string{"text": textOf(t, test.r, TextOptions{Width: 400}), "Markdown": markdown.String(), "page": said.Replace(page.String())} {
			expect.Text(t, name, text, test.verdict)
			if by := strings.Contains(text, "stale-read") && strings.Contains(text, `w:1; MongoDB manual, "Write Concern"`); by != (name != "broken") {
				t.Errorf("%s: that the %s says by what it is allowed is %v", name, form, by)
			}
		}
		if !strings.Contains(page.String(), test.page) || !strings.Contains(line.String(), test.line) {
			t.Errorf("%s: the page lacks %q, or the line %q: %s", name, test.page, test.line, line.String())
		}
		if e := ExitOf(test.r); e.Code != ExitViolated {
			t.Errorf("%s: ends with %d", name, e.Code)
		}
		test.r.Judge = JudgePromise
		if e := ExitOf(test.r); e.Code != test.judged || (len(e.Reasons) == 0) != (test.judged == ExitValid) {
			t.Errorf("%s: judged by the promise it ends with %d: %v", name, e.Code, e.Reasons)
		}
	}
}

// TestJudgedByThePromise wants a promise that was broken where a weaker model was asked for
// to count where the promise alone does, and a run without a promise to have no verdict.
func TestJudgedByThePromise(t *testing.T) {
	weaker, without := validRun(), validRun()
	weaker.Promise, without.Promise = asked("read-committed", false).Promise, nil
	for name, test := range map[string]struct {
		r    *Result
		want int
	}{"weaker": {weaker, ExitViolated}, "without": {without, ExitNoVerdict}} {
		test.r.Judge = JudgePromise
		if e := ExitOf(test.r); e.Code != test.want {
			t.Errorf("%s: ends with %d: %v", name, e.Code, e.Reasons)
		}
	}
}
