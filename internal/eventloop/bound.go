package eventloop

import (
	"context"
	"net"
	"time"
)

// Bound has the exchanges of one connection end with their contexts: a read or a write fails
// then as by a deadline that is over. It is used by one goroutine at a time.
type Bound struct {
	conn    net.Conn
	ctx     context.Context // of the exchange that goes on, or of the last
	unwatch func() bool     // nil if none goes on
	expire  func()          // ends what the connection does
	expired chan struct{}   // expire was called
}

// NewBound is for a connection whose deadlines nobody else sets while an exchange goes on.
func NewBound(conn net.Conn) *Bound {
	b := &Bound{conn: conn, expired: make(chan struct{}, 1)}
	b.expire = func() {
		_ = conn.SetDeadline(time.Unix(1, 0)) // fails if it is closed
		b.expired <- struct{}{}
	}
	return b
}

// Begin begins an exchange.
func (b *Bound) Begin(ctx context.Context) { b.ctx, b.unwatch = ctx, context.AfterFunc(ctx, b.expire) }

// Err is that of the context of the exchange that goes on, or of the last.
func (b *Bound) Err() error { return b.ctx.Err() }

// Begun reports whether an exchange goes on.
func (b *Bound) Begun() bool { return b.unwatch != nil }

// End ends the exchange, if one goes on, and what it has of a loop.
func (b *Bound) End() {
	if !b.Begun() {
		return
	}
	Detach(b.conn)
	if !b.unwatch() {
		<-b.expired
		_ = b.conn.SetDeadline(time.Time{}) // fails if it is closed
	}
	b.unwatch = nil
}
