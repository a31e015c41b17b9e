package mem

import (
	"context"
	"fmt"
	"time"

	"assay/history"
	"assay/workload"
)

// shell is what the Stores of all workloads do alike. A Store embeds it.
type shell struct {
	site  *site
	held  held
	taken *workload.Taken
}

// newShell returns the shell of a Store on a database.
func newShell(s *site, h held) shell { return shell{s, h, new(workload.Taken)} }

// held is the database behind a shell. The lock is held for all its methods.
type held interface {
	// reset empties the schema.
	reset()
	// count is how many rows workload.Leftover has.
	count() int64
	// settle has happen now what was to happen later.
	settle()
}

// locked does something under the lock, if what is there is ours, and if there
// is something where that is required.
func (s *shell) locked(required bool, do func() error) error {
	if err := s.site.guard(required); err != nil {
		return err
	}
	defer s.site.mu.Unlock()
	return do()
}

// ready returns an error unless there is a schema of ours.
func (s *shell) ready() error { return s.locked(true, func() error { return nil }) }

// Describe implements the Stores.
func (s *shell) Describe(context.Context) (workload.Product, error) { return s.site.describe(), nil }

// Find implements the Stores.
func (s *shell) Find(context.Context) (remains *workload.Leftover, err error) {
	err = s.locked(false, func() error {
		if s.site.mark != nil {
			remains = &workload.Leftover{Marker: *s.site.mark, Rows: s.held.count()}
		}
		return nil
	})
	return remains, err
}

// Marker implements the Stores.
func (s *shell) Marker(context.Context) (mark *workload.Marker, err error) {
	err = s.locked(false, func() error {
		if s.site.mark != nil {
			found := *s.site.mark
			mark = &found
		}
		return nil
	})
	return mark, err
}

// Create implements the Stores.
func (s *shell) Create(_ context.Context, mark workload.Marker) error {
	return s.locked(false, func() error {
		if err := s.admit(); err != nil {
			return err
		}
		s.held.reset()
		s.site.mark = &mark
		return nil
	})
}

// finishLoad is FinishLoad of the Stores that have it.
func (s *shell) finishLoad() error {
	return s.locked(true, func() error {
		s.site.mark.Loaded = true
		return nil
	})
}

// Settle implements the Stores: what was to happen later happens now.
func (s *shell) Settle(context.Context) error {
	s.site.mu.Lock()
	defer s.site.mu.Unlock()
	if s.site.mark != nil {
		s.held.settle()
	}
	return nil
}

// Drop implements the Stores.
func (s *shell) Drop(context.Context) error {
	return s.locked(false, func() error {
		if err := s.admit(); err != nil {
			return err
		}
		s.held.reset()
		s.site.mark, s.site.lease = nil, nil
		return nil
	})
}

// sized is the Size of a Store with one table, whose bytes are counted under the
// lock.
func (s *shell) sized(table string, bytes func(rows int64) int64) (size workload.Size, err error) {
	err = s.locked(true, func() error {
		n := s.held.count()
		size.Bytes, size.Rows = bytes(n), map[string]int64{table: n}
		size.Tables = size.Bytes
		return nil
	})
	return size, err
}

// Close implements the Stores.
func (s *shell) Close() error { return nil }

// enter takes the lock for a session's call, after the latency. If it gives a
// reply, the call does nothing and the lock is not held: the context has ended
// before, or there is no schema.
func (s *site) enter(ctx context.Context, doing string) *workload.Reply {
	if err := rest(ctx, s.latency); err != nil {
		return &workload.Reply{Outcome: history.Failed, Class: workload.ClassTimeout, Err: fmt.Errorf("mem: %s: %w", doing, err)}
	}
	s.mu.Lock()
	if s.mark == nil {
		s.mu.Unlock()
		return &workload.Reply{Outcome: history.Failed, Class: workload.ClassOther, Err: &workload.NoSchemaError{Name: name}, Broken: true}
	}
	return nil
}

// each calls do for all rows, and looks at the context now and then.
func each[R any](ctx context.Context, rows []R, do func(R) error) error {
	for i, r := range rows {
		if err := interrupted(ctx, int64(i)); err != nil {
			return err
		}
		if err := do(r); err != nil {
			return err
		}
	}
	return nil
}

// interrupted looks at the context now and then.
func interrupted(ctx context.Context, i int64) error {
	if i%4096 != 0 || ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("mem: read: %w", ctx.Err())
}

func rest(ctx context.Context, d time.Duration) error {
	if d <= 0 || ctx.Err() != nil {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
