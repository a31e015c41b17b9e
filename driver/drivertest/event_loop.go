package drivertest

import (
	"context"
	"errors"
	"sync"
	"testing"

	"assay/internal/eventloop"
	"assay/internal/expect"
	"assay/store"
)

// InLoop opens databases whose sessions do all their work in one event loop, as a run's clients
// do. On systems without event loops it returns open.
func InLoop(t *testing.T, open store.Opener) store.Opener {
	t.Helper()
	loop, err := eventloop.New()
	if errors.Is(err, errors.ErrUnsupported) {
		return open
	}
	expect.NoError(t, err)
	t.Cleanup(loop.Release)
	return func(ctx context.Context, target store.Target, of store.Schema) (store.Database, error) {
		db, err := open(ctx, target, of)
		if err != nil {
			return nil, err
		}
		return loopedDatabase{db, loop}, nil
	}
}

type loopedDatabase struct {
	store.Database
	loop *eventloop.Loop
}

func (d loopedDatabase) Unwrap() store.Database { return d.Database }

func (d loopedDatabase) Session(ctx context.Context, statements []store.Statement) (store.Session, error) {
	s := &loopedSession{calls: make(chan func(context.Context))}
	d.loop.Go(context.Background(), func(ctx context.Context) {
		for call := range s.calls {
			call(ctx)
			eventloop.Leave(ctx) // to wait for the next
		}
	})
	var err error
	s.do(ctx, func(ctx context.Context) { s.Session, err = d.Database.Session(ctx, statements) })
	if err != nil {
		close(s.calls)
		return nil, err
	}
	if _, is := s.Session.(texts); is {
		return loopedTexts{s}, nil
	}
	return s, nil
}

// bothContexts ends with its first context and has the values of both.
type bothContexts struct {
	context.Context
	caller  context.Context
	session *loopedSession
}

type sessionKey struct{}

func (c bothContexts) Value(key any) any {
	if key == (sessionKey{}) {
		return c.session
	}
	if v := c.Context.Value(key); v != nil {
		return v
	}
	return c.caller.Value(key)
}

// loopedSession hands every call to the loop's goroutine.
type loopedSession struct {
	store.Session
	calls chan func(context.Context)
	once  sync.Once
}

// do calls f at once if the session's own work makes the call.
func (s *loopedSession) do(ctx context.Context, f func(context.Context)) {
	if ctx.Value(sessionKey{}) == s {
		f(ctx)
		return
	}
	done := make(chan struct{})
	s.calls <- func(caller context.Context) {
		defer close(done)
		f(bothContexts{ctx, caller, s})
	}
	<-done
}

func (s *loopedSession) reply(ctx context.Context, f func(context.Context) store.Reply) (r store.Reply) {
	s.do(ctx, func(ctx context.Context) { r = f(ctx) })
	return r
}

func (s *loopedSession) Run(ctx context.Context, call store.Call) store.Reply {
	return s.reply(ctx, func(ctx context.Context) store.Reply { return s.Session.Run(ctx, call) })
}

func (s *loopedSession) Insert(ctx context.Context, rows store.Rows) store.Reply {
	return s.reply(ctx, func(ctx context.Context) store.Reply { return s.Session.Insert(ctx, rows) })
}

func (s *loopedSession) Load(ctx context.Context, rows store.Rows) store.Reply {
	return s.reply(ctx, func(ctx context.Context) store.Reply { return s.Session.Load(ctx, rows) })
}

func (s *loopedSession) Batch(ctx context.Context, b *store.Batch) store.Reply {
	return s.reply(ctx, func(ctx context.Context) store.Reply { return s.Session.Batch(ctx, b) })
}

func (s *loopedSession) Transaction(ctx context.Context, writes bool, work func(context.Context, store.Transaction) error) store.Reply {
	return s.reply(ctx, func(ctx context.Context) store.Reply { return s.Session.Transaction(ctx, writes, work) })
}

func (s *loopedSession) Close() {
	s.once.Do(func() {
		s.do(context.Background(), func(context.Context) { s.Session.Close() })
		close(s.calls)
	})
}

type texts interface {
	store.Learner
	store.Verbatim
}

type loopedTexts struct{ *loopedSession }

func (s loopedTexts) Learn(ctx context.Context, statement store.Statement) (index int, err error) {
	s.do(ctx, func(ctx context.Context) { index, err = s.Session.(texts).Learn(ctx, statement) })
	return index, err
}

func (s loopedTexts) Verbatim(ctx context.Context, writes bool, work func(context.Context, store.Sender) error) store.Reply {
	return s.reply(ctx, func(ctx context.Context) store.Reply { return s.Session.(texts).Verbatim(ctx, writes, work) })
}
