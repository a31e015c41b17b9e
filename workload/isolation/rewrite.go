package isolation

import (
	"slices"

	"assay/check"
	"assay/check/cycle"
)

const lostUpdate = "lost-update"

// onlyLostUpdates is what may be concluded of a run whose appends read a list
// and wrote the whole of it. An update that is lost there takes elements away
// from a list that others have read, and then looks like dirty writes and
// incompatible orders, which a true append would prove and a rewrite does not.
// So nothing is concluded but the lost updates themselves, and of models only
// the weakest that forbid them are ruled out.
func onlyLostUpdates(r cycle.Report) cycle.Report {
	if r.Verdict != check.Violated {
		return r
	}
	named := len(r.Anomalies)
	i := slices.IndexFunc(r.Evidence, func(e cycle.Evidence) bool { return e.Anomaly == lostUpdate })
	if i < 0 || i >= named {
		r.Verdict, r.Reason = check.Unknown, "appends were made by rewriting lists, and what was found does not show how"
		r.Anomalies, r.Evidence, r.Findings, r.Not, r.AlsoNot = nil, r.Evidence[named:], nil, nil, nil
		return r
	}
	r.Anomalies = []string{lostUpdate}
	r.Evidence = append([]cycle.Evidence{r.Evidence[i]}, r.Evidence[named:]...)
	r.Findings, r.AlsoNot = nil, nil
	r.Not = []cycle.Model{cycle.CursorStability, cycle.UpdateAtomic}
	return r
}
