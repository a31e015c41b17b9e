package load

import (
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxEarly bounds how long before an arrival its client is woken, and so
	// how long it watches the clock before it starts.
	maxEarly = 100 * time.Microsecond
	// spinShare bounds the time that clients watch the clock, as a share of one
	// processor's time: a database inside the process needs it more.
	spinShare = 0.05
	// lateShare of the sleeps end later than was reckoned with, and earlyStep is
	// how far one sleep moves the reckoning.
	lateShare = 0.05
	earlyStep = 2 * time.Microsecond
)

// dispatcher hands the arrivals of an open loop to the clients that are idle,
// each to one, in the order in which they are due. The clients queue for the
// turn to wait for the next arrival, and the one that waits is the one that
// works on it, so that no other goroutine has to be woken when it is due: it
// sleeps until shortly before, gives the turn to the next client, which takes
// its time, and watches the clock for the rest. There is no queue of arrivals: those that nobody is free for are taken later, at
// the time at which they were due. It is safe for concurrent use.
type dispatcher struct {
	now      func() int64
	alarm    alarm
	turn     chan struct{} // holds one value while nobody waits
	quit     chan struct{}
	quitOnce sync.Once

	// Of the client whose turn it is.
	arrivals *arrivals
	early    float64 // nanoseconds before due to wake at
	behind   int64   // the own lateness that the backlog may come from

	spun atomic.Int64 // nanoseconds that all clients have watched the clock

	mu        sync.Mutex
	idle      int   // clients that wait here
	idleSince int64 // since when there is one
}

// arrival is an operation to be done.
type arrival struct {
	due    int64
	handed int64 // when it was given to its client, at most maxEarly before due
	// own is how late it was then by the tester's fault: since it was due a
	// client was idle for so long, or for so long before an arrival that stands
	// in one backlog with this one. The latter is an upper bound: a delay of one
	// operation delays those that queue behind it by no more than that
	// (D. Lindley, The theory of queues with a single server, 1952).
	own int64
}

func newDispatcher(p Plan, now func() int64) *dispatcher {
	d := &dispatcher{
		now: now, alarm: newAlarm(), turn: make(chan struct{}, 1), quit: make(chan struct{}),
		arrivals: newArrivals(p), early: float64(maxEarly / 2),
	}
	d.turn <- struct{}{}
	return d
}

// next waits until the next operation is due and returns it. It returns false
// when there is none any more, or after stop.
func (d *dispatcher) next() (a arrival, ok bool) {
	d.enter()
	select {
	case <-d.turn:
	case <-d.quit:
		d.leave()
		return arrival{}, false
	}
	if a.due, ok = d.arrivals.due(); ok {
		ok = d.sleepUntil(a.due)
	}
	idleSince := d.leave()
	if ok {
		d.arrivals.take()
		a.handed = d.now()
		a.own = d.ownLateness(a, idleSince)
	}
	d.turn <- struct{}{}
	if ok {
		d.watchUntil(a.due)
	}
	return a, ok && !d.stopped()
}

// enter counts a client that has become idle.
func (d *dispatcher) enter() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.idle++; d.idle == 1 {
		d.idleSince = d.now()
	}
}

// leave counts one that is idle no longer, and returns since when there has
// always been one.
func (d *dispatcher) leave() (since int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.idle--
	return d.idleSince
}

// ownLateness is arrival.own of an arrival that is being handed out.
func (d *dispatcher) ownLateness(a arrival, idleSince int64) int64 {
	late := max(a.handed-a.due, 0)
	d.behind = min(max(a.handed-max(a.due, idleSince), d.behind), late)
	return d.behind
}

// stop ends all waits, and no arrival is handed out any more.
func (d *dispatcher) stop() {
	d.quitOnce.Do(func() { close(d.quit) })
	d.alarm.wake()
}

func (d *dispatcher) stopped() bool {
	select {
	case <-d.quit:
		return true
	default:
		return false
	}
}

// unserved takes the arrivals that nobody has taken and returns how many of
// them were due in [from, to). Hung clients may come back meanwhile.
func (d *dispatcher) unserved(from, to int64) int64 {
	<-d.turn
	defer func() { d.turn <- struct{}{} }()
	return d.arrivals.countBetween(from, to)
}

// sleepUntil sleeps until shortly before the moment. It returns false after
// stop.
func (d *dispatcher) sleepUntil(due int64) bool {
	for {
		now := d.now()
		early := int64(d.early)
		if float64(d.spun.Load()) > spinShare*float64(now) {
			early = 0
		}
		if d.stopped() || due-now <= early {
			return !d.stopped()
		}
		d.behind = 0 // the schedule is kept
		d.alarm.sleep(time.Duration(due - now - early))
		d.learn(d.now() - (due - early))
	}
}

// watchUntil watches the clock until the moment, at most maxEarly long.
func (d *dispatcher) watchUntil(due int64) {
	began := d.now()
	now := began
	for now < due {
		now = d.now()
	}
	d.spun.Add(now - began)
}

// learn moves early toward the time that all sleeps but lateShare of them end
// late by: a quantile by stochastic approximation (H. Robbins, S. Monro, 1951).
func (d *dispatcher) learn(late int64) {
	if float64(late) > d.early {
		d.early = min(d.early+(1-lateShare)*float64(earlyStep), float64(maxEarly))
	} else {
		d.early = max(d.early-lateShare*float64(earlyStep), 0)
	}
}
