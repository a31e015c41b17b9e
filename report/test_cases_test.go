package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"assay/check"
	"assay/internal/expect"
	"assay/report/junit"
)

// variants are the examples with what else an exit code depends on.
func variants() map[string]*Result {
	all := examples()
	for name, change := range map[string]func(r *Result){
		"strict":      func(r *Result) { r.Strict = true },
		"judge found": func(r *Result) { r.Judge = JudgeFound },
		"allowed":     func(r *Result) { r.Checks, r.Verdict = foundRun(check.Allowed).Checks, check.Allowed },
		"allowed, found": func(r *Result) {
			r.Checks, r.Verdict, r.Judge = foundRun(check.Allowed).Checks, check.Allowed, JudgeFound
		},
		"not known":        func(r *Result) { r.Checks, r.Verdict = foundRun(check.Unknown).Checks, check.Unknown },
		"not done":         func(r *Result) { r.Unanswered = []string{"fault kill primary is not proven"} },
		"invalid":          func(r *Result) { r.Measurement = Measurement{"invalid", []string{"too short"}} },
		"wide":             func(r *Result) { r.Measurement = Measurement{"wide", nil} },
		"nothing checked":  func(r *Result) { r.Checks, r.Verdict = nil, check.Unknown },
		"no thresholds":    func(r *Result) { r.Thresholds = nil },
		"record alone":     func(r *Result) { r.Verdict = check.Unknown },
		"not judged":       func(r *Result) { r.Checks, r.Verdict, r.Unasked = nil, check.Unknown, "no invariant was declared" },
		"not applicable":   func(r *Result) { r.NotApplicable = []check.NotApplicable{{Name: "audits", Reason: "--audits 0"}} },
		"missed threshold": func(r *Result) { r.Thresholds = []Threshold{{Text: "p99<1ms", Measured: 14, Unit: "ms"}} },
	} {
		for example, r := range examples() {
			change(r)
			all[example+", "+name] = r
		}
	}
	return all
}

// TestCasesAndExitCode: a pipeline that goes by the test report decides as one that goes by
// the exit code.
func TestCasesAndExitCode(t *testing.T) {
	for name, r := range variants() {
		bad, names := 0, map[string]bool{}
		for _, c := range Tests(r, "").Cases {
			if c.Answer == junit.InError || c.Answer == junit.Failed {
				bad++
				if c.Message == "" || c.Kind == "" {
					t.Errorf("%s: %s is bad and does not say why", name, c.Name)
				}
			}
			if c.Answer == junit.Skipped && c.Message == "" {
				t.Errorf("%s: %s is skipped without a reason", name, c.Name)
			}
			if names[c.Class+c.Name] {
				t.Errorf("%s: there are two cases %s", name, c.Name)
			}
			names[c.Class+c.Name] = true
		}
		exit := ExitOf(clean(r))
		if (exit.Code == ExitValid) != (bad == 0) {
			t.Errorf("%s: %d cases are bad, and the exit code is %d (%v)", name, bad, exit.Code, exit.Reasons)
		}
	}
}

// TestCaseOfAViolation: it is a failure with the evidence, and what was not decided an error.
func TestCaseOfAViolation(t *testing.T) {
	r := violatedRun()
	s := Tests(r, "clients=16, repeat 2")
	got := map[string]junit.Case{}
	for _, c := range s.Cases {
		got[c.Name] = c
	}
	lost, replicas := got["transfers"], got["replicas"]
	if lost.Answer != junit.Failed || lost.Kind != "violated" || replicas.Answer != junit.InError || got["order"].Answer != junit.Passed {
		t.Errorf("the answers are %+v, %+v, %+v", lost, replicas, got["order"])
	}
	expect.Text(t, "the failure", lost.Text, "lost: transfer 3.4,100 of 250 from account 17", "transfer 3.4,112")
	expect.Text(t, "the run", got["run"].Text, "2,263 committed/s", "kill primary (n1) at 22 s of the run")
	if lost.Class != "assay.bank.MongoDB, clients=16, repeat 2" || s.Name != "bank on MongoDB, clients=16, repeat 2" || s.Seconds != 76 {
		t.Errorf("the suite is %q of %v s, the class %q", s.Name, s.Seconds, lost.Class)
	}
	for _, p := range s.Properties {
		if p.Name == "seed" && p.Value != "42" {
			t.Errorf("the seed is %s", p.Value)
		}
	}
	// What changes from run to run is in no name.
	again := violatedRun()
	again.Seed, again.Version, again.Database.Version, again.Throughput.PerSecond = 43, "0.4.0", "9.0", 1
	for i, c := range Tests(again, "clients=16, repeat 2").Cases {
		if c.Name != s.Cases[i].Name || c.Class != s.Cases[i].Class {
			t.Errorf("%s %s became %s %s", s.Cases[i].Class, s.Cases[i].Name, c.Class, c.Name)
		}
	}
}

// TestNotAnswered: a threshold that rests on an invalid measurement has one answer, whether the
// figure keeps it or not. A figure that does not exist neither keeps nor misses a limit, and no form
// shows a 0 for it.
func TestNotAnswered(t *testing.T) {
	invalid := Measurement{"invalid", []string{"too short"}}
	missing := Threshold{Text: "p99<1s after faults", Unit: "ms", Undecided: true, Missing: "nothing to measure it by: no such operations at that time"}
	for name, c := range map[string]struct {
		m            Measurement
		threshold    Threshold
		shown, tests string
		reason       string
	}{
		"kept, invalid":    {invalid, Threshold{Text: "p99<1ms", Measured: 14, Unit: "ms", Kept: true}, "? 14 ms", `type="measurement invalid"`, "measurement invalid: too short"},
		"missed, invalid":  {invalid, Threshold{Text: "p99<1ms", Measured: 14, Unit: "ms"}, "? 14 ms", `type="measurement invalid"`, "measurement invalid: too short"},
		"nothing, valid":   {Measurement{Verdict: "valid"}, missing, "? nothing measured", `type="not answered"`, "not answered: p99<1s after faults, nothing to measure it by"},
		"nothing, invalid": {invalid, missing, "? nothing measured", `type="measurement invalid"`, "measurement invalid: too short"},
	} {
		r := validRun()
		r.Measurement, r.Thresholds = c.m, []Threshold{c.threshold}
		for form, text := range forms(t, r) {
			expect.Text(t, name+", "+form, text, "not answered", map[bool]string{true: c.tests, false: c.shown}[form == "tests"])
			for _, bad := range []string{"✓ 14", "MISSED", "measured 0"} {
				if strings.Contains(text, bad) {
					t.Errorf("%s: the %s says %q", name, form, bad)
				}
			}
		}
		expect.Text(t, name, string(jsonOf(t, r)), c.threshold.Missing)
		if e := ExitOf(r); e.Code != ExitNoVerdict || strings.Contains(strings.Join(e.Reasons, ""), "missed") || !strings.Contains(e.Reasons[0], c.reason) {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

// TestGravestThreshold: the exit code does not depend on the order of the thresholds.
func TestGravestThreshold(t *testing.T) {
	missed, cut := Threshold{Text: "p99<1ms", Measured: 14, Unit: "ms"}, Threshold{Text: "outage<1s", Measured: 400, Unit: "ms", AtLeast: true, Undecided: true}
	for _, all := range [][]Threshold{{missed, cut}, {cut, missed}} {
		r := validRun()
		r.Thresholds = all
		if e := ExitOf(r); e.Code != ExitNoVerdict || len(e.Reasons) != 2 || !strings.Contains(e.Reasons[0], "outage<1s") {
			t.Errorf("%+v", e)
		}
	}
}

// TestSummaryGolden holds the short form, and that it is short.
func TestSummaryGolden(t *testing.T) {
	for name, r := range examples() {
		var b bytes.Buffer
		expect.NoError(t, Summary(&b, r, "runs/x/report.html"))
		if name == "violated" || name == "cut" {
			golden(t, name+".summary.md", b.Bytes())
		}
		if b.Len() > 10_000 {
			t.Errorf("%s takes %d bytes", name, b.Len())
		}
	}
}

// TestSummaryOfMuch: evidence of any length stays short.
func TestSummaryOfMuch(t *testing.T) {
	r := violatedRun()
	for i := range r.Checks[2].Evidence {
		r.Checks[2].Evidence[i].Text = strings.Repeat("ä|", 10_000)
	}
	var b bytes.Buffer
	expect.NoError(t, Summary(&b, r, ""))
	if b.Len() > 10_000 {
		t.Errorf("it takes %d bytes", b.Len())
	}
	expect.Text(t, "the summary", b.String(), "…", "10 more", fmt.Sprintf("Exit code %d", ExitViolated))
}

// TestHistoryTests: a history of another tool is one case, by its file.
func TestHistoryTests(t *testing.T) {
	for verdict, answer := range map[check.Verdict]junit.Answer{check.Valid: junit.Passed, check.Violated: junit.Failed, check.Unknown: junit.InError} {
		h := History{Path: "/tmp/x/history.edn", Kind: "list-append", Format: "EDN", Model: "serializable", Verdict: verdict,
			Evidence: []check.Evidence{{Kind: "G1c", Text: "T1 < T2"}}}
		c := h.Tests().Cases[0]
		if c.Name != "history.edn" || c.Answer != answer || !strings.Contains(c.Text, "G1c: T1 < T2") {
			t.Errorf("%v: %+v", verdict, c)
		}
		var b bytes.Buffer
		expect.NoError(t, h.Summary(&b))
		expect.Text(t, "the summary", b.String(), "history.edn", strings.ToUpper(verdict.String()), "G1c: T1 &lt; T2")
	}
}
