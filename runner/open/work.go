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

const defaultStallTimeout = time.Minute

const (
	// mostAnswers is how often in a row a database may answer while a phase makes no progress:
	// by default, for an hour.
	mostAnswers = 60
	// closingGrace is how long a call may take to return after its context has ended.
	closingGrace = 10 * time.Second
)

// Work is a definition.Work whose calls do not wait forever. A call without progress for
// StallTimeout makes it ask Describe. Without an answer within another StallTimeout, the call
// returns *store.UnreachableError, even if the driver ignores its context. A call that makes
// progress may take any time. It is safe for concurrent use.
type Work struct {
	definition.Work
	// StallTimeout bounds a call's time without progress, and the database's answer after it.
	StallTimeout time.Duration
	address      string // printable
	patience     atomic.Int64
	// gone means that the database did not answer. Later calls first ask whether it is back.
	gone atomic.Bool
}

// New bounds the calls of w on the database at address. A stallTimeout of 0 means a minute.
func New(w definition.Work, stallTimeout time.Duration, address string) *Work {
	if stallTimeout <= 0 {
		stallTimeout = defaultStallTimeout
	}
	return &Work{Work: w, StallTimeout: stallTimeout, address: store.Redact(address)}
}

// do makes a bounded call. doing describes it for errors.
func (b *Work) do(ctx context.Context, doing string, call func(ctx context.Context) error) error {
	return b.progressing(ctx, doing, new(atomic.Int64), call)
}

// progressing is do for a call that counts its steps.
func (b *Work) progressing(ctx context.Context, doing string, steps *atomic.Int64, call func(ctx context.Context) error) error {
	if b.gone.Load() {
		if !b.answers(ctx) {
			return b.unreachable(doing, errors.New("it did not answer before, and still does not"))
		}
		b.gone.Store(false)
	}
	return b.watch(ctx, b.StallTimeout, doing, steps, call)
}

// watch gives a call up if it makes no progress and the database does not answer.
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

// answers reports whether the database says anything within the stall timeout. A refusal is an
// answer.
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

// Lease implements definition.Work. The caller bounds renewing and releasing.
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

func (b *Work) session(ctx context.Context, n int, open func(ctx context.Context, n int) (load.Client, error)) (load.Client, error) {
	return bind(b, ctx, "opening a session", func(ctx context.Context) (load.Client, error) { return open(ctx, n) })
}

// bind is do for a call with a result.
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

// Load implements definition.Work. Loaded rows are progress.
func (b *Work) Load(ctx context.Context, loaded func(done, total int64)) error {
	return b.loadBy(ctx, loaded, b.Work.Load)
}

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

// Save implements definition.Work. Rows read are progress.
func (b *Work) Save(ctx context.Context, folder string, read func(rows int64)) error {
	var steps atomic.Int64
	return b.progressing(ctx, "reading everything back", &steps, func(ctx context.Context) error {
		return b.Work.Save(ctx, folder, func(rows int64) {
			steps.Add(1)
			read(rows)
		})
	})
}

// LoadThrough loads through faults; see definition.Reloading. It returns *store.OptionError if the
// workload cannot.
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

// Examine calls the workload's definition.Examiner, if it is one.
func (b *Work) Examine(ctx context.Context, folder string) error {
	examiner, does := b.Work.(definition.Examiner)
	if !does {
		return nil
	}
	return b.do(ctx, "examining it", func(ctx context.Context) error { return examiner.Examine(ctx, folder) })
}

// Close implements definition.Work. It leaves a database alone that is gone: an earlier error
// told so.
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

// Rounds are the rounds of the work, with bounded calls, and whether it has rounds.
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
				// A round may begin by restarting servers.
				return b.watch(ctx, readyShare*b.StallTimeout, "preparing a round", new(atomic.Int64), ready)
			}
		}
	}
	return rounds, true
}

// readyShare is the bound for preparing a round, in stall timeouts.
const readyShare = 5

// looksAtBlockers is how often within the patience a call is checked for blockers. lookTimeout
// bounds one check.
const (
	looksAtBlockers = 5
	lookTimeout     = 5 * time.Second
)

// BearFor sets how long others may block a call. Before the work this is the connect timeout.
// Later it is the stall timeout: locks left by clients, and servers after faults, need time.
func (b *Work) BearFor(patience time.Duration) { b.patience.Store(int64(patience)) }

// blockers sends *store.BlockedError when others have blocked a call for the whole patience,
// whichever blocker it was. It ends with ctx.
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
