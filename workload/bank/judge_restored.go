package bank

import (
	"math"
	"strings"

	"assay/check"
	"assay/check/ledger"
	"assay/report"
	"assay/workload/definition"
)

// judgeRestored judges each restored state and adds a check of all and the moment of each. A
// backup need not have what the database itself lost: the check of transfers reports that.
func judgeRestored(gone *permitted, transfers *Transfers, config Config, e definition.Evidence, out *definition.Judgement) error {
	all := check.Result{Name: ledger.CheckRestored, Verdict: check.Valid}
	config.Audits = 0 // they are judged by the whole state
	out.Moments = map[int]report.Moment{}
	var details []string
	for _, state := range e.Restored {
		one := check.Result{Detail: state.Name() + " could not be read: " + state.Problem}
		if state.State != "" {
			about := definition.Evidence{History: e.History, State: state.State}
			err := withJudge(gone, transfers, config, about, true, func(judge *ledger.Judge) error {
				var moment ledger.Moment
				one, moment = judge.Restored(ledger.Backup{Name: state.Name(), Begun: state.Begun, Target: state.Target, Alone: state.Alone})
				if moment != (ledger.Moment{}) {
					out.Moments[state.Number] = momentOf(moment)
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		details = append(details, one.Detail)
		all.Evidence = append(all.Evidence, one.Evidence...)
		for _, f := range one.Findings {
			all.AddUnlisted(f.Kind, f.Found)
		}
		all.Verdict = check.Combine([]check.Result{all, one})
	}
	all.Evidence = all.Evidence[:min(len(all.Evidence), check.MaxEvidence)]
	all.Detail = strings.Join(details, "; ")
	out.Results = append(out.Results, all)
	return nil
}

// momentOf leaves unknown bounds out.
func momentOf(m ledger.Moment) report.Moment {
	out := report.Moment{Lacks: m.Lacks, LacksBegun: m.LacksBegun}
	if m.From != math.MinInt64 {
		from := float64(m.From) / 1e9
		out.From = &from
	}
	if m.To != math.MaxInt64 {
		to := float64(m.To) / 1e9
		out.To = &to
	}
	return out
}
