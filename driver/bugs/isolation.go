package bugs

import (
	"context"
	"slices"
	"sync/atomic"

	"assay/history"
	"assay/workload/isolation"
)

// isolationStore is an isolation.Store with bugs. One transaction at a time goes
// to the database, so that it is known what each found and left; those that it
// would be together with are played by the last commits, which are remembered.
type isolationStore struct {
	*trial[isolationActions]
	inner isolation.Store
	shown differences
	log   commits
	// opened counts the sessions.
	opened uint64
	// events counts the calls of clients, before they have the turn.
	events  atomic.Uint64
	lingers bool

	// failover is true while all commits from one on are to be lost.
	failover bool
	// ghosts are what failed transactions wrote, each for the next one that reads
	// it.
	ghosts map[object]ghost
}

// ghost is a write that never was, and the bug that brings it.
type ghost struct {
	write
	bug *active[isolationActions]
}

// isolationActions is how a bug acts on transactions.
type isolationActions struct {
	// begin changes how a transaction that has just begun will go; false means
	// that there is no occasion and nothing was changed.
	begin func(*transaction) bool
	// truncates is true if a Read ends early as well.
	truncates bool
	// lingers is true if transactions are answered only after others have had the
	// turn, some sooner than others, so that they overlap in what they know.
	lingers bool
}

// maxTurns bounds for how many turns a transaction lingers.
const maxTurns = 4

func newIsolation(inner isolation.Store, seeded []Seeded, seed uint64) *isolationStore {
	s := &isolationStore{trial: newTrial(inner, inner.Create, isolationBugs(), seeded, seed), inner: inner}
	s.reset = func() {
		s.shown, s.log = newDifferences(), commits{}
		s.failover, s.ghosts = false, map[object]ghost{}
	}
	s.reset()
	s.lingers = slices.ContainsFunc(s.active, func(b *active[isolationActions]) bool { return b.acts.lingers })
	return s
}

func (s *isolationStore) Promise() string { return s.inner.Promise() }

// isolationSession is one client's.
type isolationSession struct {
	isolation.Session
	s *isolationStore
	// side is which of two copies it is shown once they differ.
	side int
	// wrote is its last commit, seen the last whose state it knows.
	wrote, seen int64
	// answered is commit.answered of the commit whose client has not come back;
	// nil if there is none. finished is the number of the last event when the
	// session's last transaction ended.
	answered *uint64
	finished uint64
}

// Session implements isolation.Store. Every second session is on the other
// side, if there comes to be one.
func (s *isolationStore) Session(ctx context.Context) (isolation.Session, error) {
	session, err := s.inner.Session(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.take(ctx); err != nil {
		session.Close()
		return nil, err
	}
	defer s.done()
	s.opened++
	return &isolationSession{Session: session, s: s, side: int(s.opened % 2)}, nil
}

func (n *isolationSession) Do(ctx context.Context, ops []isolation.Op) isolation.Reply {
	s := n.s
	came := s.events.Add(1)
	if err := s.begin(ctx); err != nil {
		return unsent(err)
	}
	reply := n.do(ctx, ops, came)
	turns := 0
	if s.lingers {
		turns = s.chance.IntN(maxTurns)
	}
	s.done()
	for ; turns > 0 && s.take(ctx) == nil; turns-- {
		s.done()
	}
	n.finished = s.events.Load()
	return reply
}

// do is Do of a client that has come at this event, and has the turn.
func (n *isolationSession) do(ctx context.Context, ops []isolation.Op, came uint64) isolation.Reply {
	s := n.s
	if n.answered != nil {
		*n.answered, n.answered = came, nil
	}
	x := s.transaction(n, ops)
	if b := s.draw(func(a isolationActions) bool { x = s.transaction(n, ops); return a.begin(x) }); b != nil {
		x.bug = b
	} else {
		x = s.transaction(n, ops)
	}
	before := s.log.clock
	reply := x.do(ctx)
	if reply.Outcome != history.Committed {
		n.answered = nil
	}
	// What was refused has read and written nothing.
	if x.bug != nil && (reply.Outcome != history.Failed || s.log.clock > before) {
		x.bug.strikes++
	}
	return reply
}

// transaction is one of a session that begins now.
func (s *isolationStore) transaction(n *isolationSession, ops []isolation.Op) *transaction {
	return &transaction{s: s, session: n, ops: ops, snapshot: s.log.clock}
}

// undo shows the data as they were before these writes, which were the last.
func (s *isolationStore) undo(writes []write) {
	for _, w := range writes {
		s.differences += 1 + len(w.elements)
		switch w.space {
		case spaceList:
			s.shown.hide(w.elements, everybody)
		case spaceRegister:
			s.shown.put(w.key, w.before)
		case spaceGroup:
			s.shown.groups[w.key] -= w.rows
		case spaceSide:
			s.shown.sides[w.key] = w.before.number
		}
	}
}

func (s *isolationStore) Read(ctx context.Context, list func(key int64, elements []int64) error, register func(key, value int64) error) error {
	if err := s.take(ctx); err != nil {
		return err
	}
	defer s.done()
	lists, registers := int64(-1), int64(-1)
	if b := s.draw(func(a isolationActions) bool { return a.truncates }); b != nil {
		var err error
		if lists, registers, err = s.truncated(ctx); err != nil {
			return err
		}
		if lists >= 0 {
			b.strikes++
		}
	}
	list, register = limitedPairs(lists, list), limitedPairs(registers, register)
	return s.read(ctx, list, register)
}

// read is Read as the first side is shown it.
func (s *isolationStore) read(ctx context.Context, list func(key int64, elements []int64) error, register func(key, value int64) error) error {
	return s.inner.Read(ctx,
		func(key int64, elements []int64) error {
			if elements = s.shown.list(slices.Clone(elements), 0); len(elements) == 0 {
				return nil
			}
			return list(key, elements)
		},
		func(key, number int64) error {
			v := s.shown.register(key, 0, value{number: number, found: true})
			if !v.found {
				return nil
			}
			return register(key, v.number)
		})
}

// truncated counts the lists and registers, and says how many of them a read that
// ends early gives: it leaves out at least the last of either. It is -1 of either
// if there are none.
func (s *isolationStore) truncated(ctx context.Context) (lists, registers int64, err error) {
	err = s.read(ctx, func(int64, []int64) error { lists++; return nil }, func(int64, int64) error { registers++; return nil })
	switch {
	case lists > 0:
		return s.fewer(lists), registers, err
	case registers > 0:
		return 0, s.fewer(registers), err
	default:
		return -1, -1, err
	}
}
