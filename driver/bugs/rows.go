package bugs

import (
	"context"
	"slices"

	"assay/history"
	"assay/workload"
)

// place is in which calls of a workload of rows a bug is; those that a workload
// does not have are never asked for.
type place uint8

const (
	inInsert place = 1 << iota
	inDelete
	inUpdate
	inGet
	inRead // of everything
)

// drawn is the bug that takes effect in a call; nil if none does. Whoever calls
// has the turn.
func drawn(t *trial[place], in place) *active[place] {
	for _, b := range t.active {
		if b.acts&in != 0 && t.hits(b) {
			b.strikes++
			return b
		}
	}
	return nil
}

// rowStore is what the wrappers of workloads have in common that write rows and
// read them all back.
type rowStore[K comparable, R any] struct {
	*trial[place]
	// all is the Store's Read.
	all func(ctx context.Context, give func(R) error) error
	key func(R) K
	// shown are in place of the rows of these keys, added are shown beside.
	shown map[K][]R
	added []R
	// late are requests to be sent at a later call, through a session.
	late []lateRequest
}

// lateRequest is to be sent at the call numbered due.
type lateRequest struct {
	due  uint64
	send func(ctx context.Context) workload.Reply
}

func newRowStore[K comparable, R any](t *trial[place], key func(R) K, all func(context.Context, func(R) error) error) *rowStore[K, R] {
	s := &rowStore[K, R]{trial: t, all: all, key: key}
	t.reset = func() { s.shown, s.added, s.late = map[K][]R{}, nil, nil }
	t.reset()
	return s
}

// show has rows shown in place of one.
func (s *rowStore[K, R]) show(key K, rows ...R) {
	s.shown[key] = rows
	s.differences++
}

// beside has a row shown beside.
func (s *rowStore[K, R]) beside(row R) {
	s.added = append(s.added, row)
	s.differences++
}

// postpone answers unknown to a request, which is sent later.
func (s *rowStore[K, R]) postpone(send func(context.Context) workload.Reply) workload.Reply {
	s.late = append(s.late, lateRequest{s.later(maxLate), send})
	return workload.Reply{Class: workload.ClassTimeout}
}

// begin waits for the turn and sends what is late. The caller is done after.
func (s *rowStore[K, R]) begin(ctx context.Context) error {
	if err := s.take(ctx); err != nil {
		return err
	}
	s.calls++
	s.pass(ctx, s.calls)
	return nil
}

func (s *rowStore[K, R]) pass(ctx context.Context, until uint64) {
	s.late = slices.DeleteFunc(s.late, func(l lateRequest) bool {
		if l.due > until {
			return false
		}
		ctx, cancel := own(ctx)
		defer cancel()
		l.send(ctx)
		return true
	})
}

// Settle implements the Stores: what was to happen later happens before.
func (s *rowStore[K, R]) Settle(ctx context.Context) error {
	if err := s.take(ctx); err != nil {
		return err
	}
	s.pass(ctx, s.calls+maxLate)
	s.done()
	return s.Store.Settle(ctx)
}

// stored gives the rows that the database has, as they are shown.
func (s *rowStore[K, R]) stored(ctx context.Context, give func(R) error) error {
	return s.all(ctx, func(row R) error {
		if shown, differs := s.shown[s.key(row)]; differs {
			return each(shown, give)
		}
		return give(row)
	})
}

// rows gives all rows that are shown.
func (s *rowStore[K, R]) rows(ctx context.Context, give func(R) error) error {
	if err := s.stored(ctx, give); err != nil {
		return err
	}
	return each(s.added, give)
}

// Read implements the Stores.
func (s *rowStore[K, R]) Read(ctx context.Context, give func(R) error) error {
	if err := s.take(ctx); err != nil {
		return err
	}
	defer s.done()
	left := int64(-1)
	if drawn(s.trial, inRead) != nil {
		count := int64(0)
		if err := s.rows(ctx, func(R) error { count++; return nil }); err != nil {
			return err
		}
		left = s.fewer(count)
	}
	return s.rows(ctx, limited(left, give))
}

// unacknowledged is the reply to what was done and is answered with failed.
func unacknowledged(reply workload.Reply) workload.Reply {
	if reply.Outcome == history.Committed {
		return made()
	}
	return reply
}

// through sends something through a session of its own.
func through[N interface{ Close() }](ctx context.Context, open func(context.Context) (N, error), send func(N) workload.Reply) workload.Reply {
	session, err := open(ctx)
	if err != nil {
		return unsent(err)
	}
	defer session.Close()
	return send(session)
}
