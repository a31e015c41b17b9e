package measure

import (
	"math"

	"assay/history"
)

// MaxUnservedShare is the largest share of an open loop's arrivals that may never start.
const MaxUnservedShare = 0.01

// Waiting finds when an open loop's arrivals were due that never started. It takes all attempts of
// the working clients. It is not safe for concurrent use.
//
// A process begins its arrivals in the order in which they were due, so those that never started
// were due after the last that did. They are taken as evenly spread from then to the end of the
// measured part. With several processes, each has a part of them that follows from its number of
// clients, by which the rate is shared out, and from how long it began nothing.
type Waiting struct {
	scope     Scope
	processes []waitingProcess
}

type waitingProcess struct {
	clients int
	last    int64 // when its last arrival that started was due
}

// NewWaiting takes the number of clients of each process. The clients of a process follow one
// another in the history, and so do the processes.
func NewWaiting(scope Scope, clients []int) *Waiting {
	w := &Waiting{scope: scope}
	for _, n := range clients {
		w.processes = append(w.processes, waitingProcess{clients: n, last: scope.MeasureStart})
	}
	return w
}

// Add takes one attempt and does not keep op.
func (w *Waiting) Add(op *history.Op) {
	client := op.Client
	for i := range w.processes {
		if p := &w.processes[i]; client < p.clients {
			p.last = max(p.last, op.Due)
			return
		}
		client -= w.processes[i].clients
	}
}

// Unserved are arrivals that were due at about the same time, in nanoseconds since the start of the
// run, and never started.
type Unserved struct {
	Due, Count int64
}

// waitingSteps bounds the moments at which the arrivals of one process are taken to have been due.
const waitingSteps = 256

// Unserved spreads the arrivals that never started.
func (w *Waiting) Unserved(count int64) (all []Unserved) {
	total := 0.0
	for _, p := range w.processes {
		total += p.expected(w.scope.MeasureEnd)
	}
	if count <= 0 || total <= 0 {
		return nil
	}
	before, until := 0.0, int64(0)
	for _, p := range w.processes {
		from := until
		before += p.expected(w.scope.MeasureEnd)
		until = int64(math.Round(float64(count) * before / total))
		own, length := until-from, w.scope.MeasureEnd-p.last
		steps := min(own, waitingSteps)
		for k := range steps {
			n := (k+1)*own/steps - k*own/steps
			all = append(all, Unserved{Due: p.last + length*(2*k+1)/(2*steps), Count: n})
		}
	}
	return all
}

func (p waitingProcess) expected(end int64) float64 {
	return float64(p.clients) * float64(max(end-p.last, 0))
}

// unserved gathers how long arrivals that never started had waited when the measured part ended.
type unserved struct {
	waits *distribution // nil for none
}

func (u *unserved) add(wait, count int64) {
	if u.waits == nil {
		u.waits = newDistribution(fine)
	}
	u.waits.recordTimes(wait, count)
}

// Arrivals are the response times of an open loop with the arrivals that never started.
type Arrivals struct {
	// Unserved counts the arrivals that never started, of Total.
	Unserved, Total int64
	// least takes their waits until the end of the measured part as their response times, most
	// takes each as longer than any.
	least, most Latency
}

// arrivals joins them with the committed operations; total counts all operations.
func (u *unserved) arrivals(committed *distribution, total int64) (a Arrivals) {
	if u.waits == nil {
		return a
	}
	a.Unserved = u.waits.count()
	a.Total = total + a.Unserved
	all := newDistribution(fine)
	all.merge(committed)
	all.merge(u.waits)
	a.least, a.most = all.latency(), committed.withEndless(a.Unserved)
	return a
}

// few reports whether so few arrivals never started that the clients may just have been busy when
// the measured part ended. The operations that kept them busy are measured to their ends.
func (a *Arrivals) few() bool {
	return float64(a.Unserved) <= MaxUnservedShare*float64(a.Total)
}

// withEndless adds times that are longer than any.
func (d *distribution) withEndless(count int64) Latency {
	all := d.count() + count
	at := func(q float64) float64 {
		rank := int64(math.Ceil(q * float64(all) * (1 - 1e-14)))
		if rank > d.count() {
			return math.Inf(1)
		}
		return millis(d.atRank(rank))
	}
	endless := math.Inf(1)
	return Latency{Count: all, Mean: endless, P50: at(0.50), P95: at(0.95), P99: at(0.99), P999: at(0.999), Max: endless}
}
