package report

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"assay/check"
	"assay/report/junit"
)

const (
	kindViolated  = "violated"
	kindAllowed   = "allowed"
	kindNoVerdict = "no verdict"
	kindMissed    = "threshold missed"
	kindInvalid   = "measurement invalid"
	kindUndecided = "not answered"
	kindNotDone   = "not done"
)

// Tests gives a result's checks, thresholds and measurement as test cases. configuration tells
// the run from others of its series, if any. Some case fails or is in error if and only if the
// exit code is not 0. Names stay the same from run to run: figures, versions and seeds are in
// texts and properties.
func Tests(r *Result, configuration string) junit.Suite {
	r = clean(r)
	s := newSuite(r.Workload, r.Database.Product, configuration)
	s.Started, s.Seconds = r.Started, r.Ended.Sub(r.Started).Seconds()
	for _, fact := range append([]Setting{{"verdict", verdictLine(r)}, {"exit code", fmt.Sprint(r.Exit.Code)}}, setup(r)...) {
		s.Properties = append(s.Properties, junit.Property{Name: fact.Name, Value: spaced(fact.Value)})
	}
	s.add(runCase(r))
	for _, c := range r.Checks {
		s.add(checkCase(r, c))
	}
	for _, n := range r.NotApplicable {
		s.add(junit.Case{Name: n.Name, Answer: junit.Skipped, Message: "not applicable: " + n.Reason})
	}
	undecided := !slices.ContainsFunc(s.Cases, func(c junit.Case) bool { return c.Answer == junit.InError || c.Answer == junit.Failed })
	if undecided && r.Verdict == check.Unknown && r.Unasked == "" {
		s.add(junit.Case{Name: "verdict", Kind: kindNoVerdict, Message: verdictLine(r)})
	}
	s.add(measurementCase(r))
	for i := range r.Thresholds {
		s.add(thresholdCase(r, &r.Thresholds[i]))
	}
	return s.Suite
}

// NotMade is the suite of a run that has no result, with the reason.
func NotMade(workload, configuration, problem string) junit.Suite {
	s := newSuite(workload, "", configuration)
	s.add(junit.Case{Name: caseRun, Kind: kindNotDone, Message: problem})
	return s.Suite
}

const caseRun = "run"

type suite struct {
	junit.Suite
	class string
}

func newSuite(workload, product, configuration string) *suite {
	s := &suite{class: className("assay", workload, Joined(", ", product, configuration))}
	s.Name = Joined(", ", workload+when(product != "", " on "+product), configuration)
	return s
}

// className joins parts by full stops, readers' borders of packages, and replaces those within.
func className(parts ...string) string {
	var whole []string
	for _, part := range parts {
		if part != "" {
			whole = append(whole, strings.ReplaceAll(part, ".", "_"))
		}
	}
	return strings.Join(whole, ".")
}

func (s *suite) add(c junit.Case) {
	c.Class, c.Message, c.Text = s.class, spaced(c.Message), spaced(c.Text)
	s.Cases = append(s.Cases, c)
}

func spaced(text string) string { return strings.ReplaceAll(text, nbsp, " ") }

// runCase says whether all was done that was asked for. It alone has a time, the whole run's, so
// that readers may add times up.
func runCase(r *Result) junit.Case {
	c := junit.Case{Name: caseRun, Seconds: r.Ended.Sub(r.Started).Seconds(), Answer: junit.Passed}
	if len(r.Unanswered) > 0 {
		c.Answer, c.Kind, c.Message = junit.InError, kindNotDone, "asked for and not done: "+strings.Join(r.Unanswered, "; ")
	}
	lines := rateLines(r)
	for i := range r.Faults {
		lines = append(lines, r.Faults[i].name()+" "+faultLine(&r.Faults[i]))
	}
	c.Text = strings.Join(lines, "\n")
	return c
}

// checkCase skips an allowed finding, with its text, unless any finding fails the run.
func checkCase(r *Result, c check.Result) junit.Case {
	out := junit.Case{Name: c.Name, Text: evidenceLines(c), Message: answer(c)}
	switch {
	case c.Verdict == check.Violated, r.Judge == JudgeFound && c.Found > 0:
		out.Answer, out.Kind = junit.Failed, cmp.Or(when(c.Verdict == check.Allowed, kindAllowed), kindViolated)
	case c.Verdict == check.Valid:
		out.Answer, out.Text, out.Message = junit.Passed, c.Detail, ""
	case c.Verdict == check.Allowed:
		out.Answer = junit.Skipped
	default:
		out.Kind = kindNoVerdict
	}
	return out
}

func evidenceLines(c check.Result) string {
	var lines []string
	for _, e := range c.Evidence {
		lines = append(lines, e.Kind+": "+evidenceText(e))
		if cycle := cycleOf(e); cycle != nil {
			for i, s := range cycle.Steps {
				lines = append(lines, fmt.Sprintf("  %s, %s", s.Name, s.Text),
					fmt.Sprintf("    before %s, %s: %s", after(cycle, i).Name, s.Kind, s.Why))
			}
		}
	}
	if listed := int64(len(c.Evidence)); c.Found > listed && listed > 0 {
		lines = append(lines, fmt.Sprintf("%s of %s; the history in the run's folder has all", check.Count(listed), check.Counted(c.Found, "finding", "findings")))
	}
	return strings.Join(lines, "\n")
}

func measurementCase(r *Result) junit.Case {
	c := junit.Case{Name: "measurement", Answer: junit.Passed, Text: measurementLine(r)}
	if !r.Measurement.Invalid() {
		return c
	}
	c.Answer, c.Text, c.Message = junit.Skipped, "", reason("the figures are not to be believed, and no threshold rests on them", strings.Join(r.Measurement.Reasons, "; "))
	if r.Strict || len(r.Thresholds) > 0 {
		c.Answer, c.Kind, c.Message = junit.InError, kindInvalid, reason("the figures are not to be believed", strings.Join(r.Measurement.Reasons, "; "))
	}
	return c
}

func thresholdCase(r *Result, t *Threshold) junit.Case {
	c := junit.Case{Name: "threshold " + t.Text, Answer: junit.Passed, Text: "measured " + measuredValue(t)}
	switch r.answerOf(t) {
	case NotAnswered:
		c.Answer, c.Kind, c.Message = junit.InError, kindUndecided, r.unanswered(t)
		if r.Measurement.Invalid() {
			c.Kind = kindInvalid
		}
		if t.Missing != "" {
			c.Text = ""
		}
	case Missed:
		c.Answer, c.Kind, c.Message, c.Text = junit.Failed, kindMissed, missedThreshold(t), ""
	}
	return c
}

// Tests gives the judgement as one test case with the name of its file.
func (h *History) Tests() junit.Suite {
	s := &suite{class: className("assay", "check"), Suite: junit.Suite{Name: "histories"}}
	for _, p := range []Setting{{"file", h.Path}, {"kind", h.Kind}, {"format", h.Format}, {"model", h.Model}} {
		s.Properties = append(s.Properties, junit.Property(p))
	}
	evidence := evidenceLines(check.Result{Evidence: h.Evidence})
	c := junit.Case{Name: filepath.Base(h.Path), Kind: kindNoVerdict, Message: h.verdict(h.Verdict.String()), Text: Joined("\n", h.Detail, evidence)}
	switch h.Verdict {
	case check.Valid:
		c.Answer, c.Message = junit.Passed, ""
	case check.Violated:
		c.Answer, c.Kind = junit.Failed, kindViolated
	}
	s.add(c)
	return s.Suite
}
