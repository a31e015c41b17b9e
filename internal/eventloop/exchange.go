package eventloop

import (
	"context"
	"net"
	"time"
)

// Exchange is a series of exchanges on one connection. When its context ends, reads and writes
// fail as after a deadline. One goroutine at a time uses it.
type Exchange struct {
	// Alone, if not nil, reports whether no other exchange goes on. Reads outside of a loop then
	// wait in the kernel.
	Alone   func() bool
	conn    net.Conn
	ctx     context.Context // of the one that goes on, or of the last
	unwatch func() bool     // nil if none goes on
	expire  func()          // ends what the connection does
	expired chan struct{}   // expire was called
}

// NewExchange needs sole control of the connection's deadlines during exchanges.
func NewExchange(conn net.Conn) *Exchange {
	x := &Exchange{conn: conn, expired: make(chan struct{}, 1)}
	x.expire = func() {
		_ = conn.SetDeadline(time.Unix(1, 0)) // fails if it is closed
		x.expired <- struct{}{}
	}
	return x
}

// Begin begins an exchange. inLoop attaches it to the caller's loop; see Attach.
func (x *Exchange) Begin(ctx context.Context, inLoop bool) {
	if inLoop {
		Attach(ctx, x.conn)
		if x.Alone != nil {
			setLone(x.conn, x.Alone())
		}
	}
	x.ctx, x.unwatch = ctx, context.AfterFunc(ctx, x.expire)
}

// Err is the error of the present or last exchange's context.
func (x *Exchange) Err() error { return x.ctx.Err() }

// Begun reports whether an exchange goes on.
func (x *Exchange) Begun() bool { return x.unwatch != nil }

// End ends the exchange, if any, and detaches it.
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
