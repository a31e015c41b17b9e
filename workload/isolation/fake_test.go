package isolation

import (
	"context"
	"testing"

	"assay/driver/mem"
	"assay/internal/expect"
	"assay/store"
)

// fake is a database whose sessions a test counts, and whose replies it may give.
type fake struct {
	store.Database
	sessions []*fakeSession
	created  store.Marker

	reply *store.Reply // to a transaction, which is not done then
}

func newFake(t *testing.T) *fake {
	t.Helper()
	db, err := mem.Open(t.Context(), store.Target{Address: "mem://"}, Schema())
	expect.NoError(t, err)
	expect.NoError(t, db.Create(t.Context(), store.Marker{Loaded: true}))
	return &fake{Database: db}
}

func (f *fake) Create(ctx context.Context, mark store.Marker) error {
	f.created = mark
	return f.Database.Create(ctx, mark)
}

func (f *fake) Session(ctx context.Context, statements []store.Statement) (store.Session, error) {
	session, err := f.Database.Session(ctx, statements)
	s := &fakeSession{Session: session, of: f}
	f.sessions = append(f.sessions, s)
	return s, err
}

// fakeSession counts what it was asked for.
type fakeSession struct {
	store.Session
	of            *fake
	asked, closed int
}

func (s *fakeSession) Transaction(ctx context.Context, writes bool, work func(context.Context, store.Transaction) error) store.Reply {
	if s.closed > 0 {
		panic("a closed session was used")
	}
	s.asked++
	if s.of.reply != nil {
		return *s.of.reply
	}
	return s.Session.Transaction(ctx, writes, work)
}

func (s *fakeSession) Close() {
	s.closed++
	s.Session.Close()
}
