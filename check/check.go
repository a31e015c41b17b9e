// Package check holds what all checkers share: verdicts, how they combine, and the evidence
// of a result.
//
// A checker is a pure function from a history (and the data read back from the database) to
// results. This package and those below it import no database, load or workload package.
package check

import (
	"fmt"
	"slices"
	"strings"
)

// Verdict is a checker's answer. The zero value is Unknown, so a check that never ran is
// never valid.
type Verdict uint8

const (
	// Unknown means that no conclusion is possible: nothing was read or done, or the checker
	// failed or ran out of time.
	Unknown Verdict = iota
	// Valid means that everything was examined and nothing was wrong.
	Valid
	// Violated means that there is evidence against the checked rule or model. In a run, the
	// product promises that rule at its version, settings and level.
	Violated
	// Allowed means that the product's manual allows every finding at its version, settings
	// and level. A checker does not set it: the run does, when it looks up the promises.
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

// UnmarshalText implements encoding.TextUnmarshaler. It refuses a word that is not a verdict.
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
	// Name is one lower-case word such as "transfers".
	Name    string  `json:"name"`
	Verdict Verdict `json:"verdict"`
	// Detail is one sentence with figures: what was examined and found.
	Detail string `json:"detail"`
	// Evidence lists at most MaxEvidence of the findings, most telling first.
	Evidence []Evidence `json:"evidence,omitempty"`
	// Found counts all findings, listed or not.
	Found int64 `json:"found"`
	// Findings divides Found by kind and by promise.
	Findings []Finding `json:"findings,omitempty"`
	// Promised is whether the database's vendor promises that one of the findings cannot
	// happen; nil if this is not known or was not asked.
	Promised *bool `json:"promised,omitempty"`
}

// Finding is how often one kind of thing was found wrong.
type Finding struct {
	Kind  string `json:"kind"`
	Found int64  `json:"found"`
	// Property is what the finding breaks. Promised is whether the vendor promises Property
	// under the run's settings; nil if not known or not asked. Source names the settings that
	// take the promise away, and Manual the page that says so.
	Property string `json:"property,omitempty"`
	Promised *bool  `json:"promised,omitempty"`
	Source   string `json:"source,omitempty"`
	Manual   string `json:"manual,omitempty"`
}

// Ruled says which setting allows the findings, or that their promise is not known, with the
// manual's page. It is empty if the findings are promised not to happen.
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

// NotApplicable is a check without a subject in this run's options, such as a check of reads
// in a run that reads nothing. It has no verdict. If the run has the subject but nothing came
// of it, the check is Unknown instead.
type NotApplicable struct {
	Name string `json:"name"`
	// Reason names the option that leaves the check without a subject.
	Reason string `json:"reason"`
}

// Applicable returns the results without the checks that are not applicable. A check with
// findings had a subject after all, and stays.
func Applicable(results []Result, not []NotApplicable) []Result {
	return slices.DeleteFunc(slices.Clone(results), func(r Result) bool {
		return r.Verdict != Violated && r.Found == 0 && slices.ContainsFunc(not, func(n NotApplicable) bool { return n.Name == r.Name })
	})
}

// MaxEvidence bounds the evidence listed in one result.
const MaxEvidence = 20

// Evidence is one finding, in enough detail for the vendor to look it up.
type Evidence struct {
	// Kind is a short stable word: "lost", "doubled", "altered".
	Kind string `json:"kind"`
	// Text describes it with the ids, the accounts and the amounts.
	Text string `json:"text"`
	// Fields holds the figures of Text by name.
	Fields map[string]int64 `json:"fields,omitempty"`
	// Cycle is set if a cycle of transactions proves the finding.
	Cycle *Cycle `json:"cycle,omitempty"`
	// Smallest is the smallest part of the history with the same finding; nil if not searched
	// for or not found in time.
	Smallest *Excerpt `json:"smallest,omitempty"`
}

// Cycle is a list of transactions. Each must precede the next and the last must precede the
// first, so that no order of them exists.
type Cycle struct {
	Steps []Step `json:"steps"`
}

// Step is one transaction of a Cycle and why it precedes the next.
type Step struct {
	// Name is short: "T1".
	Name string `json:"name"`
	// Text says what the transaction did and who did it.
	Text string `json:"text"`
	// Kind is the dependency of the next step: ww, wr, rw, process or realtime. Why describes it.
	Kind string `json:"kind"`
	Why  string `json:"why"`
}

// Add counts a finding, lists it if there is room, and makes the verdict Violated.
func (r *Result) Add(e Evidence) {
	r.AddUnlisted(e.Kind, 1)
	if len(r.Evidence) < MaxEvidence {
		r.Evidence = append(r.Evidence, e)
	}
}

// AddUnlisted counts n findings of a kind without listing them. The verdict is Violated if n > 0.
func (r *Result) AddUnlisted(kind string, n int64) {
	if n <= 0 {
		return
	}
	r.Verdict = Violated
	r.count(kind, n, nil)
}

// Allow counts n findings that the isolation level, or the check's other standard, permits. It
// lists some if there is room. The check ends as Allowed unless it finds worse.
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

// AddIf calls Add if the finding is forbidden, and otherwise Allow.
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

// Finish makes the verdict Valid if all was examined and nothing wrong was found. Otherwise an
// Unknown verdict stays, and Detail gets the reason: missing, or why if there was nothing to
// examine.
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

// Conclude is Finish that also sets Detail: looked, and then the number of findings, or good if
// there are none and nothing is missing.
func (r *Result) Conclude(looked, good, missing string, nothing bool, why string) Result {
	if r.Detail = looked; r.Found > 0 {
		r.Detail += "; " + Counted(r.Found, "finding", "findings")
	} else if missing == "" {
		r.Detail += good
	}
	r.Finish(missing, nothing, why)
	return *r
}

// Combine returns the verdict over all results: violated before unknown before allowed before
// valid. Without results it is Unknown.
func Combine(results []Result) Verdict {
	for _, v := range []Verdict{Violated, Unknown, Allowed, Valid} {
		if slices.ContainsFunc(results, func(r Result) bool { return r.Verdict == v }) {
			return v
		}
	}
	return Unknown
}
