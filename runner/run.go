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

	"assay/catalog"
	"assay/check"
	"assay/cluster"
	"assay/history"
	"assay/load"
	"assay/measure"
	"assay/report"
	"assay/workload"
	"assay/workload/definition"
)

// settleTimeout bounds the wait for what the database still has in flight
// after the last client has gone. It is longer than MongoDB keeps a
// transaction that nobody ends (transactionLifetimeLimitSeconds, 60 s).
const settleTimeout = 90 * time.Second

// Options is how a run is carried out, as opposed to what it does.
type Options struct {
	// Version is assay's own.
	Version string
	// Out is the run's folder; empty means a new one below runs.
	Out string
	// Servers is a folder that holds server programs, searched first.
	Servers string
	// Progress receives how the run goes; it must not be nil.
	Progress Progress
	// Status, if not nil, is kept up to date while the run goes.
	Status *Status
	// Monitor follows the run; nil for nobody.
	Monitor Monitor
	// Patience is how long a phase other than the work may make no progress
	// before the database is asked whether it is still there, and how long it
	// may take to answer; 0 means a minute.
	Patience time.Duration
}

// withDefaults has something in place of what need not be given.
func (o Options) withDefaults() Options {
	if o.Status == nil {
		o.Status = &Status{}
	}
	if o.Monitor == nil {
		o.Monitor = unmonitored{}
	}
	return o
}

// Outcome is what a run left.
type Outcome struct {
	Result *report.Result
	// Folder is the run's folder, Report its page.
	Folder, Report string
}

// run is one run in progress.
type run struct {
	scenario Scenario
	options  Options
	address  string // of the database, password included
	driver   catalog.Driver
	folder   string
	store    definition.Work
	id       string // of the run
	lease    *lease
	result   *report.Result
	live     *measure.Live
	inFlight string
	// endService ends the web service that the run started; nil if there is none.
	endService func() error

	// Of a run that started its own servers.
	cluster       *cluster.Cluster
	nodes         *report.Cluster
	announcements announcements
}

// Run carries out one scenario. The error says why there is no result; a
// database that breaks its word, or a run that is cut, is a result. When ctx
// ends, the run is ended in order: it is read back, judged and marked as cut.
func Run(ctx context.Context, s Scenario, o Options) (out Outcome, err error) {
	if _, err := catalog.WorkloadOf(s.Workload); err != nil {
		return Outcome{}, err
	}
	s.Plan()
	if err := s.Validate(); err != nil {
		return Outcome{}, err
	}
	o = o.withDefaults()
	o.Status.begin(s, o.Version)
	o.Progress = &inTurn{progress: o.Progress, status: o.Status}
	o.Monitor.Phase(PhaseConnecting)
	r := &run{scenario: s, options: o, address: s.Database}
	stop, err := r.provide(ctx)
	if err != nil {
		return Outcome{}, r.interrupted(ctx, err, "the servers were being started")
	}
	defer func() { err = errors.Join(err, stop()) }()
	defer func() { err = errors.Join(err, r.stopService()) }()
	if err := r.open(ctx); err != nil {
		return Outcome{}, r.interrupted(ctx, err, "connecting")
	}
	defer func() { err = errors.Join(err, r.store.Close()) }()
	ctx = r.lease.keep(ctx)
	defer r.lease.release(ctx, o.Progress)
	defer o.Status.keepIn(r.folder)()
	if err := r.load(ctx); err != nil {
		return Outcome{}, err
	}
	stats, err := r.work(ctx)
	if err != nil {
		return Outcome{}, err
	}
	// From here on the run ends in order, however often it was asked to end.
	return r.summarize(context.WithoutCancel(ctx), stats)
}

// open reaches the database and makes the run's folder, in an order that
// leaves no empty folder behind when the database cannot be reached.
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
	if err = r.serve(ctx); err == nil {
		err = r.reach(ctx)
	}
	if err != nil && missing != nil {
		r.removeEmptyFolder()
	}
	return err
}

// removeEmptyFolder removes the run's folder, which was made for it, if nothing is in it
// yet, and the folder of all runs if there are no others.
func (r *run) removeEmptyFolder() {
	if os.Remove(r.folder) == nil && r.options.Out == "" {
		_ = os.Remove(filepath.Dir(r.folder)) // fails if there are others
	}
}

func (r *run) reach(ctx context.Context) error {
	store, err := openWork(ctx, r.scenario, r.address, r.options.Patience)
	if err != nil {
		return err
	}
	found, err := r.own(ctx, store)
	if err != nil {
		return errors.Join(err, store.Close())
	}
	if found != nil {
		state := "complete"
		if !found.Marker.Loaded {
			state = "its loading was interrupted"
		}
		r.options.Progress.Note(fmt.Sprintf("replacing what run %s left: %s of %s, %s",
			found.Marker.Run, check.Count(found.Rows), check.Counted(found.Marker.Rows, "row", "rows"), state))
	}
	r.store = store
	r.offerRestart()
	if c, asks := r.scenario.Config.(observed); asks {
		if observers, _ := store.Observers(); len(observers) == 0 {
			if note := c.WithoutObservers(); note != "" {
				r.options.Progress.Note(note)
			}
		}
	}
	return nil
}

// own takes the lease on the schema, before anything is changed in it, and tells
// what an earlier run left there.
func (r *run) own(ctx context.Context, store definition.Work) (found *workload.Leftover, err error) {
	if _, err := store.Marker(ctx); err != nil { // what is not ours gets no lease
		return nil, err
	}
	r.id = uuid.NewString()
	if r.lease, err = takeLease(ctx, store, r.id, r.options.Progress); err != nil {
		return nil, err
	}
	if found, err = store.Find(ctx); err != nil {
		r.lease.release(ctx, r.options.Progress)
		r.lease = nil
	}
	return found, err
}

// embeddedAddress is the database of a run that names none.
func embeddedAddress(folder, workload string) string {
	return schemeSQLite + filepath.Join(folder, workload+fileSQLite)
}

// load makes the opening state and the first form of the result, which says
// truthfully that the run has not ended.
func (r *run) load(ctx context.Context) error {
	started := time.Now()
	mark := workload.Marker{
		Run: r.id, Workload: r.scenario.Workload, Version: r.options.Version,
		Created: started.UTC().Truncate(time.Second), Rows: r.store.Rows(),
	}
	kept := r.scenario
	kept.Database = fromAnywhere(kept.Database)
	if err := writeScenario(filepath.Join(r.folder, FileScenario), kept); err != nil {
		return err
	}
	here := environment(ctx, r.options.Version, r.folder)
	if err := writeEnvironment(filepath.Join(r.folder, FileEnvironment), here); err != nil {
		return err
	}
	r.result = begin(r.scenario, mark, started)
	r.result.Cluster = r.nodes
	if rounds, several := roundsOf(r.store); several {
		enterPlan(&r.result.Load, rounds)
	}
	if err := writeResult(r.folder, r.result); err != nil {
		return err
	}
	r.options.Monitor.Phase(PhaseLoading)
	r.options.Progress.Stage("loading " + check.Counted(r.store.Rows(), "row", "rows"))
	progress := &loading{progress: r.options.Progress}
	err := r.store.Create(ctx, mark)
	if err == nil {
		err = r.store.Load(ctx, progress.rows)
	}
	if err != nil {
		return r.interrupted(ctx, err, r.loadingWords(progress))
	}
	took := time.Since(started).Seconds()
	r.result.Loading = report.Loading{
		Rows: r.store.Rows(), Seconds: took, PerSecond: float64(r.store.Rows()) / took,
	}
	r.sizeLoaded(ctx)
	product, err := r.store.Describe(ctx)
	if err != nil {
		return r.interrupted(ctx, err, r.loadingWords(progress))
	}
	describe(r.result, product, r.address, r.store.Promise())
	r.options.Status.describe(r.result)
	if r.nodes != nil {
		describeNodes(&r.result.Database, r.nodes, here)
	}
	return writeResult(r.folder, r.result)
}

// work does the operations and records them.
func (r *run) work(ctx context.Context) (load.Stats, error) {
	var clients []load.Client
	rounds, several := roundsOf(r.store)
	if !several {
		r.options.Progress.Stage("opening " + check.Counted(r.scenario.Load.Clients, "session", "sessions"))
		opening := time.Now()
		var err error
		if clients, err = r.clients(ctx); err != nil {
			return load.Stats{}, r.interrupted(ctx, err, "opening sessions, with all rows in")
		}
		r.result.Client.ConnectMillis = float64(time.Since(opening).Microseconds()) / 1000
		r.options.Progress.Stage(workingText(r.scenario.Load))
	}
	start := time.Now()
	r.result.Started = start.UTC()
	r.options.Monitor.Begin(r.id, r.scenario.Workload, r.result.Database.Product, r.options.Version, operationsOf(r.scenario.definition()))
	r.options.Monitor.Phase(PhaseWarmup)
	r.options.Monitor.Clients(len(clients))
	file, err := history.Create(filepath.Join(r.folder, FileHistory), history.Header{
		Run: r.result.Run, Workload: r.scenario.Workload, Version: r.options.Version, Started: start.UnixNano(),
	})
	if err != nil {
		closeAll(clients)
		return load.Stats{}, err
	}
	r.live = measure.NewLive(r.scenario.Load.Clients)
	recorder := &tee{Writer: file, live: r.live, monitor: r.options.Monitor}
	now := func() int64 { return int64(time.Since(start)) }
	stopProgress := r.reportProgress(start)
	stopAnnouncing := r.recordAnnouncements(file, now)
	stopFaults := r.injectFaults(ctx, file, start)
	stopObserving := r.observe(ctx, file, now)
	stopWatching := r.watchMachine(ctx, start, several)
	stopServers := r.watchServers(ctx, start)
	var stats load.Stats
	if several {
		stats, err = r.workRounds(ctx, rounds, recorder, now)
	} else {
		stats, err = load.Run(ctx, r.scenario.Load, clients, recorder, now)
	}
	stopServers()
	r.options.Monitor.Clients(0)
	r.options.Monitor.Phase(PhaseSettling)
	stopWatching()
	err = errors.Join(err, stopObserving())
	stopProgress()
	stopFaults()
	r.catchUp(context.WithoutCancel(ctx), file, now)
	stopAnnouncing()
	if err != nil {
		_ = file.Close() // fails for the same reason
		return stats, err
	}
	if lost := r.lease.isLost(); lost != nil {
		return stats, errors.Join(r.overtaken(lost), file.Close())
	}
	r.settle(context.WithoutCancel(ctx), stats)
	if r.inFlight == "" {
		err = file.Mark(history.Event{At: now(), Name: history.EventQuiesced})
	}
	return stats, errors.Join(err, file.Close())
}

// clients opens all sessions before the clock starts, so that the time it
// takes is in no figure but its own.
func (r *run) clients(ctx context.Context) ([]load.Client, error) {
	return r.sessions(ctx, r.scenario.Load.Clients, r.store.Client)
}

// sessions opens n sessions, each within the time to connect; all or none.
func (r *run) sessions(ctx context.Context, n int, open func(ctx context.Context, i int) (load.Client, error)) ([]load.Client, error) {
	clients := make([]load.Client, 0, n)
	for i := range n {
		limit, cancel := context.WithTimeout(ctx, r.scenario.ConnectTimeout)
		client, err := open(limit, i)
		cancel()
		if err != nil {
			closeAll(clients)
			return nil, fmt.Errorf("session %d of %d: %w", i+1, n, err)
		}
		clients = append(clients, leased{client, r.lease})
	}
	return clients, nil
}

func closeAll(clients []load.Client) {
	for _, c := range clients {
		c.Close()
	}
}

// settle waits until nothing of the run is in flight inside the database.
func (r *run) settle(ctx context.Context, stats load.Stats) {
	r.options.Progress.Stage("waiting until nothing is in flight")
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	if err := r.store.Settle(ctx); err != nil {
		r.inFlight = fmt.Sprintf("operations may have been in flight when it was read: %v", err)
	} else if stats.Hung > 0 {
		r.inFlight = check.Counted(stats.Hung, "client", "clients") + " never came back from the last operation"
	}
}
