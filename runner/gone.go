package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"assay/check"
	"assay/cluster/server"
	"assay/report"
	"assay/runner/lease"
	"assay/store/promise"
	"assay/workload/definition"
)

// kindEverything is the kind of the finding of a run of which nothing is left, after a fault of
// assay's on servers of assay's.
const kindEverything = "acknowledged operations lost"

// gone says what there is instead of the run, if err says that nothing is left of it, on servers
// that the run started: nobody else makes a schema there but under a lease, which was looked
// at. It is empty where that is not known.
func (r *run) gone(err error) string {
	replaced, emptied := (*lease.ReplacedError)(nil), (*EmptiedError)(nil)
	switch {
	case err == nil || r.cluster == nil:
		return ""
	case errors.As(err, &replaced):
		return replaced.Found
	case errors.As(err, &emptied):
		return "the tables hold nothing"
	}
	return r.endedForGood
}

// startAgain starts servers that are down. Where none that holds data comes up again, since
// each ends by itself, endedForGood is what the log of the first gives for it.
func (r *run) startAgain(ctx context.Context) error {
	var all []error
	holding, ended := 0, 0
	for _, n := range decidersFirst(r.cluster.Servers()) {
		holds := n.Role() == "" && !n.Arbiter()
		if holds {
			holding++
		}
		if n.Running() {
			continue
		}
		err := n.Start(ctx)
		all = append(all, err)
		if end := (*server.EndedError)(nil); holds && errors.As(err, &end) {
			ended++
			r.endedForGood = cmp.Or(r.endedForGood, fmt.Sprintf("%s does not start again; its log: %s", n.Name(), end.Reason))
		}
	}
	if ended < holding {
		r.endedForGood = ""
	}
	return errors.Join(all...)
}

// lostByFaults reports whether faults of the run may have made the database lose what it had:
// what acted ended its processes or cut its power, and nothing damaged its files.
func lostByFaults(r *report.Result) bool {
	all := acted(r)
	has := func(is func(report.Fault) bool) bool { return slices.ContainsFunc(all, is) }
	return has(func(f report.Fault) bool {
		a := reportedAction(&f)
		return (a.Kills || a.CutsPower || a.Divides || f.TookOver()) && onNodes(&f)
	}) && !has(func(f report.Fault) bool { return reportedAction(&f).FailsDisk })
}

// enterGone enters that all that was acknowledged is lost, in place of checks that have
// nothing to look at, if faults did that. what is empty where not everything is gone.
func enterGone(r *report.Result, judged *definition.Judgement, what string) {
	if what == "" || r.Outcomes.Committed == 0 || !lostByFaults(r) {
		return
	}
	l := cmp.Or(allowedLosses(r), &definition.Losses{Source: cmp.Or(guaranteeOf(r).Source, r.Database.Product)})
	text := l.Everything(r.Outcomes.Committed)
	r.Lost = &report.Lost{Operations: l.Operations, Beyond: l.Beyond, Text: text}
	found := check.Result{Name: report.CheckDurability, Verdict: check.Violated, Detail: what + "; " + text, Found: l.Operations,
		Findings: []check.Finding{{Kind: kindEverything, Found: l.Operations}}}
	for _, c := range judged.Results {
		r.NotApplicable = append(r.NotApplicable, check.NotApplicable{Name: c.Name, Reason: "nothing is left of the run to be judged"})
	}
	judged.Results = []check.Result{found}
	if judged.Asked != "" {
		judged.Promised = judged.Results
	}
}

// rulingOfGone is what is known of the loss of everything.
func rulingOfGone(r *report.Result, c promise.Circumstances) promise.Ruling {
	if r.Lost != nil && r.Lost.Beyond == 0 {
		return c.OfLoss()
	}
	c.Timed = true // there is nothing that may have been acknowledged at another time
	return c.Of(promise.Durability)
}
