package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"assay/check"
	"assay/load"
	"assay/measure"
	"assay/report"
	"assay/store"
	"assay/workload/definition"
)

// summarize reads the database back, judges and measures the run, and writes
// its result and report.
func (r *run) summarize(ctx context.Context, stats load.Stats) (Outcome, error) {
	err := readBack(ctx, r.store, r.folder, r.scenario, r.lease, r.live.Snapshot().Outcomes.Committed, &r.unread, r.options.Progress)
	if lost := r.lease.IsLost(); lost != nil {
		return Outcome{}, r.overtaken(lost)
	}
	if err == nil {
		r.result.RunNotes = append(r.result.RunNotes, r.lease.Notes()...)
		r.examine(ctx, stats)
		err = errors.Join(r.recordReadBack(ctx), r.readRestored(ctx))
	}
	giveBack(r.folder)
	if err != nil {
		// The measurement stands; nothing can be valid or violated.
		r.inFlight = fmt.Sprintf("%s: %v", noteNotRead, err)
		r.options.Progress.Note(r.inFlight)
		r.note(r.inFlight)
		sizeOf(ctx, r.scenario, r.store, r.result)
	}
	gone := r.gone(err)
	if gone != "" {
		if err := writeReadBack(r.folder, readBackRecord{Run: r.result.Run, InFlight: r.inFlight, Gone: gone}); err != nil {
			return Outcome{}, err
		}
	}
	live := r.live.Snapshot()
	enterClient(r.result, stats, live)
	switch {
	case r.group != nil: // live figures may come twice, or not at all
		r.result.Client.Counted = r.agentsCounted
	case r.unrecorded:
		r.result.Client.Counted = nil // more than the history has
	}
	r.result.Ended = time.Now().UTC()
	r.keep(ctx)
	r.options.Monitor.Phase(PhaseChecking)
	r.options.Progress.Stage("checking every operation")
	times, err := judgeRun(ctx, r.folder, r.scenario, r.result, findings{inFlight: r.inFlight, cut: stats.Cut, unrecorded: r.unrecorded, gone: gone})
	if err != nil {
		return Outcome{}, err
	}
	out, err := write(r.folder, r.scenario, r.result)
	if err == nil && r.scenario.Overhead {
		out, err = r.enterOverhead(ctx)
	}
	out.Responses = times
	return out, err
}

// examine has the workload examine the database, unless the user wants the run to end.
// What goes wrong is a note: whatever depends on it has no verdict.
func (r *run) examine(ctx context.Context, stats load.Stats) {
	if stats.Cut || r.inFlight != "" {
		return
	}
	if err := r.store.examine(ctx, r.folder); err != nil {
		r.note(fmt.Sprintf("the database could not be examined after the run: %v", err))
	}
}

// How the notes begin that no longer hold once the database was read after all.
const (
	noteNotRead = "the database could not be read back"
	noteNoSize  = "the size on disk is not known"
)

// note keeps a remark that only the run could make, and no judge.
func (r *run) note(text string) { r.result.RunNotes = append(r.result.RunNotes, text) }

// recordReadBack keeps beside the state how it was read.
func (r *run) recordReadBack(ctx context.Context) error {
	return writeReadBack(r.folder, readBackRecord{Run: r.result.Run, InFlight: r.inFlight, Unread: r.unread, Size: sizeOf(r.lease.Reading(ctx), r.scenario, r.store, r.result)})
}

// sizeOf asks for the size on disk and enters it; a database that does not tell is no reason
// to lose the result.
func sizeOf(ctx context.Context, s Scenario, db definition.Work, r *report.Result) *store.Size {
	if s.UseExisting { // it would be that of others' data
		return nil
	}
	size, err := db.Size(ctx)
	if err != nil {
		r.RunNotes = append(r.RunNotes, fmt.Sprintf("%s: %v", noteNoSize, err))
		return nil
	}
	enterSize(r, size)
	return &size
}

// sizeLoaded asks the database what the loaded rows take on disk, so that what the
// work adds can be told. One that does not tell loses that figure alone.
func (r *run) sizeLoaded(ctx context.Context) {
	if !r.scenario.definition().SizeLoaded {
		return
	}
	if size, err := r.store.Size(ctx); err == nil {
		r.result.Data.Loaded = &size.Bytes
	}
}

func enterSize(r *report.Result, size store.Size) {
	r.Data = report.Data{Bytes: size.Bytes, Tables: size.Tables, Indexes: size.Indexes, Rows: size.Rows, Measured: size.Measured,
		Loaded: r.Data.Loaded, Kept: r.Data.Kept}
}

// keep drops the data if that was asked for, and else says where it is.
func (r *run) keep(ctx context.Context) {
	switch {
	case r.scenario.Drop:
		if err := r.store.Drop(ctx); err != nil {
			r.note(fmt.Sprintf("--drop could not be done: %v", err))
		}
	case r.scenario.UseExisting:
	case r.scenario.Cluster != "":
		r.note("the servers were started for this run and are gone; the state is kept in the run's folder")
	case r.driver.Name != "mem" && r.driver.Name != nullDriver:
		r.result.Data.Kept = r.result.Database.Address
	}
}

// findings is what is known of a run beside its files and its result.
type findings struct {
	inFlight string
	cut      bool
	// unrecorded is true if the history could not be written to its end.
	unrecorded bool
	// gone is what there is instead of the run in a database that nobody but assay knew of;
	// empty if the run is there.
	gone string
	// survey is of the run's history, if it was taken already.
	survey *survey
}

// judgeRun judges and measures a run from its files and completes the result.
func judgeRun(ctx context.Context, folder string, s Scenario, r *report.Result, f findings) (measure.ResponseTimes, error) {
	state, why := s.definition().State, unjudged(r)
	evidence := definition.Evidence{
		History: filepath.Join(folder, FileHistory), State: filepath.Join(folder, state), Promise: r.Database.Promise, InFlight: f.inFlight,
	}
	restored, unread, err := readApart(folder, r.Run)
	if err != nil {
		return measure.ResponseTimes{}, err
	}
	evidence.Restored = restored
	var judged definition.Judgement
	var judging errgroup.Group
	if why == "" { // figures and verdicts are reckoned at once, on a processor each
		judging.Go(func() (err error) { judged, err = s.Config.Judge(ctx, s.Load.Seed, evidence); return err })
	}
	figures, err := measured(folder, s, r, f)
	if err != nil {
		return figures.Responses, errors.Join(err, judging.Wait())
	}
	enterServers(folder, r)
	enterDurability(r)
	if why != "" {
		enterUnjudged(r, why, figures)
		return figures.Responses, nil
	}
	if err := judging.Wait(); err != nil {
		return figures.Responses, err
	}
	r.Lost, r.Seeded = nil, seededBugs(r)
	enterMoments(r, judged.Moments)
	judged.Results = enterUnrestored(judged.Results, r.Faults, restored)
	if !exists(folder, state) {
		withhold(judged.Results, cmp.Or(f.inFlight, noteNotRead))
		withhold(judged.Promised, cmp.Or(f.inFlight, noteNotRead))
	}
	r.NotApplicable = notApplicable(s.Config, judged.Results)
	judged.Results = check.Applicable(judged.Results, r.NotApplicable)
	judged.Promised = check.Applicable(judged.Promised, r.NotApplicable)
	enterGone(r, &judged, f.gone)
	judged.Results = slices.Concat(judged.Results, twoPrimaries(r), readable(unread))
	record := accounting(figures, judged.Counts, &r.Client)
	if err := enterPromise(ctx, s, r, judged, record, evidence); err != nil {
		return figures.Responses, err
	}
	r.Conviction = convictionOf(s, r, judged.Alone)
	enterTried(r)
	r.WorkloadFigures = judged.WorkloadFigures
	for i := range r.Rounds {
		enterRound(&r.Rounds[i], &judged)
	}
	r.Verdict = check.Combine(r.Checks)
	enterSubject(r, &judged)
	r.Notes = slices.Concat(strikeNotes(r.Data.Rows), notesOf(unread), r.RunNotes, r.Notes, judged.Notes, s.definition().NotJudgedNotes())
	return figures.Responses, nil
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
func notApplicable(c definition.Config, results []check.Result) []check.NotApplicable {
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

// write keeps the result and its page.
func write(folder string, s Scenario, r *report.Result) (Outcome, error) {
	if err := writeResult(folder, r); err != nil {
		return Outcome{}, err
	}
	page := filepath.Join(folder, FileReport)
	return Outcome{Result: r, Folder: folder, Report: page}, writePage(page, folder, s, r)
}

var errNoRun = errors.New("holds no run of assay's; name a folder that assay run has made")

// exists says whether a run's file is there.
func exists(folder, file string) bool {
	_, err := os.Stat(filepath.Join(folder, file))
	return err == nil
}
