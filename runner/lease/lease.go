// Package lease has the lease that a run holds on its schema: it is taken, renewed while the run
// goes on, found lost, and released. Clients that it guards send nothing while it is doubtful.
//
// It must not know what a run does.
package lease

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"assay/history"
	"assay/internal/wait"
	"assay/load"
	"assay/store"
)

// How long a lease lasts, how often it is renewed, and how long one request for it
// may take at most.
const (
	TTL          = 15 * time.Second
	leaseRenewal = 5 * time.Second
	leaseAttempt = 10 * time.Second
	// pauseLimit is how long a process may stand still and yet be sure of a lease that
	// it had renewed as it should.
	pauseLimit = TTL - leaseRenewal
)

// Lease is what a run holds on its schema. The methods of a nil lease do nothing.
type Lease struct {
	store  store.Administration
	Holder store.Holder
	Terms  Terms
	// found is true of a lease that is another process's, or nobody's, on a database that
	// takes no writes: it is read, and neither renewed nor released.
	found bool

	mu   sync.Mutex
	lost error
	// refused is why the lease was read and not renewed when it was asked for last.
	refused error
	// unmarked is true if the run's mark was gone when it was looked for, and what is left is the
	// run's all the same.
	unmarked bool
	Stop     func()

	pauses pauses
}

// NewHolder says that this process holds a lease for a run.
func NewHolder(run string) store.Holder {
	host, _ := os.Hostname() // for people; a machine without a name has none
	h := store.Holder{Token: uuid.NewString(), Run: run, Host: host, Machine: Machine(), PID: os.Getpid()}
	h.Started, _ = processStart(h.PID)
	return h
}

// Terms are on what terms a lease is taken.
type Terms struct {
	// Shared is true of a lease that is shared with agents. It holds until it expires, since they
	// still work for a moment when this process has ended.
	Shared bool
	// Alone is true on servers that this process has started: nobody else takes a lease
	// there, and what is gone from them was lost by them.
	Alone bool
	// Limit is how long one request may take; 0 for the default, which is the most.
	Limit time.Duration
	// Note tells the user something.
	Note func(text string)
}

// New is a lease of this process's for a run.
func New(db store.Administration, run string, on Terms) *Lease {
	l := &Lease{store: db, Holder: NewHolder(run), Terms: on}
	if on.Limit == 0 || on.Limit > leaseAttempt {
		l.Terms.Limit = leaseAttempt
	}
	return l
}

// attempt makes one request of the database for the lease, and does not rely on
// the driver to return when its time is over.
func (l *Lease) attempt(ctx context.Context, request func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, l.Terms.Limit)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- request(ctx) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	if err, over := wait.Ended(done, time.Second); over {
		return err
	}
	return ctx.Err()
}

// ended reports whether the holder is certainly a process of this machine that
// has ended.
func ended(h store.Holder) bool {
	if h.Machine == "" || h.Machine != Machine() || h.Started == "" {
		return false
	}
	start, gone := processStart(h.PID)
	return gone || start != "" && start != h.Started
}

// Take takes the lease on the schema for a run. One that a run left which was
// killed on this machine is taken over, with a word; while another run lives, or
// may, there is *store.HeldError.
func Take(ctx context.Context, db store.Administration, run string, on Terms) (*Lease, error) {
	l := New(db, run, on)
	if on.Shared {
		l.Holder.Started = ""
	}
	left, err := db.Lease(ctx)
	if err != nil {
		return nil, err
	}
	gone := ""
	if left != nil && ended(left.Holder) {
		gone = left.Token
	}
	if err := db.TakeLease(ctx, l.Holder, TTL, gone); err != nil {
		return nil, err
	}
	switch {
	case gone != "":
		on.Note(fmt.Sprintf("run %s held the database in process %d, which is gone; its lease is taken over", left.Run, left.PID))
	case left != nil:
		on.Note(fmt.Sprintf("run %s (host %s, process %d) has let its lease on the database expire; it is taken over", left.Run, left.Host, left.PID))
	}
	return l, nil
}

// Keep renews the lease in the background, also while the database is away, until
// release is called. The context that it returns ends when another run is found
// to have taken the lease.
func (l *Lease) Keep(ctx context.Context) context.Context {
	if l.found {
		return ctx
	}
	working, overtaken := context.WithCancelCause(ctx)
	renewing, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go l.watchPauses(renewing)
	go func() {
		defer close(done)
		tick := time.NewTicker(leaseRenewal)
		defer tick.Stop()
		missing := false
		for {
			select {
			case <-renewing.Done():
				return
			case <-tick.C:
			}
			// While a schema is made anew neither may be there for a moment.
			before := missing
			if missing = isMissing(l.renew(renewing)); missing && before {
				_ = l.Confirm(renewing) // what is not lost is asked for once more
			}
			if l.IsLost() != nil {
				overtaken(l.IsLost())
				return
			}
		}
	}()
	l.Stop = func() {
		cancel()
		<-done
		overtaken(nil)
	}
	return working
}

// watchPauses notes until ctx ends that the process runs, whatever its clients and the
// database do.
func (l *Lease) watchPauses(ctx context.Context) {
	tick := time.NewTicker(pauseLimit / 10)
	defer tick.Stop()
	for ctx.Err() == nil {
		l.pauses.look(time.Now())
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// isMissing says whether the lease is not there.
func isMissing(err error) bool {
	missing := (*store.NoSchemaError)(nil)
	return errors.As(err, &missing)
}

// renew moves the expiry on. An error is no reason to give up: the lease stays
// ours until another run takes it, which is remembered.
func (l *Lease) renew(ctx context.Context) error {
	before := l.pauses.look(time.Now())
	err := l.attempt(ctx, func(ctx context.Context) error { return l.store.RenewLease(ctx, l.Holder.Token, TTL) })
	if l.pauses.look(time.Now()); err == nil {
		l.pauses.settle(before)
	}
	var held *store.HeldError
	if errors.As(err, &held) {
		l.Lose(err)
	}
	return err
}

func (l *Lease) Lose(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost == nil {
		l.lost = err
	}
}

// IsLost says who has taken the lease, nil if nobody is known to have.
func (l *Lease) IsLost() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost
}

// Release ends the lease. A database that cannot be told lets it expire.
func (l *Lease) Release(ctx context.Context) {
	if l == nil || l.found {
		return
	}
	if l.Stop != nil {
		l.Stop()
	}
	err := l.attempt(context.WithoutCancel(ctx), func(ctx context.Context) error { return l.store.ReleaseLease(ctx, l.Holder.Token) })
	if err != nil {
		l.Terms.Note(fmt.Sprintf("the lease on the database could not be released (%v); it expires in %v", err, TTL))
	}
}

// Confirm returns nil if the database holds what this run made, under its own
// lease. Else it gives *store.HeldError, *GoneError, *ReplacedError, or why that could
// not be told.
func (l *Lease) Confirm(ctx context.Context) error {
	if err := l.IsLost(); err != nil {
		return err
	}
	err := l.held(ctx)
	if lost := l.IsLost(); lost != nil {
		return lost
	}
	missing := isMissing(err)
	if err != nil && !missing {
		return fmt.Errorf("ask who holds the database: %w", err)
	}
	err = l.attempt(ctx, func(ctx context.Context) error { return HoldsRun(ctx, l.store, l.Holder.Run) })
	// A lease that is gone went with the schema, of which the mark tells more.
	replaced, foreign := (*ReplacedError)(nil), (*store.ForeignError)(nil)
	switch {
	// Whoever makes the schema anew removes the lease with the mark, and nobody else does so on
	// servers of ours.
	case errors.As(err, &foreign) && len(foreign.Others) == 0 && (l.Terms.Alone || !missing):
		l.unmarked, err = true, nil
	case l.Terms.Alone:
	case errors.As(err, &replaced) && replaced.By != "":
		l.Lose(err)
	case err == nil && missing:
		l.Lose(&GoneError{Run: l.Holder.Run})
		err = l.IsLost()
	}
	return err
}

// GoneError means that nobody holds the lease which a run had taken, though the run's
// mark is there: another run took it over when it had expired, and has ended since.
type GoneError struct{ Run string }

func (e *GoneError) Error() string {
	return fmt.Sprintf("the lease of run %s is gone; another run took it over when it had expired, which it does of a process that is stopped for longer than %v, "+
		"and has ended since: what it did meanwhile is not known; run it again", e.Run, TTL)
}

// pauses counts how often this process did not run for so long that its lease may have
// expired: it was stopped, or the machine was suspended. Meanwhile another run may have
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
	if last := p.last.Swap(at); last != 0 && time.Duration(at-last) > pauseLimit {
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
func (l *Lease) stillHeld(ctx context.Context) bool {
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
	lease *Lease
}

// Attempt implements load.Client.
func (c *leased) Attempt(ctx context.Context, seq uint64, attempt int) load.Answer {
	if !c.lease.stillHeld(ctx) {
		return load.Answer{Outcome: history.Failed, Disconnected: true, Class: errorPaused}
	}
	return c.Client.Attempt(ctx, seq, attempt)
}

// leasedThinker is one whose client pauses between operations.
type leasedThinker struct {
	*leased
	load.Thinker
}

// Guard returns the client as one that sends nothing while its lease is in doubt, if there
// is a lease.
func Guard(client load.Client, held *Lease) load.Client {
	if held == nil {
		return client
	}
	guarded := &leased{client, held}
	if thinker, pauses := client.(load.Thinker); pauses {
		return leasedThinker{guarded, thinker}
	}
	return guarded
}
