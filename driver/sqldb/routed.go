package sqldb

import (
	"context"

	"assay/history"
	"assay/workload"
)

// Routed is an Executor that has one connection to insert and, if reads go elsewhere,
// another one to read. Those that a server has closed while nothing was to be done
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
func (r *Routed) open(ctx context.Context, read bool) (s *Session, refused workload.Reply) {
	refused = workload.Reply{Outcome: history.Failed, Class: workload.ClassTimeout, Err: ctx.Err(), Broken: true}
	if refused.Err != nil {
		return nil, refused
	}
	s, refused.Err = r.Open(ctx, read)
	if ctx.Err() == nil {
		refused.Class = workload.ClassConnect
	}
	return s, refused
}

func (r *Routed) Execute(ctx context.Context, statement int, parameters ...Value) Reply {
	s, refused := r.open(ctx, false)
	if s == nil {
		return Reply{Reply: refused}
	}
	return s.Execute(ctx, statement, parameters...)
}

func (r *Routed) Query(ctx context.Context, statement int, row func(Row) error, parameters ...Value) workload.Reply {
	s, refused := r.open(ctx, true)
	if s == nil {
		return refused
	}
	return s.Query(ctx, statement, row, parameters...)
}

func (r *Routed) Close() {
	for _, s := range []*Session{r.Writer, r.Reader} {
		if s != nil {
			s.Close()
		}
	}
}
