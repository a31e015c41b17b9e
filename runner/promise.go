package runner

import (
	"fmt"
	"strings"

	"assay/check"
	"assay/report"
)

// promiseOf says whether the vendor's promise was kept: by the checks of the
// result, or, where the user asked for another model, by those held against the
// promise. If the tester's own record is in doubt, a kept promise is undecided.
func promiseOf(r *report.Result, judged judgement, record check.Result) *report.Promise {
	p := &report.Promise{Model: r.Database.Promise, Asked: judged.asked}
	checks := r.Checks
	if judged.asked != "" {
		checks = append(judged.promised, record)
	}
	verdict := check.Combine(checks)
	if verdict != check.Unknown {
		kept := verdict == check.Valid
		p.Kept = &kept
	}
	var why []string
	for _, c := range checks {
		if verdict != check.Valid && c.Verdict == verdict {
			why = append(why, fmt.Sprintf("%s: %s", c.Name, c.Detail))
		}
	}
	p.Detail = strings.Join(why, "; ")
	return p
}
