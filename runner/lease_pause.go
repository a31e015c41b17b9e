package runner

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"assay/history"
	"assay/load"
)

// pauses counts how often this process did not run for longer than a lease lasts:
// it was stopped, or the machine was suspended. Meanwhile another run may have
// taken the database over, and what clients send before that is known would
// change the other run's data. The zero value is ready. It is safe for concurrent
// use.
type pauses struct {
	// last is when the process was last known to run, by the wall clock, which
	// goes on while a machine is suspended; in nanoseconds.
	last atomic.Int64
	// seen counts the pauses; settled is up to which of them the lease was renewed
	// afterwards.
	seen, settled atomic.Int64
	// asking is held by the one client that asks on behalf of all.
	asking sync.Mutex
}

// lookInterval is how old last may be before it is written again. All clients look
// before every attempt, and would contend for the value if each wrote it; a pause
// is taken for longer than it was by up to as much.
const lookInterval = 100 * time.Millisecond

// look notes that the process runs now, and returns how many pauses there were.
func (p *pauses) look(now time.Time) int64 {
	at := now.UnixNano()
	if age := time.Duration(at - p.last.Load()); age >= 0 && age <= lookInterval {
		return p.seen.Load()
	}
	if last := p.last.Swap(at); last != 0 && time.Duration(at-last) > leaseTTL {
		p.seen.Add(1)
	}
	return p.seen.Load()
}

// settle says that the lease was renewed after so many pauses.
func (p *pauses) settle(count int64) { p.settled.Store(count) }

// doubtful reports whether the lease may have been lost in a pause.
func (p *pauses) doubtful() bool { return p.seen.Load() != p.settled.Load() }

// stillHeld reports whether the lease can be relied on. After a pause it is
// renewed first. A nil lease, of a database that nobody else can reach, is.
func (l *lease) stillHeld(ctx context.Context) bool {
	if l == nil {
		return true
	}
	if l.pauses.look(time.Now()); !l.pauses.doubtful() {
		return true
	}
	l.pauses.asking.Lock()
	defer l.pauses.asking.Unlock()
	for l.pauses.doubtful() {
		if err := l.renew(ctx); err != nil {
			return false
		}
	}
	return true
}

// errorPaused is the class of attempts that were not made since the process had
// not run for longer than its lease lasts.
const errorPaused = "paused for longer than the lease"

// leased is a client that sends nothing while it is doubtful whether the run still
// holds its lease.
type leased struct {
	load.Client
	lease *lease
}

// Attempt implements load.Client.
func (c leased) Attempt(ctx context.Context, seq uint64, attempt int) load.Answer {
	if !c.lease.stillHeld(ctx) {
		return load.Answer{Outcome: history.Failed, Disconnected: true, Class: errorPaused}
	}
	return c.Client.Attempt(ctx, seq, attempt)
}

// leasedThinker is one whose client pauses between operations.
type leasedThinker struct {
	leased
	load.Thinker
}

// guard returns the client as one that sends nothing while its lease is in doubt.
func guard(client load.Client, held *lease) load.Client {
	if thinker, pauses := client.(load.Thinker); pauses {
		return leasedThinker{leased{client, held}, thinker}
	}
	return leased{client, held}
}
