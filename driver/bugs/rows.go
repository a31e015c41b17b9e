package bugs

import (
	"context"

	"assay/history"
	"assay/workload"
)

// callKinds are the calls of a workload of rows in which a bug is; those that a
// workload does not have are never asked for.
type callKinds uint16

const (
	inInsert callKinds = 1 << iota
	inDelete
	inUpdate
	inGet
	inScan
	inRead // of everything
)

// foreignID is the first id of a row that no run has.
const foreignID = 1 << 40

// lateApply is the bug that is in all workloads where it is in any.
const lateApply = "late-apply"

// late is the bug lateApply; done says what is done, such as "insert done".
func late(done string) Bug {
	return Bug{Name: lateApply, Doc: "unknown is answered and the " + done +
		" up to 64 calls later, at the latest before Settle returns; that is allowed and must be found valid"}
}

// drawn is the bug that takes effect in a call; nil if none does. Whoever calls
// has the turn.
func drawn(t *trial[callKinds], in callKinds) *active[callKinds] {
	return t.draw(func(acts callKinds) bool { return acts&in != 0 })
}

// rowStore is what the wrappers of workloads have in common that write rows,
// through sessions N, and read them all back. Its methods are the Stores'.
type rowStore[N interface{ Close() }, K comparable, R any] struct {
	*trial[callKinds]
	rowAccess[N, K, R]
	// shown are in place of the rows of these keys, added are shown beside.
	shown map[K][]R
	added []R
}

// rowAccess is what a rowStore must know of a workload.
type rowAccess[N interface{ Close() }, K comparable, R any] struct {
	// session and read are the Store's Session and Read, and wrap makes a session
	// with bugs of one.
	session func(context.Context) (N, error)
	wrap    func(N) N
	read    func(ctx context.Context, give func(R) error) error
	key     func(R) K
	// altered is a row with other contents, foreign one that nobody wrote.
	altered, foreign func(R) R
}

func newRowStore[N interface{ Close() }, K comparable, R any](t *trial[callKinds], access rowAccess[N, K, R]) *rowStore[N, K, R] {
	s := &rowStore[N, K, R]{trial: t, rowAccess: access}
	t.reset = func() { s.shown, s.added = map[K][]R{}, nil }
	t.reset()
	return s
}

func (s *rowStore[N, K, R]) Session(ctx context.Context) (N, error) {
	session, err := s.session(ctx)
	if err != nil {
		return session, err
	}
	return s.wrap(session), nil
}

// write is a call that writes. Send sends it through a session and is given the
// bug that takes effect, empty if none does; with lateApply it is called when write
// has returned. Spoil is called if the database has committed it, and does what the
// bug does.
func (s *rowStore[N, K, R]) write(ctx context.Context, in callKinds, session N,
	send func(ctx context.Context, session N, bug string) workload.Reply, spoil func(b *active[callKinds]) workload.Reply) workload.Reply {
	if err := s.begin(ctx); err != nil {
		return unsent(err)
	}
	defer s.done()
	b := drawn(s.trial, in)
	switch {
	case b == nil:
		return send(ctx, session, "")
	case b.Name == lateApply:
		b.strikes++
		s.postpone(maxLate, func(ctx context.Context) {
			through(ctx, s.session, func(session N) { send(ctx, session, lateApply) })
		})
		return unknown()
	}
	reply := send(ctx, session, b.Name)
	if reply.Outcome != history.Committed {
		return reply
	}
	b.strikes++
	return spoil(b)
}

// spoil does to a row that was written what a bug of this name does in all
// workloads, and answers.
func (s *rowStore[N, K, R]) spoil(bug string, row R) workload.Reply {
	switch bug {
	case "lost-ack", "reported-never-applied":
		s.show(s.key(row))
	case "altered-row", "altered-field", "altered-write":
		s.show(s.key(row), s.altered(row))
	case "duplicate-row", "duplicate-apply":
		s.beside(row)
	case "extra-row":
		s.beside(s.foreign(row))
	case "failed-but-applied":
		return failed()
	}
	return committed()
}

// show has rows shown in place of one.
func (s *rowStore[N, K, R]) show(key K, rows ...R) {
	s.shown[key] = rows
	s.differences++
}

// beside has a row shown beside.
func (s *rowStore[N, K, R]) beside(row R) {
	s.added = append(s.added, row)
	s.differences++
}

// stored gives the rows that the database has, as they are shown.
func (s *rowStore[N, K, R]) stored(ctx context.Context, give func(R) error) error {
	return s.read(ctx, func(row R) error {
		if shown, differs := s.shown[s.key(row)]; differs {
			return each(shown, give)
		}
		return give(row)
	})
}

// rows gives all rows that are shown.
func (s *rowStore[N, K, R]) rows(ctx context.Context, give func(R) error) error {
	if err := s.stored(ctx, give); err != nil {
		return err
	}
	return each(s.added, give)
}

func (s *rowStore[N, K, R]) Read(ctx context.Context, give func(R) error) error {
	if err := s.take(ctx); err != nil {
		return err
	}
	defer s.done()
	left := int64(-1)
	if b := drawn(s.trial, inRead); b != nil {
		count := int64(0)
		if err := s.rows(ctx, func(R) error { count++; return nil }); err != nil {
			return err
		}
		left = s.fewer(count)
		b.strikes++
	}
	return s.rows(ctx, limited(left, give))
}
