package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"assay/fault"
	"assay/measure"
	"assay/report"
	"assay/runner/agents"
	"assay/runner/catalog"
	"assay/runner/lease"
	"assay/runner/nodes"
	"assay/runner/open"
	"assay/store"
)

// Options is how a run is carried out. A Scenario is what it does.
type Options struct {
	Version string
	// Out is the run's folder; empty means a new folder below runs.
	Out string
	// Servers is a folder of server programs, searched first.
	Servers string
	// Shared are servers for several runs; nil for a run that starts its own.
	Shared *nodes.Nodes
	// Progress must not be nil.
	Progress Progress
	// Status, if not nil, is kept up to date.
	Status *Status
	// Monitor may be nil.
	Monitor Monitor
	// Agents do the work instead of this process; nil for none.
	Agents *Agents
	// StallTimeout is how long a phase other than the work may make no progress before the
	// run asks whether the database is alive, and how long the answer may take; 0 means a minute.
	StallTimeout time.Duration
}

func (o Options) withDefaults() Options {
	if o.Status == nil {
		o.Status = &Status{}
	}
	if o.Monitor == nil {
		o.Monitor = unmonitored{}
	}
	return o
}

// Outcome is the result of a run and its files.
type Outcome struct {
	Result         *report.Result
	Folder, Report string
	// Responses is the distribution of response times; empty if the result was read from its file.
	Responses measure.ResponseTimes
}

// run is what the parts of a run have in common. Each part returns what the next one needs:
// provide, open, gather, load, work (which settles), and summarize, which reads back and judges.
type run struct {
	scenario Scenario
	faults   []fault.Fault // the scenario's
	options  Options
	system   *nodes.System
	address  string // of the database, password included
	driver   catalog.Driver
	folder   string
	store    *open.Work
	id       string // of the run
	lease    *lease.Lease
	result   *report.Result
	live     *measure.Live
	// endService ends the web service in front of the database; nil without one.
	endService func() error
}

// Run carries out one scenario. The error says why there is no result. A database that breaks
// its promise and a run that is cut are results. When ctx ends, the run is read back, judged
// and marked as cut.
func Run(ctx context.Context, s Scenario, o Options) (out Outcome, err error) {
	if _, err := catalog.WorkloadOf(s.Workload); err != nil {
		return Outcome{}, err
	}
	s.Plan()
	if err := errors.Join(s.Validate(), o.Agents.validate(s)); err != nil {
		return Outcome{}, err
	}
	if s.UseExisting && o.Agents != nil {
		return Outcome{}, &store.OptionError{Option: flagExisting, Value: "with agents", Want: "without agents: no lease keeps several processes together"}
	}
	defer collectOften(s.Load.Clients)()
	o = o.withDefaults()
	o.Status.begin(s, o.Version)
	o.Progress = &inTurn{progress: o.Progress, status: o.Status}
	o.Monitor.Phase(PhaseConnecting)
	r := &run{scenario: s, options: o}
	if err := r.provide(ctx); err != nil {
		return Outcome{}, r.interrupted(ctx, err, "the servers were being started")
	}
	defer func() { err = r.cleanedUp(out, err, errors.Join(r.keepLogs(), r.system.Close())) }()
	defer func() { err = r.cleanedUp(out, err, errors.Join(r.closeService(), r.system.Embedded.Close())) }()
	if err := r.open(ctx); err != nil {
		return Outcome{}, r.interrupted(ctx, err, "connecting")
	}
	gathered := false
	defer func() { // a run that did not begin leaves nothing
		if !gathered && os.RemoveAll(filepath.Join(r.folder, agents.Folder)) == nil {
			r.removeEmptyFolder()
		}
	}()
	defer giveBack(r.folder)
	defer func() { err = r.cleanedUp(out, err, r.store.Close()) }()
	ctx = r.lease.Keep(ctx)
	defer r.lease.Release(ctx)
	defer o.Status.keepIn(r.folder)()
	group, err := r.gather(ctx)
	defer group.dismiss(ctx)
	if err != nil {
		return Outcome{}, r.interrupted(ctx, err, "waiting for agents")
	}
	gathered = true
	if err := r.load(ctx); err != nil {
		return Outcome{}, err
	}
	r.store.BearFor(r.store.StallTimeout)
	done, err := r.work(ctx, group)
	if err != nil {
		return Outcome{}, err
	}
	// From here on the run ends in order, even if ctx has ended.
	return r.summarize(context.WithoutCancel(ctx), done)
}

// cleanedUp returns the error of the run. If there is a result, a failure to clean up is only
// a note in it.
func (r *run) cleanedUp(out Outcome, err, left error) error {
	if left == nil || err != nil || out.Result == nil {
		return errors.Join(err, left)
	}
	note := fmt.Sprintf("assay could not clean up after the run: %v", left)
	r.options.Progress.Note(note)
	out.Result.RunNotes, out.Result.Notes = append(out.Result.RunNotes, note), append(out.Result.Notes, note)
	if _, err := write(out.Folder, r.scenario, out.Result); err != nil { // it is there without the note
		r.options.Progress.Note(err.Error())
	}
	giveBack(out.Folder)
	return nil
}
