package eventloop

import (
	"context"
	"errors"
	"net"

	"golang.org/x/sys/unix"
)

// Write writes to a connection that another caller may be reading in its loop. A socket with a
// full buffer leaves loops for good; the caller leaves its loop until it waits there again.
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

// part returns the socket to the runtime's poller for good. A waiting task continues there.
func (c *conn) part() (socket, error) {
	c.mu.Lock()
	if c.fd >= 0 {
		c.stays = true
		c.disturb()
	}
	c.mu.Unlock()
	return c.outside()
}

func (c *conn) out() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stays
}
