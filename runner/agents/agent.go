package agents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"

	"assay/history"
	"assay/load"
)

// Worker does the work of a share. The runner implements it.
type Worker interface {
	// Prepare reaches the database and opens the sessions of a share.
	Prepare(ctx context.Context, p Plan, s Share) (Job, error)
}

// Job is a prepared share.
type Job interface {
	// Work works until the plan or ctx ends, and then ends in order. now is nanoseconds since
	// the start, which may be a little after the call.
	Work(ctx context.Context, rec *Recorder, now func() int64) (load.Stats, error)
	// Found is what the work found beside the history, in the runner's form; nil for nothing.
	Found() json.RawMessage
	// Close leaves the database. It is called once, after Work or instead of it.
	Close() error
}

// Options says how an agent takes part in runs.
type Options struct {
	Version string
	Pool    string
	// Folder keeps histories until the coordinator has taken them.
	Folder string
	Note   func(text string)
	// Clock may be nil for the system's clock.
	Clock Clock
	// Late is how long an agent tries to deliver without an answer. Gone is how long the
	// engine may be away between runs.
	Late, Gone time.Duration
}

// Serve takes part in runs, one after the other. It returns nil when ctx ends or the engine
// closes, and a *RefusedError if a run refuses the agent.
func Serve(ctx context.Context, e *Engine, w Worker, o Options) error {
	conn := e.conn
	if o.Clock == nil {
		o.Clock = NewClock()
	}
	host, _ := os.Hostname() // for people; a machine without a name has none
	me := Agent{ID: uuid.NewString(), Host: host, PID: os.Getpid(), Version: o.Version}
	ctx, close := context.WithCancel(ctx)
	defer close()
	closing, err := conn.Subscribe(subjectClosing, func(*nats.Msg) { close() })
	if err != nil {
		return err
	}
	defer func() { _ = closing.Unsubscribe() }() // the connection ends next
	since := time.Now()
	for ctx.Err() == nil {
		if conn.IsConnected() {
			since = time.Now()
		} else if time.Since(since) > o.Gone {
			return &EngineError{Address: Redact(conn.Opts.Url), Err: fmt.Errorf("it was not there for %v", o.Gone)}
		}
		g, run, err := join(ctx, conn, o.Pool, me)
		if err != nil {
			return err
		}
		if run == "" {
			continue
		}
		o.Note(fmt.Sprintf("run %s: share %d of %d, %d clients from %d on", run, g.Share.Number+1, g.Share.Of, g.Share.Clients, g.Share.First))
		p := &agentRun{conn: conn, worker: w, options: o, me: me, plan: g.Plan, share: g.Share, status: status{State: stateWaiting}, order: make(chan order, 1), stopped: make(chan struct{})}
		if err := p.take(ctx); err != nil {
			o.Note(fmt.Sprintf("run %s: %v", run, err))
		}
	}
	return nil
}

// join looks for a run and claims a share; run is empty if there is none.
func join(ctx context.Context, conn *nats.Conn, pool string, me Agent) (g claimed, run string, err error) {
	offer, err := request[Agent, Offer](ctx, conn, subjectJoin+pool, me)
	switch {
	case err != nil || offer.Refused == full:
		sleep(ctx, beatEvery)
		return g, "", nil // no coordinator yet, or the engine is away for a moment
	case offer.Refused != "":
		return g, "", &RefusedError{Reason: offer.Refused}
	}
	g, err = request[Agent, claimed](ctx, conn, subjectPrefix+offer.Run+verbClaim, me)
	if err != nil || g.Refused != "" {
		sleep(ctx, beatEvery)
		return g, "", nil
	}
	return g, offer.Run, nil
}

// take works a share from its claim until the coordinator has the history.
func (p *agentRun) take(ctx context.Context) error {
	// Beats go on after ctx has ended, while the agent delivers.
	heard, stop := context.WithCancel(context.WithoutCancel(ctx))
	var beating sync.WaitGroup
	beating.Go(func() { p.beat(heard) })
	defer func() { stop(); beating.Wait() }()
	if _, err := p.await(ctx, orderPrepare); err != nil {
		return nil // the run did not begin
	}
	p.setState(statePreparing)
	began := time.Now()
	job, err := p.worker.Prepare(ctx, p.plan, p.share)
	if err != nil {
		p.fail(err)
		_, _ = p.await(ctx, orderOver) // the coordinator ends the run, or is gone
		return err
	}
	took := time.Since(began)
	p.change(func(p *agentRun) { p.State, p.Opened = stateReady, took })
	o, err := p.await(ctx, orderStart)
	if errors.Is(err, errOver) {
		return job.Close()
	}
	if err != nil {
		return errors.Join(err, job.Close())
	}
	folder, err := os.MkdirTemp(p.options.Folder, "assay-agent-")
	if err != nil {
		p.fail(err)
		return errors.Join(err, job.Close())
	}
	path := filepath.Join(folder, historyFile(p.share.Number))
	err = errors.Join(p.work(ctx, job, o.Start, path), job.Close())
	if err != nil {
		return fmt.Errorf("%w; what was recorded is kept in %s: copy it into the folder %s of the run's and let assay check judge it", err, path, Folder)
	}
	return os.RemoveAll(folder)
}

func (p *agentRun) work(ctx context.Context, job Job, start int64, path string) error {
	store, err := openBucket(ctx, p.conn, p.plan.Run, 0)
	if err != nil {
		p.fail(err)
		return err
	}
	begin := start - p.offset() // by this clock
	file, err := history.Create(path, history.Header{Run: p.plan.Run, Workload: p.plan.Workload, Version: p.plan.Version, Started: begin})
	if err != nil {
		p.fail(err)
		return err
	}
	kept, err := os.Open(path)
	if err != nil {
		return errors.Join(err, file.Close())
	}
	defer kept.Close()
	d := &deliverer{store: store, share: p.share.Number, file: kept}
	now := func() int64 { return p.options.Clock() - begin }
	working, stop := context.WithCancel(ctx)
	defer stop()
	rec := newRecorder(working, p, file)
	p.record(file, now, stop)
	delivering, ended := context.WithCancel(ctx)
	var deliveries sync.WaitGroup
	deliveries.Go(func() { p.deliverAlong(delivering, d) })
	sleep(working, StartSlack-time.Duration(now()))
	p.setState(stateWorking)
	stats, err := job.Work(working, rec, now)
	if working.Err() != nil && errors.Is(err, errNoCoordinator) {
		err = nil // a stopped agent can reserve nothing
	}
	p.compareLast(context.WithoutCancel(ctx))
	ended()
	deliveries.Wait()
	p.record(nil, nil, nil)
	e := End{Counted: p.counted(), Stats: stats, Found: job.Found()}
	if err != nil {
		e.Problem = err.Error()
	}
	if err := file.Close(); err != nil {
		p.fail(err)
		return err
	}
	p.setState(stateEnded)
	return p.deliverRest(ctx, d, e)
}

func (p *agentRun) deliverAlong(ctx context.Context, d *deliverer) {
	for sleep(ctx, deliverEvery) {
		if err := d.deliver(ctx); err != nil {
			p.undelivered(err)
		} else {
			p.deliveredNow(d.done)
		}
	}
}

// StartSlack is the time from the start to the first operation, so that the operation is after
// the start by the coordinator's clock too.
const StartSlack = time.Millisecond

// endingTime is how long an agent that is asked to end may deliver.
const endingTime = 15 * time.Second

// deliverRest delivers the rest, and waits at most Options.Late until it was taken.
func (p *agentRun) deliverRest(ctx context.Context, d *deliverer, e End) error {
	asked := ctx
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.options.Late)
	defer cancel()
	defer context.AfterFunc(asked, func() { sleep(ctx, endingTime); cancel() })()
	for {
		err := d.finish(ctx, e)
		if err == nil {
			break
		}
		p.undelivered(err)
		if !sleep(ctx, deliverEvery) {
			return fmt.Errorf("the history could not be delivered: %w", err)
		}
	}
	p.deliveredNow(d.done)
	p.setState(stateDelivered)
	if _, err := p.await(ctx, orderOver); err != nil && !errors.Is(err, errNoCoordinator) {
		return err
	}
	return nil
}
