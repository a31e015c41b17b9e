package load

import (
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxEarly bounds how long before an arrival its client wakes and watches the clock.
	maxEarly = 100 * time.Microsecond
	// spinShare bounds the clock watching of all clients, as a share of one processor, which an
	// embedded database may need.
	spinShare = 0.05
	// lateShare of the sleeps may end later than expected. earlyStep is by how much a sleep
	// adjusts the expectation.
	lateShare = 0.05
	earlyStep = 2 * time.Microsecond
)

// dispatcher hands each arrival of an open loop to an idle client, in due order. The clients queue
// for the turn to wait for the next arrival. The waiting client works on the arrival itself, so
// that no other goroutine must wake: it sleeps until shortly before, passes the turn on, and
// watches the clock for the rest. There is no queue of arrivals: while no client is idle, arrivals
// stay, and keep their due time. It is safe for concurrent use.
type dispatcher struct {
	now      func() int64
	alarm    alarm
	turn     chan struct{} // holds one value while nobody waits
	quit     chan struct{}
	quitOnce sync.Once

	// Used by the client whose turn it is.
	arrivals *arrivals
	early    float64 // nanoseconds before due to wake at
	behind   int64   // own lateness that the backlog may come from

	spun atomic.Int64 // nanoseconds that all clients have watched the clock

	mu        sync.Mutex
	idle      int     // clients that wait here
	idleSince int64   // since when some client is idle
	unbegun   []int64 // due times of arrivals that were taken and never begun, at most one a client
}

type arrival struct {
	due    int64
	handed int64 // when it was given to its client, at most maxEarly before due
	// own is the tester's own part of the lateness at that time: how long a client was idle after
	// due. If larger, it is the own part of an earlier arrival in the same backlog: operations
	// queued behind a delay are delayed by no more than that (D. Lindley, The theory of queues
	// with a single server, 1952). It is an upper bound.
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

// next waits until the next operation is due. It returns false after the last, or after stop.
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
	if ok && d.stopped() {
		d.giveBack(a)
		ok = false
	}
	return a, ok
}

// giveBack takes an arrival that its client could not begin before the run ended.
func (d *dispatcher) giveBack(a arrival) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.unbegun = append(d.unbegun, a.due)
}

func (d *dispatcher) enter() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.idle++; d.idle == 1 {
		d.idleSince = d.now()
	}
}

// leave counts a client that stops being idle, and returns since when some client has been idle.
func (d *dispatcher) leave() (since int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.idle--
	return d.idleSince
}

func (d *dispatcher) ownLateness(a arrival, idleSince int64) int64 {
	late := max(a.handed-a.due, 0)
	d.behind = min(max(a.handed-max(a.due, idleSince), d.behind), late)
	return d.behind
}

// stop ends all waits. No arrival is handed out afterwards.
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

// unserved takes the remaining arrivals and counts those due in [from, to) with those that were
// given back. Hung clients may come back meanwhile.
func (d *dispatcher) unserved(from, to int64) int64 {
	<-d.turn
	defer func() { d.turn <- struct{}{} }()
	n := d.arrivals.countBetween(from, to)
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, due := range d.unbegun {
		if due >= from && due < to {
			n++
		}
	}
	return n
}

// sleepUntil sleeps until shortly before the moment. It returns false after stop.
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

func (d *dispatcher) watchUntil(due int64) {
	began := d.now()
	now := began
	for now < due {
		now = d.now()
	}
	d.spun.Add(now - began)
}

// learn moves early toward the lateness that only lateShare of the sleeps exceed: a quantile by
// stochastic approximation (H. Robbins, S. Monro, 1951).
func (d *dispatcher) learn(late int64) {
	if float64(late) > d.early {
		d.early = min(d.early+(1-lateShare)*float64(earlyStep), float64(maxEarly))
	} else {
		d.early = max(d.early-lateShare*float64(earlyStep), 0)
	}
}
