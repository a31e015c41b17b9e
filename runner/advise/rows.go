package advise

import (
	"cmp"
	"context"
	"path/filepath"

	"assay/check"
	"assay/internal/quantity"
	"assay/report"
	"assay/runner"
	"assay/runner/series"
	"assay/store"
	"assay/workload/script"
)

type finding struct {
	plan    Plan
	options series.Options
	product string
	// sent is what the unchanged script has sent, at all levels.
	sent  *script.Sent
	alone *Row
}

// rows makes the runs of some variants in turn.
func (f *finding) rows(ctx context.Context, folder string, variants []variant, withAlone bool) ([]Row, error) {
	p := series.Plan{Base: f.plan.Base, Repeats: f.plan.Repeats}
	if withAlone {
		p.Configurations = append(p.Configurations, f.configuration(variants[len(variants)-1], workAlone))
	}
	for _, v := range variants {
		p.Configurations = append(p.Configurations, f.configuration(v, workMeet), f.configuration(v, workFigures))
	}
	o := f.options
	o.Out = filepath.Join(o.Out, folder)
	s, at, err := series.Run(ctx, p, o)
	if err != nil {
		return nil, err
	}
	if withAlone {
		row, err := f.row(s, at, variants[len(variants)-1], workAlone)
		if err != nil {
			return nil, err
		}
		f.alone = &row
	}
	var rows []Row
	for _, v := range variants {
		row, err := f.row(s, at, v, workMeet, workFigures)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// looksASecond is how often invariants are checked in runs with forced meetings. A later
// transaction may mend what an earlier one broke.
const looksASecond = 50

func (f *finding) configuration(v variant, work string) series.Configuration {
	s := f.plan.Base
	c := *s.Config.(*script.Config)
	c.Mend = v.change.Mend
	switch work {
	case workMeet:
		c.Pause, c.Observe = f.plan.Pause, max(c.Observe, looksASecond)
	case workFigures:
		c.Observe = 0
	case workAlone:
		s.Load.Clients = 1
	}
	s.Config = &c
	s.Isolation = v.level.Isolation
	s.Options = append(s.Options[:len(s.Options):len(s.Options)], v.level.Options...)
	return series.Configuration{Configuration: report.Configuration{Values: v.values(work)}, Scenario: s}
}

// row is the result of a variant's runs for these works.
func (f *finding) row(s *report.RunSeries, folder string, v variant, works ...string) (Row, error) {
	row := Row{Level: v.level.Name, Change: v.change.Name, Texts: v.change.Texts, Shown: []*script.Meeting{}}
	sent := &script.Sent{}
	var figures []*report.Result
	var verdicts []check.Result
	var settings []store.Setting
	for _, work := range works {
		name := report.Configuration{Values: v.values(work)}
		for _, run := range s.Runs {
			if run.Configuration != nameOf(s, name.Values) {
				continue
			}
			if run.State != report.StateDone {
				row.Problem = run.Problem
				continue
			}
			at := filepath.Join(folder, run.Folder)
			r, err := report.ReadJSON(filepath.Join(at, runner.FileResult))
			if err != nil {
				return row, folderError(at, err)
			}
			if err := sent.Add(at); err != nil {
				return row, folderError(at, err)
			}
			if v.change.Name == "" && work != workAlone {
				if err := f.sent.Add(at); err != nil {
					return row, folderError(at, err)
				}
			}
			if work != workMeet {
				figures = append(figures, r)
			}
			verdicts = append(verdicts, check.Result{Verdict: r.Verdict})
			settings = settingsOf(r)
			row.take(r)
		}
	}
	row.convict(verdicts)
	for i, v := range verdicts { // the level allows it, but it breaks the user's rule
		if v.Verdict == check.Allowed {
			verdicts[i].Verdict = check.Violated
		}
	}
	row.Verdict = check.Combine(verdicts)
	row.Look, row.Shown = sent.Look(row.Model, settings), append(row.Shown, sent.Meetings...)
	row.measure(figures)
	return row, nil
}

func settingsOf(r *report.Result) (all []store.Setting) {
	for _, s := range r.Database.Settings {
		all = append(all, store.Setting{Name: s.Name, Value: s.Value})
	}
	return all
}

func nameOf(s *report.RunSeries, values []report.Setting) string {
	for _, c := range s.Configurations {
		same := len(c.Values) == len(values)
		for i := 0; same && i < len(values); i++ {
			same = c.Values[i] == values[i]
		}
		if same {
			return c.Name
		}
	}
	return ""
}

func (r *Row) take(of *report.Result) {
	r.Model = of.Database.Promise
	r.Committed += of.Outcomes.Committed
	breaks := of.Verdict == check.Violated && of.Promise != nil && of.Promise.Kept != nil && !*of.Promise.Kept
	if r.Found == "" || breaks && !r.PromiseBroken { // what breaks the promise, not what a run before it was allowed
		r.Found = cmp.Or(firstFinding(of), r.Found)
	}
	if breaks {
		r.PromiseBroken = true
		if len(report.Statements(r.Evidence)) == 0 { // of the first run that shows the transactions
			r.Conviction, r.Evidence = of.Conviction, of.Checks
		}
	}
}

// firstFinding is of a check that gave the run its verdict; empty if there is none.
func firstFinding(of *report.Result) string {
	for _, c := range of.Checks {
		if c.Verdict == of.Verdict && c.Found > 0 && len(c.Evidence) > 0 {
			return c.Evidence[0].Text
		}
	}
	return ""
}

// convict says how many of the runs broke a promise.
func (r *Row) convict(verdicts []check.Result) {
	broken := 0
	for _, v := range verdicts {
		if v.Verdict == check.Violated {
			broken++
		}
	}
	if r.Conviction != nil {
		r.Conviction.Chance = report.ChanceOf(broken, len(verdicts))
	}
}

func (r *Row) measure(runs []*report.Result) {
	r.Throughput = intervalOf(runs)
	var p50, p99 []float64
	var all, retried, failed int64
	for _, of := range runs {
		if of.Measurement.Invalid() {
			r.Invalid++
			if r.Reason == "" && len(of.Measurement.Reasons) > 0 {
				r.Reason = of.Measurement.Reasons[0]
			}
		}
		p50, p99 = append(p50, of.Latency.P50), append(p99, of.Latency.P99)
		all += of.Outcomes.Committed + of.Outcomes.Rejected + of.Outcomes.Failed + of.Outcomes.Unknown
		failed += of.Outcomes.Failed
		retried += of.Retries.Retried
	}
	r.P50, r.P99 = quantity.Median(p50), quantity.Median(p99)
	if all > 0 {
		r.Retried, r.Failed = float64(retried)/float64(all), float64(failed)/float64(all)
	}
}
