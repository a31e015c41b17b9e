// Package judge gives a run its verdict, after package figures has evaluated its history. It weighs
// what the workload says of the history and the state, what faults did, and what the vendor
// promises of this version, settings and isolation level. Each finding gets a ruling, each check
// and the run a verdict, and a broken promise a conviction.
//
// It reaches no database and reads files only through Rules, so that a saved run is always judged
// alike. It must not know how a run is carried out.
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

// Rules are the configured workload's: a definition.Config, which may be definition.Partial.
type Rules interface {
	// Judge judges a run by the files of its evidence alone.
	Judge(ctx context.Context, seed uint64, e definition.Evidence) (definition.Judgement, error)
}

// Case is what the judge knows of a run beside its result.
type Case struct {
	Workload definition.Workload
	Rules    Rules
	// Seed is the load's seed, by which the workload chose its operations.
	Seed uint64
	// Isolation is the level asked for; empty for the driver's default.
	Isolation string
	Evidence  definition.Evidence
	// NotRead is why the database was not read back; empty if it was. The history alone convicts
	// nobody, since the schema may have been replaced.
	NotRead string
	// Gone is what is there instead of the run in a database that only assay used, and that
	// lost the run; empty if the run is there.
	Gone   string
	Unread store.Unread
}

// Enter completes the result of a run with its verdict and the reasons. judged is the answer of
// Rules to Evidence; it is ignored if nothing can be judged (Unjudged). r already has the faults
// and the counts of figures. The error comes from Rules, which are asked again to leave out losses
// that the settings allow.
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

// withhold turns convictions into unknown if the database could not be read back: clients may have
// been answered from a schema that replaced the run's. The evidence stays.
func withhold(results []check.Result, why string) {
	for i := range results {
		if r := &results[i]; r.Verdict == check.Violated || r.Verdict == check.Allowed {
			r.Verdict = check.Unknown
			r.Detail = "not judged: " + why + "; the history alone shows: " + r.Detail
		}
	}
}

// enterSubject withholds a verdict without a subject: nothing took effect, or only the tester's own
// record was checked.
func enterSubject(r *report.Result, judged *definition.Judgement) {
	all := r.Outcomes.Total()
	switch {
	case r.Verdict != check.Valid:
	case r.Outcomes.Committed == 0 && all+int64(len(judged.Results)) > 0:
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

// notApplicable are the checks without a subject in this configuration, except checks that found
// something.
func notApplicable(c Rules, results []check.Result) []check.NotApplicable {
	partial, is := c.(definition.Partial)
	if !is {
		return nil
	}
	return slices.DeleteFunc(partial.NotApplicable(), func(n check.NotApplicable) bool {
		return slices.ContainsFunc(results, func(r check.Result) bool { return r.Name == n.Name && r.Found > 0 })
	})
}

func seededBugs(r *report.Result) string {
	i := slices.IndexFunc(r.Database.Settings, func(s report.Setting) bool { return s.Name == store.SettingBugs })
	if i < 0 {
		return ""
	}
	return r.Database.Settings[i].Value
}

// strikeNotes say how often each seeded bug took effect, by the rows of a Size.
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

func enterRound(x *report.Round, j *definition.Judgement) {
	x.Facts = append(x.Facts, j.Facts[x.Name]...)
	x.RowsPerSecond = j.Rates[x.Name]
	if size, known := j.Sizes[x.Name]; known {
		x.Size = &size
	}
}
