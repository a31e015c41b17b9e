package agents

import (
	"context"
	"fmt"
	"sync"

	"assay/history"
	"assay/load"
	"assay/measure"
)

// ahead is how many operation numbers of a client the coordinator keeps beyond the client's
// reservation, so that clients do not wait. granted are kept from the start.
const (
	ahead   = 1024
	granted = 2 * ahead
)

// Recorder records an agent's clients in its history and in the figures for the coordinator. It
// reserves each number on the coordinator's disk too before it is used: if the agent is lost,
// this tells what it may have begun. It is safe for concurrent use.
type Recorder struct {
	*history.Writer
	live *measure.Live
	ctx  context.Context
	of   *agentRun

	mu     sync.Mutex
	grants map[int]*grant
}

// grant is the end of a client's numbers reserved with the coordinator.
type grant struct {
	upTo uint64
	// asking is closed at the end of a request for more; nil without a request.
	asking chan struct{}
	err    error
}

var _ load.Recorder = (*Recorder)(nil)

func newRecorder(ctx context.Context, of *agentRun, file *history.Writer) *Recorder {
	r := &Recorder{Writer: file, live: measure.NewLive(of.share.Clients), ctx: ctx, of: of, grants: map[int]*grant{}}
	of.change(func(p *agentRun) { p.live, p.total = r.live, measure.Delta{} })
	return r
}

// Led reports whether the coordinator certainly still counts on this agent. If not, the agent may
// have been given up, and must send nothing: the run may be over.
func (r *Recorder) Led() bool { return r.of.led() }

// Record implements load.Recorder.
func (r *Recorder) Record(op *history.Op) error {
	r.live.Add(op)
	return r.Writer.Record(op)
}

// Uncounted records clients without counting their operations.
func (r *Recorder) Uncounted() load.Recorder { return uncounted{r} }

type uncounted struct{ *Recorder }

func (u uncounted) Record(op *history.Op) error { return u.Writer.Record(op) }

// Mark implements load.Recorder. It records only this process's stalls and the first error of
// each class: the coordinator records all other events.
func (r *Recorder) Mark(e history.Event) error {
	if e.Name == history.EventStalled || e.Name == history.EventFirstError {
		return r.Writer.Mark(e)
	}
	return nil
}

// Reserve implements load.Recorder. It waits until the coordinator has the reservation too, and
// returns errNoCoordinator if the work ends before.
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
