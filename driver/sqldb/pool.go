package sqldb

import (
	"context"
	"slices"
	"sync"
	"time"

	"assay/store"
)

// Conn is a connection for everything except sessions' operations. One goroutine at a time uses it.
type Conn interface {
	Reader
	// Change runs a statement without rows and returns the count of changed rows.
	Change(ctx context.Context, text string, parameters ...store.Value) (int64, error)
	// Ping reports whether the server still answers.
	Ping(ctx context.Context) error
	// Sound reports whether the connection is open and, as far as the client knows, outside of
	// any transaction.
	Sound() bool
	// HangUp closes the connection within a bounded time.
	HangUp()
}

// poolSize bounds the connections to one server, without those of sessions.
const poolSize = 16

// Pool lends connections to one server. It is safe for concurrent use.
type Pool[C Conn] struct {
	connect func(context.Context) (C, error)
	timeout time.Duration
	slots   chan struct{}

	mu     sync.Mutex
	idle   []C
	lent   []C
	closed bool
}

// NewPool returns a Pool of connections made by connect. timeout bounds the Ping of an idle one.
func NewPool[C Conn](timeout time.Duration, connect func(context.Context) (C, error)) *Pool[C] {
	return &Pool[C]{connect: connect, timeout: timeout, slots: make(chan struct{}, poolSize)}
}

// Use runs work on a connection and keeps the connection if it is sound afterwards.
func (p *Pool[C]) Use(ctx context.Context, work func(C) error) error {
	c, err := p.Take(ctx)
	if err != nil {
		return err
	}
	defer p.Return(c)
	return work(c)
}

// Take returns an idle connection that still answers, since the server may have restarted, or a new
// one. The caller gives it back by Return.
func (p *Pool[C]) Take(ctx context.Context) (c C, err error) {
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return c, ctx.Err()
	}
	for {
		var found bool
		if c, found = p.pop(); !found {
			break
		}
		bounded, cancel := context.WithTimeout(ctx, p.timeout)
		err := c.Ping(bounded)
		cancel()
		if err == nil && c.Sound() {
			return p.lend(c), nil
		}
		c.HangUp()
	}
	if c, err = p.connect(ctx); err != nil {
		<-p.slots
		return c, err
	}
	return p.lend(c), nil
}

func (p *Pool[C]) lend(c C) C {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lent = append(p.lent, c)
	return c
}

// Lent returns the connections in use.
func (p *Pool[C]) Lent() []C {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.lent)
}

func (p *Pool[C]) pop() (c C, found bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.idle) - 1
	if last < 0 {
		return c, false
	}
	c, p.idle = p.idle[last], p.idle[:last]
	return c, true
}

// Return gives a taken connection back.
func (p *Pool[C]) Return(c C) {
	sound := c.Sound()
	p.mu.Lock()
	keep := sound && !p.closed
	p.lent = slices.DeleteFunc(p.lent, func(lent C) bool { return any(lent) == any(c) })
	if keep {
		p.idle = append(p.idle, c)
	}
	p.mu.Unlock()
	if !keep {
		c.HangUp()
	}
	<-p.slots
}

// Close closes idle connections now and the others when they are returned.
func (p *Pool[C]) Close() {
	p.mu.Lock()
	idle := p.idle
	p.closed, p.idle = true, nil
	p.mu.Unlock()
	for _, c := range idle {
		c.HangUp()
	}
}

// InTransaction runs work between the statements begin, whose last begins a transaction, and
// COMMIT. Afterwards the connection is outside of the transaction, or closed.
func InTransaction(ctx context.Context, c Conn, begin []string, work func() error) error {
	err := all(ctx, c, begin)
	if err == nil {
		err = work()
	}
	if err == nil {
		_, err = c.Change(ctx, "COMMIT")
	}
	if err == nil {
		return nil
	}
	if _, undone := c.Change(ctx, "ROLLBACK"); undone != nil {
		c.HangUp() // the first error is the one that matters
	}
	return err
}

func all(ctx context.Context, c Conn, statements []string) error {
	for _, statement := range statements {
		if _, err := c.Change(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// One runs a query of one row and scans the row.
func One(ctx context.Context, r Reader, text string, parameters []store.Value, into ...any) error {
	rows := 0
	err := r.Query(ctx, text, func(row store.Row) error {
		rows++
		return row.Scan(into...)
	}, parameters...)
	if err == nil && rows != 1 {
		err = errRows
	}
	return err
}
