package report

import (
	"slices"
	"strings"

	"assay/check"
)

// Promise reports whether the database kept its vendor's promise. The checks may be judged
// against another consistency model that the user asked for.
type Promise struct {
	// Model is the model promised at the isolation level in force; empty if the workload has
	// none, so that its checks test what every database promises.
	Model string `json:"model"`
	// Asked is the model judged against, if the user named another than Model.
	Asked string `json:"asked_model,omitempty"`
	// Kept is nil if undecided, or if bugs were seeded.
	Kept *bool `json:"kept"`
	// Source is the settings that allow the findings or leave them open, Manual the pages. Both
	// are empty after a broken promise and without findings.
	Source string `json:"source,omitempty"`
	Manual string `json:"manual,omitempty"`
	// Detail says what was found, or why nothing is known; empty if all is valid.
	Detail string `json:"detail,omitempty"`
	// Advice says what a user's transactions ask too little for, with the proof, or why that is
	// unknown; empty if they are not the cause.
	Advice string `json:"advice,omitempty"`
}

// The exit code follows the verdict, or any finding, even an allowed one.
const (
	JudgePromise = "promise"
	JudgeFound   = "found"
)

// ruled says in one line what the checks with a verdict found, which settings allow that or leave
// it open, and the manual's pages. It is empty without findings.
func ruled(r *Result, v check.Verdict) string {
	type ruling struct{ source, manual string }
	var order []ruling
	found, checks := map[ruling][]string{}, map[ruling][]string{}
	for _, c := range r.Checks {
		for _, f := range c.Findings {
			if c.Verdict != v || f.Source == "" {
				continue
			}
			by := ruling{f.Source, f.Manual}
			if found[by] == nil {
				order = append(order, by)
			}
			found[by] = append(found[by], check.Count(f.Found)+" "+f.Kind)
			if c.Name != CheckDurability && !slices.Contains(checks[by], c.Name) {
				checks[by] = append(checks[by], c.Name)
			}
		}
	}
	var parts []string
	for _, by := range order {
		text := strings.Join(found[by], ", ") + when(len(checks[by]) > 0, " in "+strings.Join(checks[by], ", ")) + "; "
		if v == check.Allowed {
			text += by.source + " allows it"
		} else {
			text += "not known whether it is promised: " + by.source
		}
		parts = append(parts, text+when(by.manual != "", " ("+by.manual+")"))
	}
	return strings.Join(parts, "; ")
}

func asked(r *Result) string {
	switch {
	case r.Promise == nil || r.Promise.Asked == "":
		return ""
	case r.Verdict == check.Valid:
		return r.Promise.Asked + ", as was asked"
	}
	return r.Promise.Asked + " was asked"
}

// conviction says whose a violation is; empty if unknown.
func conviction(r *Result) string {
	switch {
	case r.Seeded != "":
		return "seeded on purpose (" + r.Seeded + ")"
	case r.Promise == nil || r.Promise.Kept == nil:
		return ""
	}
	return Joined("; ", "a promise of the vendor's is broken", asked(r))
}

func advice(r *Result) string {
	if r.Promise == nil {
		return ""
	}
	return r.Promise.Advice
}

func meaning(r *Result) string {
	told := ""
	if text := advice(r); text != "" {
		told = " " + sentence(text)
	}
	switch {
	case r.Seeded != "":
		return "Bugs were seeded on purpose, with operations one at a time: neither the verdict nor the figures say anything about " + r.Database.Product + "."
	case r.Verdict == check.Allowed:
		return "The database kept what its vendor promises. Something was found that its manual allows under these settings: applications must bear it." + told
	case r.Verdict == check.Violated:
		return "The database broke a promise."
	case r.Verdict == check.Valid:
		return ""
	case ruled(r, check.Unknown) != "":
		return "Something was found, and nobody can say whether the vendor promises that it does not come about." + told
	}
	return "It is not known whether the database kept its promise. That is not the same as valid."
}

// promiseTable shows findings that break no promise, or perhaps none.
func promiseTable(r *Result) Table {
	t := Table{Title: "What is promised of the findings", Head: []string{"check", "finding", "found", "about", "promised", "by which settings, and where it says so"}, Words: []int{0, 1, 3, 4, 5}}
	for _, c := range r.Checks {
		for _, f := range c.Findings {
			if f.Source != "" {
				t.Rows = append(t.Rows, []string{c.Name, f.Kind, check.Count(f.Found), f.Property, when(f.Promised == nil, "not known") + when(f.Promised != nil, "no"),
					Joined("; ", f.Source, f.Manual)})
			}
		}
	}
	return t
}

// renewVerdict gives an earlier version's result, where every finding was a violation, its
// present verdict. Seeded bugs stay violations: no vendor makes them.
func renewVerdict(r *Result) {
	if r.Verdict != check.Violated || r.Seeded != "" || r.Promise == nil || r.Promise.Kept != nil && !*r.Promise.Kept {
		return
	}
	for i := range r.Checks {
		switch c := &r.Checks[i]; {
		case c.Verdict != check.Violated || c.Promised != nil && *c.Promised:
		case c.Promised != nil:
			c.Verdict = check.Allowed
		default:
			c.Verdict = check.Unknown
		}
	}
	r.Verdict = check.Combine(r.Checks)
}
