// Package lease holds a run's lease on its schema: it takes, renews and releases the lease, and
// notices its loss. Guarded clients send nothing while the lease is in doubt.
//
// It must not know what a run does.
package lease

import (
	"cmp"
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

const (
	TTL          = 15 * time.Second
	leaseRenewal = 5 * time.Second
	leaseAttempt = 10 * time.Second
	// pauseLimit is the longest pause of a process after which a duly renewed lease is
	// certainly still its own.
	pauseLimit = TTL - leaseRenewal
)

// Lease is a run's lease on its schema. The methods of a nil lease do nothing.
type Lease struct {
	store  store.Administration
	Holder store.Holder
	Terms  Terms
	// found marks another process's lease, or none, on a database that takes no writes. Such
	// a lease is read, and neither renewed nor released.
	found bool

	mu   sync.Mutex
	lost error
	seen seen // by Confirm

	Stop func()

	// Led reports whether the process that leads the run certainly counts on this one; nil for a
	// process that leads itself. Set it before the clients work.
	Led func() bool

	pauses pauses
}

// NewHolder names this process as a run's holder of a lease.
func NewHolder(run string) store.Holder {
	host, _ := os.Hostname() // for people; a machine without a name has none
	h := store.Holder{Token: uuid.NewString(), Run: run, Host: host, Machine: Machine(), PID: os.Getpid()}
	h.Started, _ = processStart(h.PID)
	return h
}

// Terms are the terms of a lease.
type Terms struct {
	// Shared is for a lease shared with agents. Takers wait until it expires, since agents
	// work for a moment longer than this process.
	Shared bool
	// Alone is for servers that this process has started: no other process takes a lease
	// there, and the servers themselves lost whatever is gone.
	Alone bool
	// Limit bounds one request; 0 for the default, which is the maximum.
	Limit time.Duration
	Note  func(text string)
}

// New is this process's lease for a run. It asks nothing of the database.
func New(db store.Administration, run string, on Terms) *Lease {
	l := &Lease{store: db, Holder: NewHolder(run), Terms: on}
	if on.Limit == 0 || on.Limit > leaseAttempt {
		l.Terms.Limit = leaseAttempt
	}
	return l
}

// attempt makes one request for the lease. It returns in time even if the driver does not.
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

// ended reports whether the holder was certainly a process of this machine that has ended.
func ended(h store.Holder) bool {
	if h.Machine == "" || h.Machine != Machine() || h.Started == "" {
		return false
	}
	start, gone := processStart(h.PID)
	return gone || start != "" && start != h.Started
}

// Take takes the lease for a run. It takes over, with a note, the lease of a run that was
// killed on this machine. While another run lives or may live, it returns *store.HeldError.
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

// Keep renews the lease in the background, also while the database is away, until Release. The
// returned context ends when another run is found to have taken the lease.
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
			// While a schema is made anew, lease and mark may both be missing for a moment.
			before := missing
			if missing = isMissing(l.renew(renewing)); missing && before {
				_, _ = l.confirm(renewing) // a lease that is not lost is asked for again
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

func isMissing(err error) bool {
	missing := (*store.NoSchemaError)(nil)
	return errors.As(err, &missing)
}

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

// IsLost says who has taken the lease; nil if it is not known to be taken.
func (l *Lease) IsLost() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost
}

// Release ends the lease. If the database cannot be told, the lease expires.
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

// Confirm returns nil if the database holds this run's data under its lease. Otherwise it
// returns *store.HeldError, *GoneError, *ReplacedError, or why it cannot tell.
func (l *Lease) Confirm(ctx context.Context) error {
	found, err := l.confirm(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen.refused, l.seen.unmarked = cmp.Or(l.seen.refused, found.refused), l.seen.unmarked || found.unmarked
	return err
}

// seen is what a look at the database found. What Keep finds on the way is not kept: the schema may
// just be made anew.
type seen struct {
	// refused is why the lease was read and not renewed; nil if it was renewed.
	refused error
	// unmarked means that the run's mark is gone and the remaining data is still the run's.
	unmarked bool
}

func (l *Lease) confirm(ctx context.Context) (found seen, err error) {
	if err := l.IsLost(); err != nil {
		return found, err
	}
	found.refused, err = l.held(ctx)
	if lost := l.IsLost(); lost != nil {
		return found, lost
	}
	missing := isMissing(err)
	if err != nil && !missing {
		return found, fmt.Errorf("ask who holds the database: %w", err)
	}
	err = l.attempt(ctx, func(ctx context.Context) error { return HoldsRun(ctx, l.store, l.Holder.Run) })
	// A missing lease went with the schema. The mark tells more.
	replaced, foreign := (*ReplacedError)(nil), (*store.ForeignError)(nil)
	switch {
	// Making the schema anew removes the lease and the mark. On our own servers no other
	// process does so.
	case errors.As(err, &foreign) && len(foreign.Others) == 0 && (l.Terms.Alone || !missing):
		found.unmarked, err = true, nil
	case l.Terms.Alone:
	case errors.As(err, &replaced) && replaced.By != "":
		l.Lose(err)
	case err == nil && missing:
		l.Lose(&GoneError{Run: l.Holder.Run})
		err = l.IsLost()
	}
	return found, err
}

// GoneError means that the run's mark is there, but no lease: another run took the lease when
// it had expired, and has ended since.
type GoneError struct{ Run string }

func (e *GoneError) Error() string {
	return fmt.Sprintf("the lease of run %s is gone; another run took it over when it had expired, which it does of a process that is stopped for longer than %v, "+
		"and has ended since: what it did meanwhile is not known; run it again", e.Run, TTL)
}

// pauses counts how often this process stood still for so long that its lease may have expired:
// it was stopped, or the machine suspended. Another run may have taken the database over, and
// whatever clients send before they know would change that run's data. The zero value is ready.
// It is safe for concurrent use.
type pauses struct {
	// last is when the process was last seen to run, in nanoseconds of the wall clock, which
	// goes on while a machine is suspended.
	last atomic.Int64
	// seen counts the pauses. The lease was renewed after the first settled of them.
	seen, settled atomic.Int64
	// asking is held by the one client that renews the lease for all.
	asking sync.Mutex
}

// lookInterval is the age at which last is written again. All clients look before every
// attempt, and would contend for last if each wrote it. A pause may appear longer by this.
const lookInterval = 100 * time.Millisecond

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

func (p *pauses) settle(count int64) { p.settled.Store(count) }

// doubtful reports whether the lease may have been lost in a pause.
func (p *pauses) doubtful() bool { return p.seen.Load() != p.settled.Load() }

// doubt says why the lease is not certainly held; empty if it is. After a pause it renews the lease.
// A nil lease is of a database that no other process can reach, and always held.
func (l *Lease) doubt(ctx context.Context) (why string) {
	if l == nil {
		return ""
	}
	if l.Led != nil && !l.Led() {
		return errorNotLed
	}
	if l.pauses.look(time.Now()); !l.pauses.doubtful() {
		return ""
	}
	l.pauses.asking.Lock()
	defer l.pauses.asking.Unlock()
	for l.pauses.doubtful() {
		if err := l.renew(ctx); err != nil {
			return errorPaused
		}
	}
	return ""
}

// The classes of attempts not made: after a pause that was longer than the lease, and of an agent
// whose coordinator may have given it up.
const (
	errorPaused = "paused for longer than the lease"
	errorNotLed = "the coordinator is silent"
)

type leased struct {
	load.Client
	lease *Lease
}

func (c *leased) Attempt(ctx context.Context, seq uint64, attempt int) load.Answer {
	if why := c.lease.doubt(ctx); why != "" {
		return load.Answer{Outcome: history.Failed, Disconnected: true, Class: why, Unmade: true}
	}
	return c.Client.Attempt(ctx, seq, attempt)
}

// leasedThinker is for a client that pauses between operations.
type leasedThinker struct {
	*leased
	load.Thinker
}

// Guard has the client send nothing while its lease is in doubt; held may be nil.
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
