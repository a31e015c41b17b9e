package sqldb

import (
	"context"
	"errors"

	"assay/history"
	"assay/store"
)

// Routed is a Connection that writes on one connection and, if Apart, reads on another. It replaces
// connections that a server closed while they were idle, before anything is sent, as database/sql
// does for applications.
type Routed struct {
	// Apart sends reads elsewhere.
	Apart bool
	// Connect opens a connection to write or, if Apart, to read.
	Connect        func(ctx context.Context, read bool) (*Session, error)
	Writer, Reader *Session // nil until they are needed
}

// Open ensures a connection to write or to read.
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

// open is Open with a reply as its error; nothing was sent then.
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

// Learn implements Connection. It refuses, since new connections only know the first statements.
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
