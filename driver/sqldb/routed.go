package sqldb

import (
	"context"
	"errors"

	"assay/history"
	"assay/store"
)

// Routed is a Connection that has one connection to write and, if reads go elsewhere, another
// one for statements and transactions that only read. Those that a server has closed while nothing
// was to be done
// are replaced, as database/sql does for an ordinary application, before anything is
// sent.
type Routed struct {
	// Apart is true if reads go elsewhere.
	Apart bool
	// Connect opens a connection to insert or, if reads go elsewhere, to read.
	Connect        func(ctx context.Context, read bool) (*Session, error)
	Writer, Reader *Session // nil until they are needed
}

// Open makes sure that there is a connection to insert or to read.
func (r *Routed) Open(ctx context.Context, read bool) (*Session, error) {
	read = read && r.Apart
	to := &r.Writer
	if read {
		to = &r.Reader
	}
	if *to != nil && (*to).Ready(ctx) != nil {
		(*to).Close()
		*to = nil
	}
	var err error
	if *to == nil {
		var opened *Session
		if opened, err = r.Connect(ctx, read); err == nil {
			*to = opened
		}
	}
	return *to, err
}

// open is Open; the reply says why there is no connection, and nothing was sent then.
func (r *Routed) open(ctx context.Context, read bool) (s *Session, refused store.Reply) {
	refused = store.Reply{Outcome: history.Failed, Class: store.ClassTimeout, Err: ctx.Err(), Broken: true}
	if refused.Err != nil {
		return nil, refused
	}
	s, refused.Err = r.Open(ctx, read)
	if ctx.Err() == nil {
		refused.Class = store.ClassConnect
	}
	return s, refused
}

func (r *Routed) Run(ctx context.Context, statement int, row func(store.Row) error, parameters []store.Value) store.Reply {
	return r.on(ctx, row != nil, func(s *Session) store.Reply { return s.Run(ctx, statement, row, parameters) })
}

// on has the connection for reads or writes do something that ends with a Reply.
func (r *Routed) on(ctx context.Context, read bool, do func(*Session) store.Reply) store.Reply {
	s, refused := r.open(ctx, read)
	if s == nil {
		return refused
	}
	return do(s)
}

func (r *Routed) Insert(ctx context.Context, rows store.Rows) store.Reply {
	return r.on(ctx, false, func(s *Session) store.Reply { return s.Insert(ctx, rows) })
}

func (r *Routed) Load(ctx context.Context, rows store.Rows) store.Reply {
	return r.on(ctx, false, func(s *Session) store.Reply { return s.Load(ctx, rows) })
}

func (r *Routed) Batch(ctx context.Context, b *store.Batch) store.Reply {
	return r.on(ctx, false, func(s *Session) store.Reply { return s.Batch(ctx, b) })
}

func (r *Routed) Transaction(ctx context.Context, writes bool, work func(context.Context, store.Transaction) error) store.Reply {
	return r.on(ctx, !writes, func(s *Session) store.Reply { return s.Transaction(ctx, writes, work) })
}

// Learn implements Connection: connections are made anew with the statements that they
// were first opened with, so that there can be no further ones.
func (r *Routed) Learn(context.Context, Statement) (int, error) {
	return 0, errors.New("statements cannot be added where reads may go elsewhere")
}

func (r *Routed) Waiting(ctx context.Context) (waiting, known bool, err error) {
	if r.Writer == nil {
		return false, false, nil
	}
	return r.Writer.Waiting(ctx)
}

func (r *Routed) Close() {
	for _, s := range []*Session{r.Writer, r.Reader} {
		if s != nil {
			s.Close()
		}
	}
}
