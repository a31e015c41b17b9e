package workload

import (
	"context"

	"assay/history"
)

// Connection is one client's session on a Store, which it replaces when it cannot be
// used any more. It is used by one goroutine.
type Connection[N interface{ Close() }] struct {
	// Open opens a session, as the Store's Session does.
	Open      func(ctx context.Context) (N, error)
	session   N
	connected bool
}

// Connect opens a client's first session.
func Connect[N interface{ Close() }](ctx context.Context, open func(context.Context) (N, error)) (Connection[N], error) {
	c := Connection[N]{Open: open}
	_, err := c.Session(ctx)
	return c, err
}

// Session returns the session, a new one if there is none that can be used.
func (c *Connection[N]) Session(ctx context.Context) (N, error) {
	if c.connected {
		return c.session, nil
	}
	session, err := c.Open(ctx)
	if err == nil {
		c.session, c.connected = session, true
	}
	return session, err
}

// Unsent is the reply to an attempt for which no session could be opened.
func Unsent(err error) Reply {
	return Reply{Outcome: history.Failed, Class: ClassConnect, Err: err, Broken: true}
}

// After gives the session up if it cannot be used after an attempt that ended so.
func (c *Connection[N]) After(outcome history.Outcome, broken bool) {
	if broken || outcome == history.Unknown {
		c.Close()
	}
}

// Close closes the session, if there is one.
func (c *Connection[N]) Close() {
	if c.connected {
		c.session.Close()
		c.connected = false
	}
}
