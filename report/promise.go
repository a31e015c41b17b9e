package report

import (
	"fmt"

	"assay/check"
)

// Promise reports whether the database kept what its vendor promises. That is not
// always what the checks were judged against: the user may ask for another
// consistency model, and miss that alone.
type Promise struct {
	// Model is the consistency model that the vendor promises at the isolation
	// level in force; empty where the workload has none, and its checks are what
	// every database promises.
	Model string `json:"model"`
	// Asked is the model that the checks were judged against, if the user named
	// another than Model; empty otherwise.
	Asked string `json:"asked_model,omitempty"`
	// Kept is nil if that is not decided.
	Kept *bool `json:"kept"`
	// Source is the settings by which what was found is allowed, or by which it is not
	// known whether it is, and Manual the pages that say so; empty if a promise was broken
	// or nothing was found.
	Source string `json:"source,omitempty"`
	Manual string `json:"manual,omitempty"`
	// Detail describes why it was not kept, or is not decided; empty otherwise.
	Detail string `json:"detail,omitempty"`
	// Advice describes what the transactions of a user ask too little for, or why that is
	// not known, and what shows it; empty where they have nothing to do with it.
	Advice string `json:"advice,omitempty"`
}

// advice is the advice as it stands in a text.
func (p *Promise) advice() string {
	if p.Advice == "" {
		return ""
	}
	return " " + sentence(p.Advice)
}

// What the exit code follows: whatever was found, or what the vendor promises alone.
const (
	JudgeAll     = "all"
	JudgePromise = "promise"
)

// promiseLine tells a missed model that was asked for, or what the settings allow, from a
// broken promise. It is empty where nothing was found and no other model was asked for.
func promiseLine(r *Result) string {
	p := r.Promise
	if p == nil {
		return ""
	}
	if p.Asked == "" {
		if r.Verdict == check.Violated {
			return p.violation()
		}
		return ""
	}
	var asked string
	switch r.Verdict {
	case check.Violated:
		asked = "not " + p.Asked + ", as was asked"
	case check.Valid:
		asked = p.Asked + ", as was asked"
	default:
		asked = p.Asked + " was asked"
	}
	return asked + "; " + p.outcome()
}

// violation describes what a violation is to the vendor's promise.
func (p *Promise) violation() string {
	switch {
	case p.Kept == nil:
		return "not known whether the vendor promises it" + when(p.Source != "", " ("+p.Source+")")
	case *p.Kept:
		return "allowed by " + p.permission()
	}
	return "a promise of the vendor's is broken"
}

// permission is the settings by which what was found is allowed, with the manual's page.
func (p *Promise) permission() string {
	if p.Source == "" {
		return "the settings"
	}
	return p.Source + when(p.Manual != "", " ("+p.Manual+")")
}

// violated begins the verdict of a violation, with what it is to the promise.
func violated(r *Result) string {
	p := r.Promise
	if p == nil || p.Asked != "" || p.Kept != nil && !*p.Kept {
		return "VIOLATED: " + when(promiseLine(r) != "", promiseLine(r)+"; ")
	}
	return "VIOLATED, and " + p.violation() + ": "
}

// outcome describes whether the vendor's promise was kept.
func (p *Promise) outcome() string {
	what := "what the vendor promises"
	if p.Model != "" {
		what += " (" + p.Model + ")"
	}
	switch {
	case p.Kept == nil && p.Model == "":
		return what + " is not known"
	case p.Kept == nil:
		return "whether " + what + " was kept is undecided"
	case *p.Kept:
		return what + " was kept" + when(p.Source != "", ", as it is under "+p.permission())
	}
	return what + " was broken"
}

// meaning describes what a verdict means for the database.
func meaning(r *Result) string {
	p := r.Promise
	asked := p != nil && p.Asked != ""
	switch {
	case r.Verdict == check.Violated && asked && p.Kept == nil:
		return "The database is not " + p.Asked + ", which was asked for. " + sentence(p.outcome())
	case r.Verdict == check.Violated && asked && *p.Kept:
		return "The database kept what its vendor promises (" + p.Model + "). It is not " + p.Asked + ", which was asked for."
	case r.Verdict == check.Violated && p != nil && p.Kept == nil:
		return "Something is wrong, and it is not known whether the vendor promises that it does not come about." + p.advice()
	case r.Verdict == check.Violated && p != nil && *p.Kept:
		return "Something is wrong that the database's manual allows under these settings: " + sentence(p.permission()) + p.advice()
	case r.Verdict == check.Violated:
		return "The database broke a promise."
	case r.Verdict == check.Valid && asked && p.Kept != nil && !*p.Kept:
		return "Nothing was found that " + p.Asked + " forbids, which was asked for. The database broke what its vendor promises (" + p.Model + ")."
	case r.Verdict == check.Valid:
		return ""
	}
	return "It is not known whether the database kept its promise. That is not the same as valid."
}

// promiseTable shows the findings that are no broken promise, or are not known to be one.
func promiseTable(r *Result) Table {
	t := Table{Title: "What is promised of the findings", Head: []string{"check", "finding", "found", "about", "promised", "by which settings, and where it says so"}, Words: []int{0, 1, 3, 4, 5}}
	for _, c := range r.Checks {
		for _, f := range c.Findings {
			if f.Source != "" {
				t.Rows = append(t.Rows, []string{c.Name, f.Kind, check.Count(f.Found), f.Property, when(f.Promised == nil, "not known") + when(f.Promised != nil, "no"),
					joined("; ", f.Source, f.Manual)})
			}
		}
	}
	return t
}

// allowedLines say of the findings that are not a broken promise why.
func allowedLines(c check.Result) (lines []string) {
	for _, f := range c.Findings {
		switch {
		case f.Source == "":
		case f.Promised == nil:
			lines = append(lines, fmt.Sprintf("%s %s: not known whether promised: %s", check.Count(f.Found), f.Kind, joined("; ", f.Source, f.Manual)))
		case !*f.Promised:
			lines = append(lines, fmt.Sprintf("%s %s: allowed by %s", check.Count(f.Found), f.Kind, joined("; ", f.Source, f.Manual)))
		}
	}
	return lines
}
