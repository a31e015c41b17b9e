package report

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"assay/check"
)

// The exit codes of a run that has a result.
const (
	ExitValid     = 0
	ExitViolated  = 1
	ExitThreshold = 3
	ExitNoVerdict = 4
)

// Exit is how assay ends with this result.
type Exit struct {
	// Code is the exit code of the gravest reason: a violation, then no verdict, something
	// that was asked for and not done, or an invalid measurement that a threshold or
	// --strict rests on, then a missed threshold.
	Code int `json:"code"`
	// Reasons are all that is against the run, the gravest first, also those
	// that did not decide the code; empty with code 0, which a measurement that
	// nothing rests on may have, whatever it is worth.
	Reasons []string `json:"reasons"`
}

// ExitOf describes how assay ends with r.
func ExitOf(r *Result) Exit {
	e := Exit{Reasons: []string{}}
	add := func(code int, reason string) {
		if len(e.Reasons) == 0 {
			e.Code = code
		}
		e.Reasons = append(e.Reasons, reason)
	}
	switch kept := promiseKept(r); {
	case r.Judge == JudgePromise && kept != nil && *kept:
	case r.Judge == JudgePromise && kept != nil:
		add(ExitViolated, reason("a promise of the vendor's is broken", violatedChecks(r), r.Promise.Detail))
	case r.Unasked != "":
	case r.Judge == JudgePromise:
		add(ExitNoVerdict, reason("no verdict on what the vendor promises", violatedChecks(r), undecidedChecks(r), promiseLine(r)))
	case r.Verdict == check.Violated:
		add(ExitViolated, reason("violated", violatedChecks(r), promiseLine(r)))
	case r.Verdict == check.Valid:
	default:
		add(ExitNoVerdict, reason("no verdict", undecidedChecks(r), promiseLine(r)))
	}
	for _, what := range r.Unanswered {
		add(ExitNoVerdict, "asked for and not done: "+what)
	}
	if r.Measurement.Invalid() && (r.Strict || len(r.Thresholds) > 0 || len(e.Reasons) > 0) {
		for _, why := range r.Measurement.Reasons {
			if !slices.Contains(r.Unanswered, why) {
				add(ExitNoVerdict, "measurement invalid: "+why)
			}
		}
		if len(r.Measurement.Reasons) == 0 {
			add(ExitNoVerdict, "measurement invalid")
		}
	}
	for _, t := range r.Thresholds {
		if t.Undecided {
			add(ExitNoVerdict, "threshold not answered, since the run's end cut the figure: "+missedThreshold(&t))
		} else if !t.Kept {
			add(ExitThreshold, "threshold missed: "+missedThreshold(&t))
		}
	}
	return e
}

// promiseKept is whether the vendor's promise was kept; nil if that is not decided.
func promiseKept(r *Result) *bool {
	if r.Promise == nil {
		return nil
	}
	return r.Promise.Kept
}

func missedThreshold(t *Threshold) string { return t.Text + ", measured " + measuredValue(t) }

func reason(what string, more ...string) string {
	if text := joined("; ", more...); text != "" {
		return what + ": " + text
	}
	return what
}

func violatedChecks(r *Result) string {
	var parts []string
	for _, c := range r.Checks {
		if c.Verdict == check.Violated {
			parts = append(parts, check.Counted(c.Found, "finding", "findings")+" in "+c.Name)
		}
	}
	return strings.Join(parts, ", ")
}

func undecidedChecks(r *Result) string {
	var parts []string
	for _, c := range r.Checks {
		if c.Verdict == check.Unknown {
			parts = append(parts, c.Name+": "+c.Detail)
		}
	}
	if len(parts) == 0 && len(r.NotApplicable) > 0 {
		parts = append(parts, noSubject(r))
	}
	return strings.Join(parts, "; ")
}

// noSubject says that no check of the workload was applicable.
func noSubject(r *Result) string {
	n := r.NotApplicable[0]
	return "no check of the workload is applicable (" + n.Name + ": " + n.Reason + ")"
}

// sentence begins with a capital letter and ends with a full stop.
func sentence(text string) string {
	first, width := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[width:] + "."
}
