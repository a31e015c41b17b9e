package agents

import (
	"context"
	"fmt"
	"sync"

	"assay/history"
	"assay/load"
	"assay/measure"
)

// ahead is how many operation numbers of a client the coordinator keeps beyond those
// that the client has reserved, so that nobody waits for it, and granted how many there
// are from the start.
const (
	ahead   = 1024
	granted = 2 * ahead
)

// Recorder takes the record of an agent's clients: into the agent's own history, and
// into the figures that the coordinator is told. A number is reserved on the
// coordinator's disk as well before it is used, so that if the agent is lost it is known
// what it may have begun. It is safe for concurrent use.
type Recorder struct {
	*history.Writer
	live *measure.Live
	ctx  context.Context
	of   *agentRun

	mu     sync.Mutex
	grants map[int]*grant
}

// grant is up to where a client's numbers are reserved with the coordinator.
type grant struct {
	upTo uint64
	// asking is not nil while more is asked for, and closed when that has ended.
	asking chan struct{}
	err    error
}

var _ load.Recorder = (*Recorder)(nil)

func newRecorder(ctx context.Context, of *agentRun, file *history.Writer) *Recorder {
	r := &Recorder{Writer: file, live: measure.NewLive(of.share.Clients), ctx: ctx, of: of, grants: map[int]*grant{}}
	of.change(func(p *agentRun) { p.live, p.total = r.live, measure.Delta{} })
	return r
}

// Record implements load.Recorder.
func (r *Recorder) Record(op *history.Op) error {
	r.live.Add(op)
	return r.Writer.Record(op)
}

// Uncounted records clients whose operations are in no figure.
func (r *Recorder) Uncounted() load.Recorder { return uncounted{r} }

type uncounted struct{ *Recorder }

// Record implements load.Recorder.
func (u uncounted) Record(op *history.Op) error { return u.Writer.Record(op) }

// Mark implements load.Recorder: the events of the run are the coordinator's, but for the
// times in which this process did not run and for what the first error of each class says.
func (r *Recorder) Mark(e history.Event) error {
	if e.Name == history.EventStalled || e.Name == history.EventFirstError {
		return r.Writer.Mark(e)
	}
	return nil
}

// Reserve implements load.Recorder. It waits until the coordinator has it too, and gives
// errNoCoordinator if that does not answer before the work is over.
func (r *Recorder) Reserve(x history.Reservation) error {
	if err := r.Writer.Reserve(x); err != nil {
		return err
	}
	for {
		r.mu.Lock()
		g := r.grants[x.Client]
		if g == nil {
			g = &grant{upTo: granted}
			r.grants[x.Client] = g
		}
		if g.upTo < x.UpTo+ahead && g.asking == nil {
			g.asking = make(chan struct{})
			go r.ask(x.Client, x.UpTo+ahead, g)
		}
		enough, asking, err := g.upTo >= x.UpTo, g.asking, g.err
		r.mu.Unlock()
		switch {
		case enough:
			return nil
		case err != nil:
			return err
		}
		select {
		case <-asking:
		case <-r.ctx.Done():
			return errNoCoordinator
		}
	}
}

// ask asks the coordinator until it answers or the work is over.
func (r *Recorder) ask(client int, upTo uint64, g *grant) {
	var err error
	for {
		var a reserved
		a, err = request[reserve, reserved](r.ctx, r.of.conn, subjectPrefix+r.of.plan.Run+verbReserve, reserve{Share: r.of.share.Number, Agent: r.of.me.ID, Client: client, UpTo: upTo})
		if err == nil && a.Refused != "" {
			err = fmt.Errorf("the coordinator refuses a reservation: %s", a.Refused)
			break
		}
		if err == nil || r.ctx.Err() != nil {
			break
		}
		sleep(r.ctx, readyEvery)
	}
	if r.ctx.Err() != nil {
		err = errNoCoordinator
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if g.err = err; err == nil {
		g.upTo = upTo
	}
	close(g.asking)
	g.asking = nil
}
