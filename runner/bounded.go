package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"assay/check"
	"assay/internal/wait"
	"assay/load"
	"assay/runner/catalog"
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

// bounded is a work none of whose calls waits without end for a database that
// went away: it gives up on one that makes no progress for its stall timeout and does
// not answer Describe within another, and returns *store.UnreachableError. It
// does not rely on a driver to return when its context ends. A phase of any length is
// waited for while it makes progress. It is safe for concurrent use.
type bounded struct {
	definition.Work
	stallTimeout time.Duration
	address      string // printable
	// patience is what bearFor has set; 0 for without end.
	patience atomic.Int64
	// gone is true once the database did not answer. The calls that follow ask
	// first whether it is back.
	gone atomic.Bool
}

func newBounded(w definition.Work, stallTimeout time.Duration, address string) *bounded {
	if stallTimeout <= 0 {
		stallTimeout = defaultStallTimeout
	}
	return &bounded{Work: w, stallTimeout: stallTimeout, address: store.Redact(address)}
}

// do makes a call, which doing names, and bounds it.
func (b *bounded) do(ctx context.Context, doing string, call func(ctx context.Context) error) error {
	return b.progressing(ctx, doing, new(atomic.Int64), call)
}

// progressing is do of a call that counts steps as it goes on.
func (b *bounded) progressing(ctx context.Context, doing string, steps *atomic.Int64, call func(ctx context.Context) error) error {
	if b.gone.Load() {
		if !b.answers(ctx) {
			return b.unreachable(doing, errors.New("it did not answer before, and still does not"))
		}
		b.gone.Store(false)
	}
	return b.watch(ctx, b.stallTimeout, doing, steps, call)
}

// watch makes a call and gives it up if it makes no progress for so long and the
// database does not answer either.
func (b *bounded) watch(ctx context.Context, stallTimeout time.Duration, doing string, steps *atomic.Int64, call func(ctx context.Context) error) error {
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
func (b *bounded) answers(ctx context.Context) bool {
	if b.Work == nil { // it was not reached yet
		return false
	}
	asking, cancel := context.WithTimeout(ctx, b.stallTimeout)
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

func (b *bounded) abandoned(doing string, why error) error {
	b.gone.Store(true)
	return b.unreachable(doing, why)
}

func (b *bounded) unreachable(doing string, why error) error {
	return &store.UnreachableError{Address: b.address, Err: fmt.Errorf("while %s: %w", doing, why)}
}

func (b *bounded) Describe(ctx context.Context) (store.Product, error) {
	return bind(b, ctx, "describing it", b.Work.Describe)
}

func (b *bounded) Find(ctx context.Context) (*store.Leftover, error) {
	return bind(b, ctx, "looking for the mark", b.Work.Find)
}

func (b *bounded) Marker(ctx context.Context) (*store.Marker, error) {
	return bind(b, ctx, "reading the mark", b.Work.Marker)
}

func (b *bounded) Removable(ctx context.Context) error {
	return b.do(ctx, "looking for what others have made", b.Work.Removable)
}

// Lease implements work. Renewing and releasing are bounded by who asks (attempt).
func (b *bounded) Lease(ctx context.Context) (*store.Lease, error) {
	return bind(b, ctx, "looking for a lease", b.Work.Lease)
}

func (b *bounded) TakeLease(ctx context.Context, holder store.Holder, ttl time.Duration, gone string) error {
	return b.do(ctx, "taking the lease", func(ctx context.Context) error { return b.Work.TakeLease(ctx, holder, ttl, gone) })
}

func (b *bounded) Size(ctx context.Context) (store.Size, error) {
	return bind(b, ctx, "asking for the size on disk", b.Work.Size)
}

func (b *bounded) Client(ctx context.Context, n int) (load.Client, error) {
	return b.session(ctx, n, b.Work.Client)
}

// session opens a session.
func (b *bounded) session(ctx context.Context, n int, open func(ctx context.Context, n int) (load.Client, error)) (load.Client, error) {
	return bind(b, ctx, "opening a session", func(ctx context.Context) (load.Client, error) { return open(ctx, n) })
}

// bind bounds a call that returns something.
func bind[T any](b *bounded, ctx context.Context, doing string, call func(ctx context.Context) (T, error)) (value T, err error) {
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

func (b *bounded) Create(ctx context.Context, mark store.Marker) error {
	return b.do(ctx, "making the schema", func(ctx context.Context) error { return b.Work.Create(ctx, mark) })
}

func (b *bounded) Drop(ctx context.Context) error {
	return b.do(ctx, "dropping the schema", b.Work.Drop)
}

func (b *bounded) Settle(ctx context.Context) error {
	return b.do(ctx, "waiting until nothing is in flight", b.Work.Settle)
}

// Load: what was loaded is progress.
func (b *bounded) Load(ctx context.Context, loaded func(done, total int64)) error {
	return b.loadBy(ctx, loaded, b.Work.Load)
}

// loadBy is Load by another function.
func (b *bounded) loadBy(ctx context.Context, loaded func(done, total int64), by func(context.Context, func(done, total int64)) error) error {
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
func (b *bounded) Save(ctx context.Context, folder string, read func(rows int64)) error {
	var steps atomic.Int64
	return b.progressing(ctx, "reading everything back", &steps, func(ctx context.Context) error {
		return b.Work.Save(ctx, folder, func(rows int64) {
			steps.Add(1)
			read(rows)
		})
	})
}

// loadThrough loads through faults, if the workload can; see definition.Reloading.
func (b *bounded) loadThrough(ctx context.Context, loaded func(done, total int64), rowsIn func()) (again int64, err error) {
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

// examine has the workload examine the database, if it does that.
func (b *bounded) examine(ctx context.Context, folder string) error {
	examiner, does := b.Work.(definition.Examiner)
	if !does {
		return nil
	}
	return b.do(ctx, "examining it", func(ctx context.Context) error { return examiner.Examine(ctx, folder) })
}

// Close implements work. A database that is gone, which was told already, has
// nothing to be closed.
func (b *bounded) Close() error {
	ended := make(chan error, 1)
	go func() { ended <- b.Work.Close() }()
	bound := b.stallTimeout
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

// rounds are those of the work, with their calls bounded, and whether it is worked in
// rounds at all.
func (b *bounded) rounds() ([]load.Round, bool) {
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
				return b.watch(ctx, readyShare*b.stallTimeout, "preparing a round", new(atomic.Int64), ready)
			}
		}
	}
	return rounds, true
}

// readyShare is how many times the stall timeout the preparing of a round may take.
const readyShare = 5

// opener opens the scenario's workload on the database at address, as openWork does.
type opener func(ctx context.Context, s Scenario, address string, stallTimeout time.Duration) (*bounded, error)

// orDefault is openWork of nil.
func (o opener) orDefault() opener {
	if o == nil {
		return openWork
	}
	return o
}

// openWork opens the scenario's workload on the database at address. None of its
// calls makes no progress for longer than stallTimeout, 0 for the default.
func openWork(ctx context.Context, s Scenario, address string, stallTimeout time.Duration) (*bounded, error) {
	driver, err := catalog.DriverFor(address)
	if err != nil {
		return nil, err
	}
	support := driver.Support(s.Workload)
	if support.Open == nil {
		return nil, support.Refused()
	}
	// The driver bounds each contact by the time to connect.
	b := newBounded(nil, cmp.Or(stallTimeout, defaultStallTimeout)+s.ConnectTimeout, address)
	opened, err := bind(b, ctx, "connecting", func(ctx context.Context) (definition.Work, error) { return s.open(ctx, support, address) })
	if err != nil {
		return nil, err
	}
	b = newBounded(opened, stallTimeout, address)
	b.bearFor(s.ConnectTimeout)
	return b, nil
}

// open reaches the database at address and begins the workload on it.
func (s Scenario) open(ctx context.Context, by definition.Support, address string) (definition.Work, error) {
	to := store.Target{Address: address, ConnectTimeout: s.ConnectTimeout, Isolation: s.Isolation, Seed: s.Load.Seed, Existing: s.UseExisting}
	if c, can := s.Config.(definition.Existing); can && s.UseExisting {
		to.ReadOnly, to.Written = c.Touched()
	}
	if c, chooses := s.Config.(definition.Targeting); chooses {
		c.Target(&to)
	}
	db, err := by.Open(ctx, to)
	if err != nil {
		return nil, err
	}
	w, err := s.Config.Open(ctx, db, s.Load.Seed, s.Load.Clients)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return w, nil
}
