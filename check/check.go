// Package check has what all checkers share: the verdicts, how they
// combine, and the evidence of a result.
//
// A checker is a pure function from a history (and what was read back from the
// database) to results. This package and those below it import no database, load
// or workload package.
package check

import (
	"fmt"
	"slices"
	"strings"
)

// Verdict is a checker's answer. The zero value is Unknown, so that a check
// that never ran is never taken for a valid one.
type Verdict uint8

const (
	// Unknown means that nothing can be concluded: nothing was read, nothing was
	// done, the checker failed or ran out of time.
	Unknown Verdict = iota
	// Valid means that everything was looked at and nothing was wrong.
	Valid
	// Violated means that there is evidence of what the rule or the model forbids
	// that was checked. Of a run, it is a promise that the product makes at its version,
	// settings and level.
	Violated
	// Allowed means that something was found, all of which the manual allows at the product's
	// version, settings and level. Checkers do not know it: it is entered beside the promise.
	Allowed
)

// String returns the word used in reports and in result.json.
func (v Verdict) String() string {
	switch v {
	case Valid:
		return "valid"
	case Violated:
		return "violated"
	case Allowed:
		return "allowed"
	default:
		return "unknown"
	}
}

// MarshalText implements encoding.TextMarshaler.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler. It returns an error for
// any word that is not a verdict.
func (v *Verdict) UnmarshalText(text []byte) error {
	switch string(text) {
	case "unknown":
		*v = Unknown
	case "valid":
		*v = Valid
	case "violated":
		*v = Violated
	case "allowed":
		*v = Allowed
	default:
		return fmt.Errorf("check: %q is not a verdict (valid, allowed, violated, unknown)", text)
	}
	return nil
}

// Result is the answer of one check.
type Result struct {
	// Name is the check's name, one lower-case word such as "transfers".
	Name string `json:"name"`
	// Verdict is the answer.
	Verdict Verdict `json:"verdict"`
	// Detail is one sentence: what was looked at and what was found, with
	// figures.
	Detail string `json:"detail"`
	// Evidence lists what was wrong, most telling first; at most MaxEvidence
	// of Found.
	Evidence []Evidence `json:"evidence,omitempty"`
	// Found counts all that was found, listed or not.
	Found int64 `json:"found"`
	// Findings are what Found counts, by kind and by what is promised of it.
	Findings []Finding `json:"findings,omitempty"`
	// Promised is whether one of the findings is of what the database's vendor promises; nil
	// if that is not known, or was not asked.
	Promised *bool `json:"promised,omitempty"`
}

// Finding is how often one kind of thing was found wrong.
type Finding struct {
	// Kind is that of the evidence.
	Kind  string `json:"kind"`
	Found int64  `json:"found"`
	// Property is what the check tests by it, and Promised whether the database's vendor
	// promises it under the settings of the run; nil if that is not known, or was not
	// asked. Source is the settings that take it away, and Manual the page that says so.
	Property string `json:"property,omitempty"`
	Promised *bool  `json:"promised,omitempty"`
	Source   string `json:"source,omitempty"`
	Manual   string `json:"manual,omitempty"`
}

// Ruled says which setting allows the findings, or leaves open whether they are promised, and
// which page of the manual says so; empty if neither is so.
func (f Finding) Ruled() string {
	text := strings.TrimSpace(Count(f.Found)+" "+f.Kind) + ": "
	switch page := ""; {
	case f.Source == "" || f.Promised != nil && *f.Promised:
		return ""
	default:
		if f.Manual != "" {
			page = " (" + f.Manual + ")"
		}
		if f.Promised == nil {
			return text + "not known whether it is promised: " + f.Source + page
		}
		return text + f.Source + " allows it" + page
	}
}

// NotApplicable is a check that has no subject in a run as it was asked for, such as one
// of reads where nothing reads. It has no verdict, and the other checks decide; that
// nothing came of a subject that the run has is Unknown.
type NotApplicable struct {
	// Name is the check's.
	Name string `json:"name"`
	// Reason says which option leaves it without a subject.
	Reason string `json:"reason"`
}

// Applicable returns the results without those of checks that are not applicable. One that
// has found something wrong had a subject after all, and stays.
func Applicable(results []Result, not []NotApplicable) []Result {
	return slices.DeleteFunc(slices.Clone(results), func(r Result) bool {
		return r.Verdict != Violated && r.Found == 0 && slices.ContainsFunc(not, func(n NotApplicable) bool { return n.Name == r.Name })
	})
}

// MaxEvidence bounds the evidence that one result lists.
const MaxEvidence = 20

// Evidence is one thing that was wrong, such that the database's vendor can
// look it up.
type Evidence struct {
	// Kind is a short stable word: "lost", "doubled", "altered".
	Kind string `json:"kind"`
	// Text describes it in words, with the ids, the accounts and by how much.
	Text string `json:"text"`
	// Fields is the same as data, by name.
	Fields map[string]int64 `json:"fields,omitempty"`
	// Cycle is the cycle of transactions that proves it, if that is what it is.
	Cycle *Cycle `json:"cycle,omitempty"`
	// Smallest is the smallest part of the history that proves the same; nil if
	// that was not looked for or not found in time.
	Smallest *Excerpt `json:"smallest,omitempty"`
}

// Cycle is transactions each of which comes before the next, and the last
// before the first: no order of them exists. It is what a report draws.
type Cycle struct {
	Steps []Step `json:"steps"`
}

// Step is one transaction of a cycle and why it comes before the next.
type Step struct {
	// Name is short: "T1".
	Name string `json:"name"`
	// Text is what the transaction did, in words, and who did it.
	Text string `json:"text"`
	// Kind is the dependency on which the next one follows: ww, wr, rw,
	// process or realtime.
	Kind string `json:"kind"`
	// Why describes the dependency in words.
	Why string `json:"why"`
}

// Add counts one finding, lists it if there is room, and sets the verdict to
// Violated.
func (r *Result) Add(e Evidence) {
	r.AddUnlisted(e.Kind, 1)
	if len(r.Evidence) < MaxEvidence {
		r.Evidence = append(r.Evidence, e)
	}
}

// AddUnlisted counts findings of a kind that are not listed, and sets the verdict to
// Violated if there are any.
func (r *Result) AddUnlisted(kind string, n int64) {
	if n <= 0 {
		return
	}
	r.Verdict = Violated
	r.count(kind, n, nil)
}

// Allow counts n findings of a kind that the isolation level, or whatever else the check
// judges by, does not rule out, and lists some if there is room. Unless it finds worse, the
// check ends as Allowed.
func (r *Result) Allow(kind string, n int64, listed ...Evidence) {
	if n <= 0 {
		return
	}
	if r.Verdict != Violated {
		r.Verdict = Allowed
	}
	no := false
	r.count(kind, n, &no)
	r.Evidence = append(r.Evidence, listed[:min(len(listed), max(MaxEvidence-len(r.Evidence), 0))]...)
}

// AddIf adds what is forbidden, and allows what is not.
func (r *Result) AddIf(forbidden bool, e Evidence) {
	if forbidden {
		r.Add(e)
	} else {
		r.Allow(e.Kind, 1, e)
	}
}

func (r *Result) count(kind string, n int64, promised *bool) {
	r.Found += n
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Kind == kind && (f.Promised == nil) == (promised == nil) {
			f.Found += n
			return
		}
	}
	r.Findings = append(r.Findings, Finding{Kind: kind, Found: n, Promised: promised})
}

// Finish sets the verdict of a check that has found nothing wrong, once all was
// examined. Otherwise the verdict stays Unknown, and the reason is added to
// Detail: what is missing, or, if there was nothing to examine, the text in why.
func (r *Result) Finish(missing string, nothing bool, why string) {
	switch {
	case missing != "":
		r.Detail += "; " + missing
	case nothing:
		r.Detail += "; " + why
	case r.Verdict == Unknown:
		r.Verdict = Valid
		return
	default:
		return
	}
	if r.Verdict == Allowed { // there may be worse
		r.Verdict = Unknown
	}
}

// Conclude is Finish with the Detail: what was looked at, and how many findings there are, or
// what is good if there are none and nothing is missing.
func (r *Result) Conclude(looked, good, missing string, nothing bool, why string) Result {
	if r.Detail = looked; r.Found > 0 {
		r.Detail += "; " + Counted(r.Found, "finding", "findings")
	} else if missing == "" {
		r.Detail += good
	}
	r.Finish(missing, nothing, why)
	return *r
}

// Combine returns the verdict over all results: violated dominates unknown
// dominates allowed dominates valid. Of no results it is Unknown.
func Combine(results []Result) Verdict {
	for _, v := range []Verdict{Violated, Unknown, Allowed, Valid} {
		if slices.ContainsFunc(results, func(r Result) bool { return r.Verdict == v }) {
			return v
		}
	}
	return Unknown
}
