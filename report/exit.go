package report

import (
	"cmp"
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
	// Code is for the gravest reason, in this order: a violation; no verdict, an unfulfilled
	// request, an invalid measurement that a threshold or --strict rests on, or a threshold whose
	// figure the run's end cut or that has none; a missed threshold.
	Code int `json:"code"`
	// Reasons are all that is against the run, the gravest first. They are empty with code 0,
	// which a run with an invalid measurement may have.
	Reasons []string `json:"reasons"`
}

// ExitOf says how assay ends with r.
func ExitOf(r *Result) Exit {
	e := Exit{Reasons: []string{}}
	add := func(code int, reason string) {
		if len(e.Reasons) == 0 {
			e.Code = code
		}
		e.Reasons = append(e.Reasons, reason)
	}
	switch {
	case r.Verdict == check.Violated:
		add(ExitViolated, reason("violated", checksWith(r, check.Violated), conviction(r)))
	case r.Judge == JudgeFound && checksWith(r) != "":
		add(ExitViolated, reason("found", checksWith(r)))
	case r.Verdict == check.Valid, r.Verdict == check.Allowed, r.Unasked != "":
	default:
		add(ExitNoVerdict, reason("no verdict", cmp.Or(ruled(r, check.Unknown), undecidedChecks(r)), asked(r)))
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
		if t.Undecided && !r.Measurement.Invalid() {
			add(ExitNoVerdict, "threshold "+r.unanswered(&t))
		}
	}
	for _, t := range r.Thresholds {
		if r.answerOf(&t) == Missed {
			add(ExitThreshold, "threshold missed: "+missedThreshold(&t))
		}
	}
	return e
}

func missedThreshold(t *Threshold) string { return t.Text + ", measured " + measuredValue(t) }

func reason(what string, more ...string) string {
	if text := Joined("; ", more...); text != "" {
		return what + ": " + text
	}
	return what
}

func checksWith(r *Result, ended ...check.Verdict) string {
	var parts []string
	for _, c := range r.Checks {
		if len(ended) == 0 && c.Found > 0 || slices.Contains(ended, c.Verdict) {
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

func noSubject(r *Result) string {
	n := r.NotApplicable[0]
	return "no check of the workload is applicable (" + n.Name + ": " + n.Reason + ")"
}

func sentence(text string) string {
	first, width := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[width:] + "."
}
