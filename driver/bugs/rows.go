package bugs

import (
	"context"

	"assay/history"
	"assay/store/bug"
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
)

// drawn is the bug that takes effect in a call; nil if none does. Whoever calls
// has the turn.
func drawn(t *trial[callKinds], in callKinds) *active[callKinds] {
	return t.draw(func(acts callKinds) bool { return acts&in != 0 })
}

// rowStore is the writing through sessions N.
type rowStore[N interface{ Close() }] struct {
	*trial[callKinds]
	session func(context.Context) (N, error)
	// wrap makes a session with bugs of one.
	wrap func(N) N
}

func (s *rowStore[N]) Session(ctx context.Context) (N, error) {
	session, err := s.session(ctx)
	if err != nil {
		return session, err
	}
	return s.wrap(session), nil
}

// write is a call that writes. Send sends it through a session and is given the
// bug that takes effect, empty if none does; with bug.LateApply it is called when write
// has returned. Spoil is called if the database has committed it, and does what the
// bug does.
func (s *rowStore[N]) write(ctx context.Context, in callKinds, session N,
	send func(ctx context.Context, session N, bug string) workload.Reply, spoil func(b *active[callKinds]) workload.Reply) workload.Reply {
	if err := s.begin(ctx); err != nil {
		return unsent(err)
	}
	defer s.done()
	b := drawn(s.trial, in)
	switch {
	case b == nil:
		return send(ctx, session, "")
	case b.Name == bug.LateApply:
		b.strikes++
		s.postpone(maxLate, func(ctx context.Context) {
			through(ctx, s.session, func(session N) { send(ctx, session, bug.LateApply) })
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
