package eventloop

import (
	"context"
	"net"
	"time"
)

// Exchange is what goes on on one connection, one exchange after the other. Each ends with its
// context: a read or a write fails then as by a deadline that is over. It is used by one
// goroutine at a time.
type Exchange struct {
	// Alone, if it is not nil, reports whether nobody else exchanges anything. What is outside
	// of a loop then waits in the kernel.
	Alone   func() bool
	conn    net.Conn
	ctx     context.Context // of the one that goes on, or of the last
	unwatch func() bool     // nil if none goes on
	expire  func()          // ends what the connection does
	expired chan struct{}   // expire was called
}

// NewExchange is for a connection whose deadlines nobody else sets while an exchange goes on.
func NewExchange(conn net.Conn) *Exchange {
	x := &Exchange{conn: conn, expired: make(chan struct{}, 1)}
	x.expire = func() {
		_ = conn.SetDeadline(time.Unix(1, 0)) // fails if it is closed
		x.expired <- struct{}{}
	}
	return x
}

// Begin begins one. If it is to be in the loop of its caller, it is as Attach has it.
func (x *Exchange) Begin(ctx context.Context, inLoop bool) {
	if inLoop {
		Attach(ctx, x.conn)
		if x.Alone != nil {
			setLone(x.conn, x.Alone())
		}
	}
	x.ctx, x.unwatch = ctx, context.AfterFunc(ctx, x.expire)
}

// Err is the error of the context of the one that goes on, or of the last.
func (x *Exchange) Err() error { return x.ctx.Err() }

// Begun reports whether one goes on.
func (x *Exchange) Begun() bool { return x.unwatch != nil }

// End ends the one that goes on, if there is one, and what it has of a loop.
func (x *Exchange) End() {
	if !x.Begun() {
		return
	}
	Detach(x.conn)
	if x.Alone != nil {
		setLone(x.conn, false)
	}
	if !x.unwatch() {
		<-x.expired
		_ = x.conn.SetDeadline(time.Time{}) // fails if it is closed
	}
	x.unwatch = nil
}
