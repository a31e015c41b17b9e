package eventloop

import (
	"context"
	"errors"
	"net"

	"golang.org/x/sys/unix"
)

// Write writes to a connection that another caller may be reading in its loop. A socket whose buffer
// is full leaves loops for good, and the caller leaves its own until it waits there again.
func Write(ctx context.Context, to net.Conn, p []byte) (n int, err error) {
	c, is := to.(*conn)
	if !is {
		Leave(ctx)
		return to.Write(p)
	}
	for n < len(p) {
		sent, err := c.try("write", unix.Write, p[n:])
		n += max(sent, 0)
		switch {
		case err == nil:
		case !errors.Is(err, unix.EAGAIN):
			return n, err
		default:
			Leave(ctx)
			plain, err := c.part()
			if err != nil {
				return n, err
			}
			rest, err := plain.Write(p[n:])
			return n + rest, err
		}
	}
	return n, nil
}

// part gives the socket, if a loop has it, back to the runtime's poller for good. Who waits for it in
// the loop goes on there.
func (c *conn) part() (socket, error) {
	c.mu.Lock()
	if c.fd >= 0 {
		c.stays = true
		c.disturb()
	}
	c.mu.Unlock()
	return c.outside()
}

// out reports whether it is to stay out of loops.
func (c *conn) out() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stays
}
