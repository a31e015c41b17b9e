package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"assay/check"
	"assay/cluster"
	"assay/fault"
	"assay/history"
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

type run struct {
	scenario Scenario
	options  Options
	address  string // of the database, password included
	driver   catalog.Driver
	folder   string
	store    *open.Work
	id       string // of the run
	lease    *lease.Lease
	result   *report.Result
	live     *measure.Live
	group    *agents.Coordinator // nil of a run without agents
	// agentsCounted is nil if an agent's counts are missing.
	agentsCounted *report.Counted
	loading       report.Loading
	inFlight      string
	// unrecorded means that the history could not be written to its end.
	unrecorded bool
	// started is time zero of the history with its monotonic reading, which the UTC time
	// result.Started lacks.
	started    time.Time
	endService func() error

	// The nodes come from one of the next four, which are nil for a database that is only
	// addressed. nodes describes them.
	cluster  *nodes.Nodes
	embedded *cluster.Backups
	pods     *fault.Pods
	hosts    *fault.Hosts // of a run on nodes of the user's own
	nodes    *report.Cluster
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
	r := &run{scenario: s, options: o, address: s.Database, endService: func() error { return nil }}
	stop, err := r.provide(ctx)
	if err != nil {
		return Outcome{}, r.interrupted(ctx, err, "the servers were being started")
	}
	defer func() { err = r.cleanedUp(out, err, stop()) }()
	defer func() { err = r.cleanedUp(out, err, errors.Join(r.endService(), r.embedded.Close())) }()
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
	if err := r.gather(ctx); err != nil {
		r.dismiss(ctx)
		return Outcome{}, r.interrupted(ctx, err, "waiting for agents")
	}
	gathered = true
	defer r.dismiss(ctx)
	if err := r.load(ctx); err != nil {
		return Outcome{}, err
	}
	r.store.BearFor(r.store.StallTimeout)
	stats, err := r.work(ctx)
	if err != nil {
		return Outcome{}, err
	}
	// From here on the run ends in order, even if ctx has ended.
	return r.summarize(context.WithoutCancel(ctx), stats)
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

// open reaches the database and makes the run's folder. An unreachable database leaves no empty
// folder behind.
func (r *run) open(ctx context.Context) (err error) {
	r.options.Progress.Stage("connecting")
	embedded := r.address == ""
	if embedded {
		r.address = embeddedAddress("", "") // the folder comes later
	}
	r.address = withOptions(r.address, r.scenario.Options)
	if r.driver, err = catalog.DriverFor(r.address); err != nil {
		return err
	}
	if embedded && strings.Contains(r.options.Out, "?") {
		return &FolderError{Path: r.options.Out, Reason: "cannot hold an SQLite file, in whose address parameters follow the question mark"}
	}
	_, missing := os.Stat(r.options.Out)
	if r.folder, err = CreateFolder(r.options.Out, time.Now(), r.scenario.Workload, r.driver.Name); err != nil {
		return err
	}
	if embedded {
		r.address = withOptions(embeddedAddress(r.folder, r.scenario.Workload), r.scenario.Options)
	}
	if err = r.embed(ctx); err == nil {
		err = r.makeRoom()
	}
	if err == nil {
		err = r.serve(ctx)
	}
	if err == nil {
		err = r.reach(ctx)
	}
	if err == nil && (r.pods != nil || r.hosts != nil) { // the database says by now who takes writes
		if err = r.scenario.refuseFaults(ctx, r.system()); err != nil {
			r.lease.Release(ctx)
			err = errors.Join(err, r.store.Close())
		}
	}
	if err != nil {
		giveBack(r.folder)
	}
	if err != nil && missing != nil {
		r.removeEmptyFolder()
	}
	return err
}

// removeEmptyFolder removes the run's folder, which this run made, and runs, if they are empty.
func (r *run) removeEmptyFolder() {
	if os.Remove(r.folder) == nil && r.options.Out == "" {
		_ = os.Remove(filepath.Dir(r.folder)) // fails if there are others
	}
}

func (r *run) reach(ctx context.Context) error {
	r.tellExisting()
	opened := opener(openWork)
	if a := r.options.Agents; a != nil {
		opened = a.open.orDefault()
	}
	scenario := r.scenario
	scenario.shared = r.options.Agents != nil
	db, err := opened(ctx, scenario, r.address, r.options.StallTimeout)
	if err != nil {
		return err
	}
	r.id = uuid.NewString()
	own, found, err := db.Own(ctx, r.id, lease.Terms{Shared: r.options.Agents != nil, Alone: r.cluster != nil, Note: r.options.Progress.Note})
	if err != nil {
		return errors.Join(err, db.Close())
	}
	r.lease = own
	if found != nil {
		state := "complete"
		if !found.Marker.Loaded {
			state = "its loading was interrupted"
		}
		if found.Marker.Rows > 0 { // a script may have made all rows itself
			state = fmt.Sprintf("%s of %s, %s", check.Count(found.Rows), check.Counted(found.Marker.Rows, "row", "rows"), state)
		}
		r.options.Progress.Note(fmt.Sprintf("replacing what run %s left: %s", found.Marker.Run, state))
	}
	r.store = db
	r.offerRestart()
	if c, asks := r.scenario.Config.(observed); asks {
		if observers, _ := db.Observers(); len(observers) == 0 {
			if note := c.WithoutObservers(); note != "" {
				r.options.Progress.Note(note)
			}
		}
	}
	return nil
}

// opener has the contract of openWork.
type opener func(ctx context.Context, s Scenario, address string, stallTimeout time.Duration) (*open.Work, error)

func (o opener) orDefault() opener {
	if o == nil {
		return openWork
	}
	return o
}

// openWork opens the scenario's workload on the database at address; see open.Asked.
func openWork(ctx context.Context, s Scenario, address string, stallTimeout time.Duration) (*open.Work, error) {
	return open.Asked{
		Workload: s.Workload, Config: s.Config, Seed: s.Load.Seed, Clients: s.Load.Clients, Isolation: s.Isolation, Existing: s.UseExisting, Shared: s.shared,
		ConnectTimeout: s.ConnectTimeout, StallTimeout: stallTimeout,
	}.Open(ctx, address)
}

func embeddedAddress(folder, workload string) string {
	return schemeSQLite + filepath.Join(folder, workload+fileSQLite)
}

// load loads the opening state and writes a first result, which says that the run has not ended.
func (r *run) load(ctx context.Context) error {
	started := time.Now()
	mark := store.Marker{
		Run: r.id, Workload: r.scenario.Workload, Version: r.options.Version,
		Created: started.UTC().Truncate(time.Second), Rows: r.store.Rows(),
	}
	kept := r.scenario
	kept.Database = fromAnywhere(kept.Database)
	if err := writeScenario(filepath.Join(r.folder, FileScenario), kept); err != nil {
		return err
	}
	here := environment(ctx, r.options.Version, r.folder)
	if err := history.WriteJSON(filepath.Join(r.folder, FileEnvironment), here); err != nil {
		return err
	}
	r.result = begin(r.scenario, mark, started)
	r.result.Cluster = r.nodes
	r.noteExisting()
	r.noteOthers(ctx)
	if rounds, several := r.store.Rounds(); several {
		enterPlan(&r.result.Load, rounds)
	}
	if err := writeResult(r.folder, r.result); err != nil {
		return err
	}
	r.options.Monitor.Phase(PhaseLoading)
	progress := &loading{progress: r.options.Progress}
	if !r.scenario.UseExisting {
		r.options.Progress.Stage("loading " + check.Counted(r.store.Rows(), "row", "rows") + r.scenario.faultsText(true))
	}
	err := r.store.Create(ctx, mark)
	if err == nil && !r.scenario.UseExisting {
		err = r.loadRows(ctx, progress.rows)
	}
	if err != nil {
		return r.interrupted(ctx, err, r.loadingWords(progress))
	}
	if !r.scenario.UseExisting {
		took := time.Since(started).Seconds()
		r.loading.Rows, r.loading.Seconds, r.loading.PerSecond = r.store.Rows(), took, float64(r.store.Rows())/took
		r.result.Loading = r.loading
		r.sizeLoaded(ctx)
	}
	product, err := r.store.Describe(ctx)
	if err != nil {
		return r.interrupted(ctx, err, r.loadingWords(progress))
	}
	if r.cluster != nil && r.cluster.LedBy() != "" {
		product.Settings = append(product.Settings, store.Setting{Name: store.SettingLedBy, Value: r.cluster.LedBy()})
		for _, bound := range []string{"maximum_lag_on_failover", "ttl", "synchronous_mode"} { // for losses by a failover or a primary alone
			if asked := r.cluster.Spec().Options[bound]; asked != "" {
				product.Settings = append(product.Settings, store.Setting{Name: bound, Value: asked})
			}
		}
	}
	r.cluster.Loaded(ctx)
	describe(r.result, product, r.address, r.store.Promise())
	r.noteAltering(product)
	r.options.Status.describe(r.result)
	switch {
	case r.pods != nil:
		describePods(&r.result.Database, r.nodes.Nodes)
	case r.hosts != nil: // the machines are unknown here
		r.result.Database.Nodes = known(len(r.nodes.Nodes))
	case r.nodes != nil:
		describeNodes(&r.result.Database, r.nodes, here)
	}
	return writeResult(r.folder, r.result)
}
