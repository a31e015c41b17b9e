package runner

import (
	"fmt"
	"strings"

	"assay/check"
	"assay/report"
	"assay/workload/definition"
)

// promiseOf says whether the vendor's promise was kept: by the checks of the
// result, or, where the user asked for another model, by those judged against the
// promise. If the tester's own record is in doubt, a kept promise is undecided.
func promiseOf(r *report.Result, judged definition.Judgement, record check.Result) *report.Promise {
	p := &report.Promise{Model: r.Database.Promise, Asked: judged.Asked}
	checks := r.Checks
	if judged.Asked != "" {
		checks = append(judged.Promised, record)
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
