package open

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"assay/check"
	"assay/internal/wait"
	"assay/load"
	"assay/store"
	"assay/workload/definition"
)

// defaultStallTimeout is how long a phase of a run may make no progress before the
// database is asked whether it is still there.
const defaultStallTimeout = time.Minute

const (
	// mostAnswers is how often in a row a database may answer that it is there
	// while a phase makes no progress: with the default, an hour.
	mostAnswers = 60
	// closingGrace bounds how long a call may take to return once its context
	// has ended.
	closingGrace = 10 * time.Second
)

// Work is a definition.Work none of whose calls waits without end for a database that
// went away: it gives up on one that makes no progress for StallTimeout and does
// not answer Describe within another, and returns *store.UnreachableError. It
// does not rely on a driver to return when its context ends. A phase of any length is
// waited for while it makes progress. It is safe for concurrent use.
type Work struct {
	definition.Work
	// StallTimeout is how long a call may make no progress before the database is asked whether
	// it is still there, and how long it may take to answer.
	StallTimeout time.Duration
	address      string // printable
	// patience is what BearFor has set; 0 for without end.
	patience atomic.Int64
	// gone is true once the database did not answer. The calls that follow ask
	// first whether it is back.
	gone atomic.Bool
}

// New bounds a work on the database at address; stallTimeout is Work.StallTimeout, 0 for a minute.
func New(w definition.Work, stallTimeout time.Duration, address string) *Work {
	if stallTimeout <= 0 {
		stallTimeout = defaultStallTimeout
	}
	return &Work{Work: w, StallTimeout: stallTimeout, address: store.Redact(address)}
}

// do makes a call, which doing names, and bounds it.
func (b *Work) do(ctx context.Context, doing string, call func(ctx context.Context) error) error {
	return b.progressing(ctx, doing, new(atomic.Int64), call)
}

// progressing is do of a call that counts steps as it goes on.
func (b *Work) progressing(ctx context.Context, doing string, steps *atomic.Int64, call func(ctx context.Context) error) error {
	if b.gone.Load() {
		if !b.answers(ctx) {
			return b.unreachable(doing, errors.New("it did not answer before, and still does not"))
		}
		b.gone.Store(false)
	}
	return b.watch(ctx, b.StallTimeout, doing, steps, call)
}

// watch makes a call and gives it up if it makes no progress for so long and the
// database does not answer either.
func (b *Work) watch(ctx context.Context, stallTimeout time.Duration, doing string, steps *atomic.Int64, call func(ctx context.Context) error) error {
	calling, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- call(calling) }()
	blocked := b.blockers(calling, doing)
	seen, answers := int64(0), 0
	for since := time.Now(); ; {
		select {
		case err := <-ended:
			return err
		case <-ctx.Done():
			if err, over := wait.Ended(ended, closingGrace); over {
				return err
			}
			return b.abandoned(doing, ctx.Err())
		case refused := <-blocked:
			cancel()
			if err, over := wait.Ended(ended, time.Second); over && err == nil {
				return nil
			}
			return refused
		case <-time.After(stallTimeout):
		}
		if now := steps.Load(); now != seen {
			seen, answers, since = now, 0, time.Now()
			continue
		}
		answering := b.answers(ctx)
		if err, over := wait.Ended(ended, 0); over {
			return err
		}
		if answering && answers < mostAnswers || ctx.Err() != nil {
			answers++
			continue
		}
		cancel()
		if err, over := wait.Ended(ended, min(stallTimeout, closingGrace)); over && err == nil {
			return nil
		}
		why := "no answer for %v"
		if answering {
			why = "it answers, but nothing has moved for %v"
		}
		return b.abandoned(doing, fmt.Errorf(why, time.Since(since).Round(time.Second)))
	}
}

// answers reports whether the database says anything within the stall timeout. What
// it refuses to tell is an answer too.
func (b *Work) answers(ctx context.Context) bool {
	if b.Work == nil { // it was not reached yet
		return false
	}
	asking, cancel := context.WithTimeout(ctx, b.StallTimeout)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := b.Work.Describe(asking)
		ended <- err
	}()
	select {
	case err := <-ended:
		return err == nil || !errors.As(err, new(*store.UnreachableError)) && asking.Err() == nil
	case <-asking.Done():
		return false
	}
}

func (b *Work) abandoned(doing string, why error) error {
	b.gone.Store(true)
	return b.unreachable(doing, why)
}

func (b *Work) unreachable(doing string, why error) error {
	return &store.UnreachableError{Address: b.address, Err: fmt.Errorf("while %s: %w", doing, why)}
}

func (b *Work) Describe(ctx context.Context) (store.Product, error) {
	return bind(b, ctx, "describing it", b.Work.Describe)
}

func (b *Work) Find(ctx context.Context) (*store.Leftover, error) {
	return bind(b, ctx, "looking for the mark", b.Work.Find)
}

func (b *Work) Marker(ctx context.Context) (*store.Marker, error) {
	return bind(b, ctx, "reading the mark", b.Work.Marker)
}

func (b *Work) Removable(ctx context.Context) error {
	return b.do(ctx, "looking for what others have made", b.Work.Removable)
}

// Lease implements work. Renewing and releasing are bounded by who asks (attempt).
func (b *Work) Lease(ctx context.Context) (*store.Lease, error) {
	return bind(b, ctx, "looking for a lease", b.Work.Lease)
}

func (b *Work) TakeLease(ctx context.Context, holder store.Holder, ttl time.Duration, gone string) error {
	return b.do(ctx, "taking the lease", func(ctx context.Context) error { return b.Work.TakeLease(ctx, holder, ttl, gone) })
}

func (b *Work) Size(ctx context.Context) (store.Size, error) {
	return bind(b, ctx, "asking for the size on disk", b.Work.Size)
}

func (b *Work) Client(ctx context.Context, n int) (load.Client, error) {
	return b.session(ctx, n, b.Work.Client)
}

// session opens a session.
func (b *Work) session(ctx context.Context, n int, open func(ctx context.Context, n int) (load.Client, error)) (load.Client, error) {
	return bind(b, ctx, "opening a session", func(ctx context.Context) (load.Client, error) { return open(ctx, n) })
}

// bind bounds a call that returns something.
func bind[T any](b *Work, ctx context.Context, doing string, call func(ctx context.Context) (T, error)) (value T, err error) {
	answer := make(chan T, 1) // not a variable: an abandoned call may still set it
	err = b.do(ctx, doing, func(ctx context.Context) error {
		value, err := call(ctx)
		answer <- value
		return err
	})
	select {
	case value = <-answer:
	default:
	}
	return value, err
}

func (b *Work) Create(ctx context.Context, mark store.Marker) error {
	return b.do(ctx, "making the schema", func(ctx context.Context) error { return b.Work.Create(ctx, mark) })
}

func (b *Work) Drop(ctx context.Context) error {
	return b.do(ctx, "dropping the schema", b.Work.Drop)
}

func (b *Work) Settle(ctx context.Context) error {
	return b.do(ctx, "waiting until nothing is in flight", b.Work.Settle)
}

// Load: what was loaded is progress.
func (b *Work) Load(ctx context.Context, loaded func(done, total int64)) error {
	return b.loadBy(ctx, loaded, b.Work.Load)
}

// loadBy is Load by another function.
func (b *Work) loadBy(ctx context.Context, loaded func(done, total int64), by func(context.Context, func(done, total int64)) error) error {
	var steps, rows atomic.Int64
	err := b.progressing(ctx, "loading", &steps, func(ctx context.Context) error {
		return by(ctx, func(done, total int64) {
			rows.Store(done)
			steps.Add(1)
			loaded(done, total)
		})
	})
	if unreachable := (*store.UnreachableError)(nil); errors.As(err, &unreachable) && b.gone.Load() {
		unreachable.Err = fmt.Errorf("%w, with %s of %s in", unreachable.Err, check.Count(rows.Load()), check.Counted(b.Rows(), "row", "rows"))
	}
	return err
}

// Save: what was read is progress.
func (b *Work) Save(ctx context.Context, folder string, read func(rows int64)) error {
	var steps atomic.Int64
	return b.progressing(ctx, "reading everything back", &steps, func(ctx context.Context) error {
		return b.Work.Save(ctx, folder, func(rows int64) {
			steps.Add(1)
			read(rows)
		})
	})
}

// LoadThrough loads through faults, if the workload can; see definition.Reloading. Of one that cannot
// it returns *store.OptionError.
func (b *Work) LoadThrough(ctx context.Context, loaded func(done, total int64), rowsIn func()) (again int64, err error) {
	work, can := b.Work.(definition.Reloading)
	if !can {
		return 0, &store.OptionError{Option: "--fault", Value: "while loading", Want: "a workload whose loading survives them"}
	}
	err = b.loadBy(ctx, loaded, func(ctx context.Context, loaded func(done, total int64)) (err error) {
		again, err = work.LoadThrough(ctx, loaded, rowsIn)
		return err
	})
	return again, err
}

// Examine has the workload examine the database, if it does that; see definition.Examiner.
func (b *Work) Examine(ctx context.Context, folder string) error {
	examiner, does := b.Work.(definition.Examiner)
	if !does {
		return nil
	}
	return b.do(ctx, "examining it", func(ctx context.Context) error { return examiner.Examine(ctx, folder) })
}

// Close implements work. A database that is gone, which was told already, has
// nothing to be closed.
func (b *Work) Close() error {
	ended := make(chan error, 1)
	go func() { ended <- b.Work.Close() }()
	bound := b.StallTimeout
	if !b.gone.Load() {
		bound = max(bound, closingGrace) // a driver may have found out by itself, and bounds its farewell
	}
	err, over := wait.Ended(ended, bound)
	switch {
	case over && !b.gone.Load():
		return err
	case b.gone.Load():
		return nil
	default:
		return b.abandoned("closing the connections", fmt.Errorf("no answer for %v", bound))
	}
}

// Rounds are those of the work, with their calls bounded, and whether it is worked in
// rounds at all.
func (b *Work) Rounds() ([]load.Round, bool) {
	in, several := b.Work.(definition.Rounds)
	if !several {
		return nil, false
	}
	rounds := in.Rounds()
	for i := range rounds {
		client, ready := rounds[i].Client, rounds[i].Ready
		rounds[i].Client = func(ctx context.Context, n int) (load.Client, error) { return b.session(ctx, n, client) }
		if ready != nil {
			rounds[i].Ready = func(ctx context.Context) error {
				// A round may begin with servers that are started anew.
				return b.watch(ctx, readyShare*b.StallTimeout, "preparing a round", new(atomic.Int64), ready)
			}
		}
	}
	return rounds, true
}

// readyShare is how many times the stall timeout the preparing of a round may take.
const readyShare = 5

// looksAtBlockers is how often a call that is under way is asked for what keeps it from going
// on within the time that it may be kept, and lookTimeout bounds one such question.
const (
	looksAtBlockers = 5
	lookTimeout     = 5 * time.Second
)

// BearFor sets how long a call may be kept from going on by others; see blockers. Before the
// work that is the time to connect. Later it is the stall timeout: locks that clients left,
// and servers that faults have hit, need their time.
func (b *Work) BearFor(patience time.Duration) { b.patience.Store(int64(patience)) }

// blockers sends *store.BlockedError when a call that begins now has been kept from going
// on by others, by one thing or another, for as long as is borne. It ends with ctx.
func (b *Work) blockers(ctx context.Context, doing string) <-chan error {
	found := make(chan error, 1)
	patience := time.Duration(b.patience.Load())
	if patience <= 0 {
		return found
	}
	go func() {
		free := time.Now() // when it was last known not to be kept
		for wait.Pause(ctx, patience/looksAtBlockers) == nil {
			asked := time.Now()
			asking, cancel := context.WithTimeout(ctx, lookTimeout)
			by, err := b.Work.Blocked(asking)
			cancel()
			if err != nil || by == "" {
				free = asked
				continue
			}
			if kept := asked.Sub(free); kept >= patience*(looksAtBlockers-1)/looksAtBlockers {
				found <- &store.BlockedError{Address: b.address, Doing: doing, By: by, For: kept}
				return
			}
		}
	}()
	return found
}
