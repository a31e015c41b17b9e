package agents

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"assay/history"
	"assay/measure"
)

type agentRun struct {
	conn    *nats.Conn
	worker  Worker
	options Options
	me      Agent
	plan    Plan
	share   Share

	// order holds the latest order not read yet.
	order chan order
	// stopped is closed after the plan's timeout without the coordinator.
	stopped chan struct{}

	// heard is when the last answered beat was sent, by this clock, and wall the same by the wall
	// clock in nanoseconds, which goes on while the machine is suspended.
	heard, wall atomic.Int64
	// givenUp means that the coordinator was silent for the plan's timeout, and then answered that
	// the work is to stop.
	givenUp atomic.Bool

	mu sync.Mutex
	status
	best   sample // of the clocks
	known  bool
	live   *measure.Live
	total  measure.Delta   // counts of all that live was taken of
	unsent []measure.Delta // not answered yet
	rounds bool            // the work is in rounds, and has come to the first
	// Nil before and after the work.
	file *history.Writer
	now  func() int64
	stop context.CancelFunc
}

var errOver = errors.New("the run is over")

func (p *agentRun) change(how func(p *agentRun)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	how(p)
}

func (p *agentRun) setState(state string) {
	p.change(func(p *agentRun) { p.State = state })
}

func (p *agentRun) fail(err error) {
	p.change(func(p *agentRun) { p.State, p.Problem = stateFailed, err.Error() })
}

// undelivered notes why the engine did not take the history. The delivery is retried.
func (p *agentRun) undelivered(err error) {
	p.change(func(p *agentRun) { p.Problem = err.Error() })
}

func (p *agentRun) deliveredNow(bytes int64) {
	p.change(func(p *agentRun) { p.Delivered, p.Problem = bytes, "" })
}

// offset is how far the coordinator's clock is ahead, in nanoseconds.
func (p *agentRun) offset() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.best.Offset
}

// record names the history that receives comparisons of clocks, and the function that stops the
// work when the coordinator says so or is gone.
func (p *agentRun) record(file *history.Writer, now func() int64, stop context.CancelFunc) {
	p.change(func(p *agentRun) {
		p.file, p.now, p.stop = file, now, stop
		if file != nil && p.known {
			p.keep(p.best) // in case there is no other
		}
	})
}

func (p *agentRun) beat(ctx context.Context) {
	p.hear(p.options.Clock(), time.Now())
	var listening sync.WaitGroup
	listening.Go(func() { p.listen(ctx) })
	defer listening.Wait()
	for {
		if o, err := p.exchange(ctx, p.figures()); err == nil {
			p.obey(o)
		}
		if !sleep(ctx, p.every()) {
			return
		}
	}
}

// listen stops the work after the plan's timeout without the coordinator. It sends no request
// itself, since a request can hang on a link that was cut.
func (p *agentRun) listen(ctx context.Context) {
	for p.silence() <= p.plan.Timeout {
		if !sleep(ctx, beatEvery) {
			return
		}
	}
	p.halt()
	close(p.stopped)
}

func (p *agentRun) every() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.State == stateReady || p.rounds && p.RoundEnded == p.RoundReady {
		return readyEvery
	}
	return beatEvery
}

// silence counts from the sending of the last answered beat: the coordinator has not heard of
// this agent later.
func (p *agentRun) silence() time.Duration {
	return time.Duration(p.options.Clock() - p.heard.Load())
}

// led reports whether neither clock has seen the coordinator silent for the plan's timeout. A wall
// clock that is set forward makes it false until the next answer.
func (p *agentRun) led() bool {
	return !p.givenUp.Load() && max(p.silence(), time.Duration(time.Now().UnixNano()-p.wall.Load())) <= p.plan.Timeout
}

func (p *agentRun) hear(sent int64, wall time.Time) {
	p.heard.Store(max(p.heard.Load(), sent))
	p.wall.Store(wall.UnixNano())
}

func (p *agentRun) figures() []measure.Delta {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.unsent) == 0 {
		p.takeFigures()
	}
	return p.unsent
}

// exchange sends one beat with these figures, and returns the answer.
func (p *agentRun) exchange(ctx context.Context, figures []measure.Delta) (order, error) {
	p.mu.Lock()
	b := beat{Share: p.share.Number, Agent: p.me.ID, status: p.status, Offset: p.best.Offset, OffsetError: p.best.Error, Figures: figures}
	p.mu.Unlock()
	wall := time.Now()
	b.Sent = p.options.Clock()
	o, err := request[beat, order](ctx, p.conn, subjectPrefix+p.plan.Run+verbBeat, b)
	if err != nil {
		return o, err
	}
	p.compare(compared(b.Sent, o.Received, o.Sent, p.options.Clock()))
	if o.stops() && !p.led() {
		p.givenUp.Store(true)
	}
	p.hear(b.Sent, wall)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unsent = p.unsent[len(figures):]
	return o, nil
}

// takeFigures takes what was counted since its last call. The caller holds p.mu.
func (p *agentRun) takeFigures() {
	if p.live == nil {
		return
	}
	d := p.live.Take()
	p.total.Outcomes, p.total.Attempts = p.total.Outcomes.Plus(d.Outcomes), p.total.Attempts+d.Attempts
	p.unsent = append(p.unsent, d)
}

// counted is the total, after the work has ended.
func (p *agentRun) counted() measure.Delta {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.takeFigures()
	p.live = nil
	return p.total
}

func (p *agentRun) compare(s sample) {
	p.mu.Lock()
	defer p.mu.Unlock()
	aged := p.best.Error + int64(maxDrift*float64(s.At-p.best.At))
	if !p.known || s.Error < aged {
		p.best, p.known = s, true
	}
	if p.file != nil {
		p.keep(s)
	}
}

// keep records a comparison of clocks. The caller holds p.mu.
func (p *agentRun) keep(s sample) {
	if e, err := clockEvent(p.now(), s); err == nil {
		_ = p.file.Mark(e) // a file that cannot be written ends the work
	}
}

func (p *agentRun) compareLast(ctx context.Context) {
	for range 3 {
		if _, err := p.exchange(ctx, nil); err != nil {
			return
		}
	}
}

func (p *agentRun) obey(o order) {
	if o.stops() {
		p.halt()
	}
	select {
	case <-p.order:
	default:
	}
	p.order <- o // only this goroutine sends
}

func (p *agentRun) halt() {
	p.mu.Lock()
	stop := p.stop
	p.mu.Unlock()
	if stop != nil {
		stop()
	}
}

// await waits for an order. It returns errOver if the run is over, errNoCoordinator if the
// coordinator is silent, or ctx's error.
func (p *agentRun) await(ctx context.Context, do string) (order, error) {
	for {
		select {
		case o := <-p.order:
			if o.Do == do {
				return o, nil
			}
			if o.Do == orderOver || o.Do == orderStop && do != orderOver {
				return o, errOver
			}
		case <-p.stopped:
			return order{}, errNoCoordinator
		case <-ctx.Done():
			return order{}, ctx.Err()
		}
	}
}
