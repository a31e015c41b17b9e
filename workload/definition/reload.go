package definition

import (
	"context"
	"fmt"
	"sync"
	"time"

	"assay/internal/wait"
	"assay/load"
	"assay/store"
)

// Reloading is a Work that continues loading after failures of the database.
type Reloading interface {
	// LoadThrough is Load, but repeats failed batches until ctx ends; again counts the repeats.
	// rowsIn is called when all rows are in, before late keys and indexes. A database that
	// cannot tell which rows are there gives *store.OptionError.
	LoadThrough(ctx context.Context, loaded func(done, total int64), rowsIn func()) (again int64, err error)
}

const (
	// mostReloads bounds a batch's failures: after so many, the cause is no outage.
	mostReloads = 20
	// After a failure the database is asked every reloadAsking, and has reloadAnswer to answer.
	reloadAsking = 200 * time.Millisecond
	reloadAnswer = 5 * time.Second
)

// LoadThrough loads all rows and repeats failed batches. It waits until the other batches are in
// and nothing of the failed ones is in flight; again leaves existing rows alone. Errors are
// those of Load.
func (l Loading) LoadThrough(ctx context.Context, db answering, batch, again func() load.Batch,
	loaded func(done, total int64), rowsIn func()) (reloaded int64, err error) {
	fail := func(done int64, err error) (int64, error) {
		return reloaded, &LoadError{Loaded: done, Total: l.Rows, One: l.One, Many: l.Many, Err: err}
	}
	p := &pass{store: db}
	done, err := load.Batches(ctx, l.Loaders, l.Rows, l.Batch, p.goingOn(batch), loaded)
	for n := 0; err == nil && len(p.failed) > 0; n++ {
		if n == mostReloads {
			return fail(done, fmt.Errorf("a batch has failed %d times: %w", n, p.last))
		}
		if err = repeat(ctx, db.Settle); err != nil {
			break
		}
		these := p.failed
		p = &pass{store: db, last: p.last}
		before, do := done, p.goingOn(again)
		var now int64
		now, err = load.Batches(ctx, l.Loaders, int64(len(these)), 1, func() load.Batch {
			do := do()
			return func(ctx context.Context, i int64) (int, error) { return do(ctx, these[i-1]) }
		}, func(over, _ int64) { loaded(before+over, l.Rows) })
		done = before + now
		reloaded += int64(len(these) - len(p.failed))
	}
	if err != nil {
		return fail(done, err)
	}
	rowsIn()
	if err := l.Finish(ctx); err != nil {
		return fail(done, err)
	}
	return reloaded, nil
}

type answering interface {
	Marker(ctx context.Context) (*store.Marker, error)
	Settle(ctx context.Context) error
}

type pass struct {
	store answering

	mu     sync.Mutex
	failed []int64 // the first numbers of batches
	last   error
}

// goingOn lets a failure not end the pass. The loader waits until the database answers, or all
// further batches would fail too.
func (p *pass) goingOn(batch func() load.Batch) func() load.Batch {
	return func() load.Batch {
		do := batch()
		return func(ctx context.Context, first int64) (int, error) {
			n, err := do(ctx, first)
			switch {
			case err == nil:
				return n, nil
			case ctx.Err() != nil:
				return 0, ctx.Err()
			}
			p.mu.Lock()
			p.failed, p.last = append(p.failed, first), err
			p.mu.Unlock()
			return 0, repeat(ctx, func(ctx context.Context) error {
				_, err := p.store.Marker(ctx)
				return err
			})
		}
	}
}

func repeat(ctx context.Context, ask func(context.Context) error) error {
	for {
		if err := wait.Pause(ctx, reloadAsking); err != nil {
			return err
		}
		asking, cancel := context.WithTimeout(ctx, reloadAnswer)
		err := ask(asking)
		cancel()
		if err == nil {
			return nil
		}
	}
}
