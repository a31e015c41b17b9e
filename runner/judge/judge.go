// Package judge gives a run its verdict. Before it is a run whose history was reckoned up: what the
// workload says of that history and of the state that was read back, what the faults did, and what
// the database's vendor promises of its version, settings and isolation level. Each finding gets its
// ruling by that promise, each check and the run a verdict, and a broken promise what speaks for it.
//
// It reaches no database and reads no file but by Rules, so that a saved run is judged alike at any
// time. It must not know how a run is carried out.
package judge

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay/check"
	"assay/measure"
	"assay/report"
	"assay/store"
	"assay/workload/definition"
)

// Rules are those of the run's workload, as it was configured: a definition.Config. They may be
// definition.Partial.
type Rules interface {
	// Judge judges a run by the files of its evidence alone.
	Judge(ctx context.Context, seed uint64, e definition.Evidence) (definition.Judgement, error)
}

// Case is what the judge is told of a run beside its result.
type Case struct {
	Workload definition.Workload
	Rules    Rules
	// Seed is that of the load, by which the workload chose what it did.
	Seed uint64
	// Isolation is the level that was asked for; empty for the driver's default.
	Isolation string
	Evidence  definition.Evidence
	// NotRead is why the database was not read back; empty if it was. Nobody is convicted by
	// the history alone, since nobody knows whether the schema was still the run's.
	NotRead string
	// Gone is what there is instead of the run in a database that nobody but assay knew of, and
	// which has lost it; empty if the run is there.
	Gone string
	// Unread is what was there and could not be read.
	Unread store.Unread
}

// Enter completes the result of a run with its verdict and all that leads to it. judged is what
// Rules found by Evidence; it is not looked at if nothing can be judged (Unjudged). r has what the
// history tells, faults and counts, of which the counts are those of figures. The error is that of
// Rules, which are asked once more where losses are to be left out that the settings allow.
func (c Case) Enter(ctx context.Context, r *report.Result, judged definition.Judgement, figures measure.Figures) error {
	if why := Unjudged(r); why != "" {
		enterUnjudged(r, why, figures)
		return nil
	}
	r.Lost, r.Seeded = nil, seededBugs(r)
	enterMoments(r, judged.Moments)
	judged.Results = enterUnrestored(judged.Results, r.Faults, c.Evidence.Restored)
	if c.NotRead != "" {
		withhold(judged.Results, c.NotRead)
		withhold(judged.Promised, c.NotRead)
	}
	r.NotApplicable = notApplicable(c.Rules, judged.Results)
	judged.Results = check.Applicable(judged.Results, r.NotApplicable)
	judged.Promised = check.Applicable(judged.Promised, r.NotApplicable)
	enterGone(r, &judged, c.Gone)
	judged.Results = slices.Concat(judged.Results, twoPrimaries(r), readable(c.Unread))
	record := accounting(figures, judged.Counts, &r.Client)
	if err := c.enterPromise(ctx, r, judged, record); err != nil {
		return err
	}
	r.Conviction = Conviction(r, c.Isolation, judged.Alone)
	enterTried(r)
	r.WorkloadFigures = judged.WorkloadFigures
	for i := range r.Rounds {
		enterRound(&r.Rounds[i], &judged)
	}
	r.Verdict = check.Combine(r.Checks)
	enterSubject(r, &judged)
	r.Notes = slices.Concat(strikeNotes(r.Data.Rows), notesOf(c.Unread), r.RunNotes, r.Notes, judged.Notes, c.Workload.NotJudgedNotes())
	return nil
}

// withhold takes back the convictions of a run whose database could not be read
// back. What its clients were told may be of another schema than the one that
// the run made, since nobody knows when that was replaced. The evidence stays.
func withhold(results []check.Result, why string) {
	for i := range results {
		if r := &results[i]; r.Verdict == check.Violated || r.Verdict == check.Allowed {
			r.Verdict = check.Unknown
			r.Detail = "not judged: " + why + "; the history alone shows: " + r.Detail
		}
	}
}

// enterSubject withholds a verdict that has no subject: the tester's record alone says nothing of
// the database, and where nothing took effect nothing was put to the test.
func enterSubject(r *report.Result, judged *definition.Judgement) {
	all := r.Outcomes.Total()
	switch {
	case r.Verdict != check.Valid:
	case r.Outcomes.Committed == 0 && all > 0:
		effect := check.Result{Name: "effect", Detail: fmt.Sprintf("nothing took effect: of %s none committed, %s ended unknown",
			check.Counted(all, "operation", "operations"), check.Count(r.Outcomes.Unknown))}
		if len(r.Errors) > 0 {
			effect.Detail += "; the first error: " + cmp.Or(r.Errors[0].First, r.Errors[0].Class)
		}
		r.Checks = append(r.Checks, effect)
		r.Verdict = check.Unknown
	case len(judged.Results) == 0:
		r.Verdict, r.Unasked = check.Unknown, judged.Unasked
	}
}

// notApplicable are the checks that the configuration leaves without a subject, but for
// those that have found something all the same.
func notApplicable(c Rules, results []check.Result) []check.NotApplicable {
	partial, is := c.(definition.Partial)
	if !is {
		return nil
	}
	return slices.DeleteFunc(partial.NotApplicable(), func(n check.NotApplicable) bool {
		return slices.ContainsFunc(results, func(r check.Result) bool { return r.Name == n.Name && r.Found > 0 })
	})
}

// seededBugs are those that the database was opened with; empty if it was not broken on purpose.
func seededBugs(r *report.Result) string {
	i := slices.IndexFunc(r.Database.Settings, func(s report.Setting) bool { return s.Name == store.SettingBugs })
	if i < 0 {
		return ""
	}
	return r.Database.Settings[i].Value
}

// strikeNotes say how often each seeded bug has taken effect, by the rows of a Size.
func strikeNotes(rows map[string]int64) (notes []string) {
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		bug, counts := strings.CutPrefix(name, store.StrikesPrefix)
		switch {
		case !counts:
		case rows[name] == 0:
			notes = append(notes, fmt.Sprintf("bug %s NEVER TOOK EFFECT, so this run proves nothing about the checks: it had no occasion, or its probability is too low (docs/internals/trust.md names the tests in which each bug can take effect)", bug))
		default:
			notes = append(notes, fmt.Sprintf("bug %s took effect %s", bug, check.Counted(rows[name], "time", "times")))
		}
	}
	return notes
}

// enterRound enters what the judge knows of a round.
func enterRound(x *report.Round, j *definition.Judgement) {
	x.Facts = append(x.Facts, j.Facts[x.Name]...)
	x.RowsPerSecond = j.Rates[x.Name]
	if size, known := j.Sizes[x.Name]; known {
		x.Size = &size
	}
}
