package recorded

import (
	"fmt"

	"assay/check"
	"assay/history"
)

const (
	kindLost       = "lost"
	kindUnexpected = "unexpected"
	kindFuture     = "future-read"
	kindDuplicate  = "duplicate"
	kindNoOrder    = "unexplained"
	kindGap        = "earlier-write-missing"
)

type findings struct{ check.Findings }

func newFindings(kinds ...string) *findings { return &findings{check.NewFindings(kinds...)} }

// add counts a finding about an operation, described by Operation.evidence if there is room.
func (f *findings) add(kind string, by *Operation, format string, args ...any) {
	f.Add(kind, func() check.Evidence { return by.evidence(kind, format, args...) })
}

// result is the answer of a check. detail says what was examined; the number of findings
// follows it. The other parameters are those of check.Result.Finish.
func (f *findings) result(name, detail, missing string, nothing bool, why string) check.Result {
	return f.resultAs(name, detail+f.summary(), missing, nothing, why)
}

// resultAs is result with a detail that already counts the findings.
func (f *findings) resultAs(name, detail, missing string, nothing bool, why string) check.Result {
	r := check.Result{Name: name, Detail: detail}
	f.AddTo(&r)
	r.Finish(missing, nothing, why)
	return r
}

// summary counts the findings, such as "; 2 lost, 1 duplicated"; empty without findings.
func (f *findings) summary() string {
	if text := f.String(); text != "" {
		return "; " + text
	}
	return ""
}

// beyond says, if all findings are of these kinds, that a checker of Jepsen's has no such rule: it
// would call the history valid. what is what that checker does.
func (f *findings) beyond(checker, what string, kinds ...string) string {
	if n := f.Count(kinds...); n == 0 || n < f.Count() {
		return ""
	}
	return fmt.Sprintf("; assay is stricter here than Jepsen's %s, which %s", checker, what)
}

func plural[T ~int | ~int64](n T, what string) string { return check.Counted(n, what, what+"s") }

type tally struct{ acknowledged, failed, unknown int64 }

func (t *tally) add(o history.Outcome) {
	switch o {
	case history.Committed:
		t.acknowledged++
	case history.Unknown:
		t.unknown++
	default:
		t.failed++
	}
}

func (t *tally) all() int64 { return t.acknowledged + t.failed + t.unknown }

func (t *tally) describe(what string) string {
	return fmt.Sprintf("%s (%s acknowledged, %s failed, %s of unknown outcome)", plural(t.all(), what),
		check.CountOrNone(t.acknowledged), check.CountOrNone(t.failed), check.CountOrNone(t.unknown))
}
