package recorded

import (
	"fmt"

	"assay/check"
	"assay/history"
)

// The kinds of evidence that more than one checker has.
const (
	kindLost       = "lost"
	kindUnexpected = "unexpected"
	kindFuture     = "future-read"
	kindDuplicate  = "duplicate"
	kindNoOrder    = "unexplained"
	kindGap        = "earlier-write-missing"
)

// findings are those of a check, most of which are of one operation.
type findings struct{ check.Findings }

func newFindings(kinds ...string) *findings { return &findings{check.NewFindings(kinds...)} }

// add counts one finding of what is wrong with an operation, and describes it as
// Operation.evidence does if there is room.
func (f *findings) add(kind string, by *Operation, format string, args ...any) {
	f.Add(kind, func() check.Evidence { return by.evidence(kind, format, args...) })
}

// result is the answer of a check by what was found: detail tells what was examined, and
// the findings are counted behind it. What is missing, or that there was nothing to
// examine and why, is for check.Result.Finish.
func (f *findings) result(name, detail, missing string, nothing bool, why string) check.Result {
	return f.resultAs(name, detail+f.summary(), missing, nothing, why)
}

// resultAs is result with a detail that counts the findings itself.
func (f *findings) resultAs(name, detail, missing string, nothing bool, why string) check.Result {
	r := check.Result{Name: name, Detail: detail}
	f.AddTo(&r)
	r.Finish(missing, nothing, why)
	return r
}

// summary counts the findings in words that follow others, such as "; 2 lost, 1
// duplicated"; it is empty if there are none.
func (f *findings) summary() string {
	if text := f.String(); text != "" {
		return "; " + text
	}
	return ""
}

// plural puts a number before a word in the form that belongs to it.
func plural[T ~int | ~int64](n T, what string) string { return check.Counted(n, what, what+"s") }

// tally counts operations by their outcome.
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

// describe counts the operations, which are called what.
func (t *tally) describe(what string) string {
	return fmt.Sprintf("%s (%s acknowledged, %s failed, %s of unknown outcome)", plural(t.all(), what),
		check.CountOrNone(t.acknowledged), check.CountOrNone(t.failed), check.CountOrNone(t.unknown))
}
