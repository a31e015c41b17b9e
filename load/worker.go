package load

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"assay/history"
	"assay/internal/eventloop"
)

type worker struct {
	*engine
	id       int
	client   Client
	random   *rand.Rand
	seq      uint64
	reserved uint64
	rest     time.Duration // after the last operation
	lost     int           // operations in a row that ended without a connection
	limit    *attemptLimit // nil if the plan has none
	thinker  Thinker       // the client, if it pauses; nil if not
	leave    func()        // before what may block; see eventloop.Leave
	op       history.Op    // the operation under way
	answer   Answer        // to its last attempt; not on the stack, which each client has for itself
}

// run works until the run is stopped. No outcome of an operation ends it.
func (w *worker) run(ctx context.Context) {
	w.leave = func() { eventloop.Leave(ctx) }
	defer func() {
		w.leave()
		w.client.Close()
	}()
	w.random = rand.New(rand.NewPCG(w.plan.Seed, uint64(w.id)))
	if w.dispatcher == nil {
		w.thinker, _ = w.client.(Thinker)
	}
	if w.plan.Timeout > 0 {
		w.limit = newAttemptLimit(ctx, w.plan.Timeout, w.now())
		defer w.limit.close()
	}
	if w.plan.Ramp > 0 && !w.sleepUntil(int64(float64(w.id)/w.plan.Ramp*float64(time.Second))) {
		return
	}
	for w.think() {
		next, ok, err := w.next()
		if ok && err == nil {
			err = w.operation(ctx, next)
		}
		if err != nil {
			w.abort(err)
		}
		if !ok || err != nil {
			return
		}
		w.seq++
		if w.rest > 0 {
			w.sleep(w.rest)
		}
		if w.lost > 0 {
			w.sleep(pause(w.random, w.lost, 10*time.Millisecond, 500*time.Millisecond))
		}
	}
}

func (w *worker) think() bool {
	if w.thinker == nil {
		return true
	}
	return w.sleep(w.thinker.Think(w.seq))
}

// next waits for the next operation and reserves its number; false if there is none. The error is
// the recorder's.
func (w *worker) next() (a arrival, ok bool, err error) {
	if w.stopped() {
		return arrival{}, false, nil
	}
	if w.dispatcher != nil {
		if a, ok = w.dispatcher.next(); ok {
			err = w.reserve()
		}
		return a, ok, err
	}
	now := w.now()
	if w.seq == w.reserved {
		free := now
		if err := w.reserve(); err != nil {
			return arrival{}, false, err
		}
		now = w.now()
		a.own = now - free // nothing else that the client waits for takes time here
	}
	if w.plan.Ops > 0 && w.measured(now) && w.taken.Add(1) > w.plan.Ops {
		return arrival{}, false, nil
	}
	a.due, a.handed = now, now
	return a, true, nil
}

func (w *worker) reserve() error {
	if w.seq < w.reserved {
		return nil
	}
	w.leave()
	w.reserved = w.seq + reserveStep
	return w.rec.Reserve(history.Reservation{Client: w.id, UpTo: w.reserved})
}

func (w *worker) operation(ctx context.Context, a arrival) error {
	op, answer := &w.op, &w.answer
	*op = history.Op{}
	op.Client, op.Seq, op.Due, op.First = w.id, w.seq, a.due, a.due
	if w.dispatcher != nil { // in a closed loop the first attempt is never late
		op.First = w.now()
	}
	if w.measured(a.due) {
		w.lags.add(w.id, op.First-a.due, a.own+op.First-max(a.due, a.handed))
	}
	op.Start = op.First
	for op.Attempt = 1; ; op.Attempt++ {
		if w.attempt(ctx); answer.Unmade && !w.made(ctx) {
			if w.dispatcher != nil {
				w.dispatcher.giveBack(a)
			}
			return nil // it was never begun
		}
		op.End = w.now()
		op.Kind, op.Values, op.Error, op.Outcome = answer.Kind, answer.Values, answer.Class, answer.Outcome
		op.Final = final(op, answer)
		op.Last = answer.Done || !w.repeats(op)
		w.keepFirst(op, answer.Said)
		if op.Last && w.plan.Ops > 0 {
			w.noteEnd(op.End)
		}
		if err := cmp.Or(w.rec.Record(op), answer.Err); err != nil || op.Last {
			w.countLost(answer.Disconnected)
			w.rest = answer.Rest
			return err
		}
		first, limitPause := time.Millisecond, 100*time.Millisecond
		if answer.Disconnected {
			first, limitPause = 10*time.Millisecond, time.Second
		}
		w.sleep(pause(w.random, op.Attempt, first, limitPause))
		op.Start = w.now()
	}
}

func (w *worker) keepFirst(op *history.Op, said error) {
	if op.Error == "" || said == nil {
		return
	}
	if _, known := w.said.LoadOrStore(op.Error, true); known {
		return
	}
	first := history.FirstError{Class: op.Error, Text: said.Error()}
	_ = w.rec.Mark(first.Event(op.End)) // a failure stays with the recorder
}

// attempt does w.op's attempt within its time limit, and sets w.answer. Without a time limit, an
// attempt that the run's end cancelled may yet take effect, whatever the client answers. It is then
// unknown, of class history.ClassHung.
func (w *worker) attempt(ctx context.Context) {
	answer := &w.answer
	if w.limit != nil {
		*answer = w.client.Attempt(w.limit.begin(w.op.Start), w.seq, w.op.Attempt)
		w.limit.end()
		return
	}
	*answer = w.client.Attempt(ctx, w.seq, w.op.Attempt)
	answered := answer.Outcome == history.Committed || answer.Outcome == history.Rejected || answer.Done
	if ctx.Err() != nil && !answered {
		answer.Outcome, answer.Class = history.Unknown, history.ClassHung
	}
}

// unmadePause is the time after which an attempt that was not made is tried again.
const unmadePause = 10 * time.Millisecond

// made tries again until the attempt is made. It returns false if the run is stopped before the
// operation began. If an earlier attempt was made, the last counts as failed. If nothing else would
// end the run, it ends the run after a grace.
func (w *worker) made(ctx context.Context) bool {
	since := w.now()
	for w.answer.Unmade {
		if waited := w.now() - since; measureEnd(w.plan) == math.MaxInt64 && waited > int64(w.graces.unmade) {
			w.giveUp(fmt.Sprintf("no operation could be attempted for %v: %s", time.Duration(waited).Round(time.Second), w.answer.Class))
		}
		if !w.sleep(unmadePause) {
			w.answer.Kind = w.op.Kind
			return w.op.Attempt > 1
		}
		w.op.Start = w.now()
		if w.op.Attempt == 1 {
			w.op.First = w.op.Start
		}
		w.attempt(ctx)
	}
	return true
}

// final is the operation's outcome up to and including this attempt.
func final(op *history.Op, answer *Answer) history.Outcome {
	switch {
	case answer.Done && answer.Confirmed:
		return history.Committed
	case op.Attempt == 1:
		return answer.Outcome
	default:
		return op.Final.Then(answer.Outcome)
	}
}

func (w *worker) repeats(op *history.Op) bool {
	if w.plan.MaxAttempts > 0 && op.Attempt >= w.plan.MaxAttempts || w.stopped() {
		return false
	}
	switch w.plan.Retry {
	case RetryFailed:
		return op.Outcome == history.Failed && op.Final == history.Failed
	case RetryIdempotent:
		return op.Final == history.Failed || op.Final == history.Unknown
	case RetryBlind:
		return op.Outcome == history.Failed || op.Outcome == history.Unknown
	default:
		return false
	}
}

// sleep leaves the client's loop first.
func (w *worker) sleep(d time.Duration) bool {
	w.leave()
	return w.engine.sleep(d)
}

func (w *worker) countLost(disconnected bool) {
	if disconnected {
		w.lost++
	} else {
		w.lost = 0
	}
}

func (w *worker) noteEnd(end int64) {
	for {
		last := w.lastEnd.Load()
		if end <= last || w.lastEnd.CompareAndSwap(last, end) {
			return
		}
	}
}

// pause is a random time below first*2^(n-1), at most limit: exponential backoff with full jitter
// (M. Brooker, "Exponential Backoff And Jitter", 2015), so that clients do not collide again.
func pause(random *rand.Rand, n int, first, limit time.Duration) time.Duration {
	top := limit
	if n-1 < 20 {
		top = min(first<<(n-1), limit)
	}
	return time.Duration(random.Int64N(int64(top)) + 1)
}
