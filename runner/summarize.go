package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sync/errgroup"

	"assay/fault"
	"assay/measure"
	"assay/report"
	"assay/runner/figures"
	"assay/runner/judge"
	"assay/runner/lease"
	"assay/runner/nodes"
	"assay/runner/open"
	"assay/runner/readback"
	"assay/store"
	"assay/workload/definition"
)

// summarize reads the database back, judges the run and writes its result.
func (r *run) summarize(ctx context.Context, done worked) (Outcome, error) {
	unread, err := readBack(ctx, r.store, r.folder, r.scenario, r.lease, done.live.Outcomes.Committed, r.options.Progress)
	if lost := r.lease.IsLost(); lost != nil {
		return Outcome{}, r.overtaken(lost)
	}
	if err == nil {
		r.result.RunNotes = append(r.result.RunNotes, r.lease.Notes()...)
		r.examine(ctx, done)
		size := sizeOf(r.lease.Reading(ctx), r.scenario, r.store, r.result)
		err = errors.Join(readback.Record{Run: r.result.Run, InFlight: done.inFlight, Unread: unread, Size: size}.Write(r.folder), r.readRestored(ctx, done.started))
	}
	giveBack(r.folder)
	if err != nil {
		// The measurement stands, but the verdict is unknown.
		done.inFlight = fmt.Sprintf("%s: %v", noteNotRead, err)
		r.options.Progress.Note(done.inFlight)
		r.note(done.inFlight)
		sizeOf(ctx, r.scenario, r.store, r.result)
	}
	gone := instead(r.system.Started, err)
	if gone != "" {
		if err := (readback.Record{Run: r.result.Run, InFlight: done.inFlight, Gone: gone}).Write(r.folder); err != nil {
			return Outcome{}, err
		}
	}
	enterClient(r.result, done)
	r.result.Ended = time.Now().UTC()
	r.keep(ctx)
	r.options.Monitor.Phase(PhaseChecking)
	r.options.Progress.Stage("checking every operation")
	times, err := judgeRun(ctx, r.folder, r.scenario, r.result, done.inFlight, gone, figures.History{Cut: done.stats.Cut, Unrecorded: done.unrecorded != nil})
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

// instead says what is there instead of the run's data, if err says that nothing is left of it on
// servers that the run started. The lease shows that no other run made a schema there. It is
// empty if that is unknown.
func instead(started *nodes.Nodes, err error) string {
	if err == nil || started == nil {
		return ""
	}
	return cmp.Or(readback.Instead(err), started.EndedForGood)
}

// examine has the workload examine the database, unless the run was cut. After a failure, which
// is noted, the checks that need it are unknown.
func (r *run) examine(ctx context.Context, done worked) {
	if done.stats.Cut || done.inFlight != "" {
		return
	}
	if err := r.store.Examine(ctx, r.folder); err != nil {
		r.note(fmt.Sprintf("the database could not be examined after the run: %v", err))
	}
}

// The beginnings of notes that a later reading of the database makes untrue.
const (
	noteNotRead = "the database could not be read back"
	noteNoSize  = "the size on disk is not known"
)

// note adds a remark that a later judgement cannot make.
func (r *run) note(text string) { r.result.RunNotes = append(r.result.RunNotes, text) }

// readBack saves the state of the database in the run's folder. acknowledged is the number of
// acknowledged operations.
func readBack(ctx context.Context, db *open.Work, folder string, s Scenario, own *lease.Lease, acknowledged int64, p Progress) (store.Unread, error) {
	p.Stage("reading everything back")
	how := readback.Reading{Folder: folder, State: s.definition().State, Existing: s.UseExisting, Acknowledged: acknowledged,
		// On servers of this run alone, a fault lost the missing rows.
		MayBeEmpty: s.cutsPower() || own.Terms.Alone && len(s.Faults) > 0,
		Progress:   func(rows int64) { p.Rows(rows, 0) }}
	return how.Save(ctx, db, own)
}

// cutsPower reports whether faults may lose all rows of the run's own servers.
func (s Scenario) cutsPower() bool {
	faults, err := s.faults() // checked before the run
	return err == nil && slices.ContainsFunc(faults, func(f fault.Fault) bool {
		a := fault.Recorded(f.Action)
		return a.CutsPower || a.Empties
	})
}

// sizeOf asks for the size on disk and enters it. A failure is only a note.
func sizeOf(ctx context.Context, s Scenario, db definition.Work, r *report.Result) *store.Size {
	if s.UseExisting { // it would be the size of others' data
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

// sizeLoaded enters the size on disk after loading, to which the work adds. A failure loses only
// that figure.
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

// judgeRun judges and measures a run from its files and completes the result. inFlight is for
// definition.Evidence, gone for judge.Case. It sets the path of h.
func judgeRun(ctx context.Context, folder string, s Scenario, r *report.Result, inFlight, gone string, h figures.History) (measure.ResponseTimes, error) {
	state := s.definition().State
	c := judge.Case{Workload: s.definition(), Rules: s.Config, Seed: s.Load.Seed, Isolation: s.Isolation, Gone: gone, Evidence: definition.Evidence{
		History: filepath.Join(folder, FileHistory), State: filepath.Join(folder, state), Promise: r.Database.Promise, InFlight: inFlight,
	}}
	if !exists(folder, state) {
		c.NotRead = cmp.Or(inFlight, noteNotRead)
	}
	var err error
	if c.Evidence.Restored, err = readback.Restored(folder); err != nil {
		return measure.ResponseTimes{}, err
	}
	record, _, err := readback.Load(folder, r.Run)
	if err != nil {
		return measure.ResponseTimes{}, err
	}
	c.Unread = record.Unread
	var judged definition.Judgement
	var judging errgroup.Group
	if judge.Unjudged(r) == "" { // figures and verdicts use a processor each
		judging.Go(func() (err error) { judged, err = c.Rules.Judge(ctx, c.Seed, c.Evidence); return err })
	}
	measured, err := enterFigures(folder, s, r, h)
	if err != nil {
		return measured.Responses, errors.Join(err, judging.Wait())
	}
	judge.EnterDurability(r)
	if p, is := report.ParsePrice(s.Price); is {
		r.Cost = report.CostOf(r, s.Price, p)
	}
	if err := judging.Wait(); err != nil {
		return measured.Responses, err
	}
	return measured.Responses, c.Enter(ctx, r, judged, measured)
}

func enterFigures(folder string, s Scenario, r *report.Result, h figures.History) (measure.Figures, error) {
	thresholds, err := s.thresholds()
	if err != nil {
		return measure.Figures{}, err
	}
	asked := figures.Asked{Load: s.Load, Workload: s.definition(), Operations: s.operationNames(), Faults: len(s.Faults) > 0, Thresholds: thresholds, OtherWork: s.OtherWork}
	h.Path, r.Strict = filepath.Join(folder, FileHistory), s.Strict
	measured, err := asked.Enter(r, h)
	if err == nil {
		figures.EnterServers(filepath.Join(folder, FileServers), r)
	}
	return measured, err
}

func enterClient(r *report.Result, done worked) {
	stats := done.stats
	r.Client.Hung, r.Client.Counted = stats.Hung, done.counted
	r.Client.CPUShare, r.Client.CPUs = stats.Self.CPUShare, stats.Self.CPUs
	r.Client.SchedulerP99 = stats.Self.SchedulerP99.Seconds() * 1000
	r.Client.Runnable = stats.Self.Runnable
	r.Client.OwnLag = lag(stats.OwnLag)
	r.Client.PeakMemory = peakMemory()
	r.Load.Unserved = stats.Unserved
}

// lag converts a histogram of microseconds; h is nil if all agents were lost.
func lag(h *hdrhistogram.Histogram) report.Latency {
	at := func(percent float64) float64 { return float64(h.ValueAtPercentile(percent)) / 1000 }
	if h == nil || h.TotalCount() == 0 {
		return report.Latency{}
	}
	return report.Latency{
		Count: h.TotalCount(), Mean: h.Mean() / 1000, P50: at(50), P95: at(95), P99: at(99), P999: at(99.9),
		Max: float64(h.Max()) / 1000,
	}
}

// write writes the result and its page. The outcome has the result also beside an error: a full disk
// takes no verdict away.
func write(folder string, s Scenario, r *report.Result) (Outcome, error) {
	page := filepath.Join(folder, FileReport)
	unwritten := writeResult(folder, r)
	if unwritten != nil {
		unwritten = fmt.Errorf("%w; the folder still holds the result from before: assay check %s judges it again and writes it", unwritten, folder)
	}
	return Outcome{Result: r, Folder: folder, Report: page}, errors.Join(unwritten, writePage(page, folder, s, r))
}

var errNoRun = errors.New("holds no run of assay's; name a folder that assay run has made, or the file of another tool's history, such as history.edn")

func exists(folder, file string) bool {
	_, err := os.Stat(filepath.Join(folder, file))
	return err == nil
}
