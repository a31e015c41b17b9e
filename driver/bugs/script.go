package bugs

import (
	"context"
	"sync/atomic"

	"assay/history"
	"assay/store"
	"assay/store/bug"
	"assay/workload"
	"assay/workload/script"
)

// inAnswer is an answer to a transaction of a script that only reads; the others are in
// those that may write.
const inAnswer = inGet

func scriptBugs() (all []bugOf[callKinds]) {
	for _, b := range script.Bugs() {
		in := inInsert
		if b.Name == "altered-row" {
			in = inAnswer
		}
		all = append(all, bugOf[callKinds]{b, in})
	}
	return all
}

// scriptStore is a script.Store with bugs. What a script means is not known: its
// transactions are done, left out or done twice as they are.
type scriptStore struct {
	*trial[callKinds]
	inner script.Store
}

func newScript(inner script.Store, seeded []Seeded, seed uint64) *scriptStore {
	s := &scriptStore{inner: inner}
	s.trial = newTrial(inner, inner.Create, scriptBugs(), seeded, seed)
	s.trial.reset = func() {}
	return s
}

func (s *scriptStore) Language() script.Language { return s.inner.Language() }

// ShardedByID implements script.Sharded.
func (s *scriptStore) ShardedByID() bool {
	of, may := s.inner.(script.Sharded)
	return may && of.ShardedByID()
}

func (s *scriptStore) Load(ctx context.Context, rows script.Rows) error {
	return s.inner.Load(ctx, rows)
}

func (s *scriptStore) RecordMade(ctx context.Context) error { return s.inner.RecordMade(ctx) }

func (s *scriptStore) FinishLoad(ctx context.Context) error { return s.inner.FinishLoad(ctx) }

func (s *scriptStore) Read(ctx context.Context, read func(script.Querier) error) error {
	return s.inner.Read(ctx, read)
}

func (s *scriptStore) Observe(ctx context.Context, read func(script.Querier) error) error {
	return s.inner.Observe(ctx, read)
}

func (s *scriptStore) Session(ctx context.Context) (script.Session, error) {
	session, err := s.inner.Session(ctx)
	if err != nil {
		return nil, err
	}
	return &scriptSession{session, s}, nil
}

// scriptSession is one client's.
type scriptSession struct {
	script.Session
	s *scriptStore
}

// work is what a transaction does.
type work = func(context.Context, script.Transaction) error

func (n *scriptSession) Transaction(ctx context.Context, writes bool, do work) workload.Reply {
	s := n.s
	if err := s.begin(ctx); err != nil {
		return unsent(err)
	}
	defer s.done()
	in := inAnswer
	if writes {
		in = inInsert
	}
	b := drawn(s.trial, in)
	if b == nil {
		return n.Session.Transaction(ctx, writes, do)
	}
	switch b.Name {
	case bug.LateApply:
		b.strikes++
		s.postpone(maxLate, func(ctx context.Context) {
			through(ctx, s.inner.Session, func(session script.Session) { session.Transaction(ctx, writes, do) })
		})
		return unknown()
	case "lost-ack":
		return n.lose(ctx, b, do)
	case "half-done", "altered-row":
		return n.spoil(ctx, b, writes, do)
	}
	reply := n.Session.Transaction(ctx, writes, do)
	if reply.Outcome != history.Committed {
		return reply
	}
	if b.Name == "failed-but-applied" {
		b.strikes++
		return failed()
	}
	through(ctx, s.inner.Session, func(session script.Session) {
		if again := session.Transaction(ctx, writes, do); again.Outcome == history.Committed {
			b.strikes++
		}
	})
	return reply
}

// lose does a transaction that was to be committed, and leaves it.
func (n *scriptSession) lose(ctx context.Context, b *active[callKinds], do work) workload.Reply {
	var finished atomic.Bool // by work that may go on when the session has answered
	reply := n.Session.Transaction(ctx, true, func(ctx context.Context, tx script.Transaction) error {
		err := do(ctx, tx)
		if err == nil {
			finished.Store(true)
			err = store.ErrRollback
		}
		return err
	})
	if reply.Outcome != history.Failed || !finished.Load() {
		return reply
	}
	b.strikes++
	return workload.Reply{Outcome: history.Committed, Broken: reply.Broken}
}

// spoil does a transaction in which a statement or an answer is not as it should be.
func (n *scriptSession) spoil(ctx context.Context, b *active[callKinds], writes bool, do work) workload.Reply {
	var spoiled *spoiledTransaction
	reply := n.Session.Transaction(ctx, writes, func(ctx context.Context, tx script.Transaction) error {
		spoiled = &spoiledTransaction{Transaction: tx, bug: b.Name}
		return do(ctx, spoiled)
	})
	if reply.Outcome == history.Committed && spoiled != nil && spoiled.struck {
		b.strikes++
	}
	return reply
}

// spoiledTransaction is one whose first change is not made, or whose answers are altered.
type spoiledTransaction struct {
	script.Transaction
	bug    string
	struck bool
}

func (t *spoiledTransaction) Execute(ctx context.Context, s script.Statement) (int64, error) {
	if t.bug == "half-done" && !t.struck {
		t.struck = true
		return 1, nil
	}
	return t.Transaction.Execute(ctx, s)
}

func (t *spoiledTransaction) Query(ctx context.Context, s script.Statement, row func([]any) error) error {
	if t.bug != "altered-row" || row == nil {
		return t.Transaction.Query(ctx, s, row)
	}
	return t.Transaction.Query(ctx, s, func(values []any) error {
		altered := make([]any, len(values))
		for i, v := range values {
			altered[i] = t.below(v)
		}
		return row(altered)
	})
}

// below is a value whose numbers are below zero.
func (t *spoiledTransaction) below(v any) any {
	switch v := v.(type) {
	case int64:
		t.struck = true
		return -1 - max(v, -v)
	case store.Document:
		altered := make(store.Document, len(v))
		for i, f := range v {
			altered[i] = store.Field{Name: f.Name, Value: t.below(f.Value)}
		}
		return altered
	}
	return v
}
