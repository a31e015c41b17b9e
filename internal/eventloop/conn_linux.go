package eventloop

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// conn is a connection that can wait in a loop. It starts in the runtime's poller and moves to a
// loop with its first exchange there. Use outside of an exchange returns it. It is never in both:
// the runtime's poller would wake a thread for all that arrives.
type conn struct {
	local, remote net.Addr
	// Fields of the exchange under way, for its goroutine alone.
	task *task
	lone bool        // it is the only one, and waits in the kernel
	wait *socketWait // nil until it does

	mu       sync.Mutex
	deadline time.Time
	plain    socket // as the runtime's poller has it; nil while the loop has it
	fd       int    // as the loop has it, else -1
	loop     *Loop  // which had it last
	watched  bool   // by the loop
	stays    bool   // out of loops: the kernel does not watch it, or its buffer was full
	waiting  *task
}

// socket is a *net.TCPConn or a *net.UnixConn and, once back from a loop, an *os.File.
type socket interface {
	io.ReadWriteCloser
	syscall.Conn
	SetDeadline(time.Time) error
	SetReadDeadline(time.Time) error
	SetWriteDeadline(time.Time) error
}

// Wrap makes a plain socket able to wait in a loop. It returns other connections unchanged.
func Wrap(of net.Conn) net.Conn {
	c := &conn{local: of.LocalAddr(), remote: of.RemoteAddr(), fd: -1}
	switch of := of.(type) {
	case *net.TCPConn:
		c.plain = of
	case *net.UnixConn:
		c.plain = of
	default:
		return of
	}
	return c
}

// below is the wrapped connection itself or under TLS; nil if there is none.
func below(of net.Conn) *conn {
	if encrypted, is := of.(*tls.Conn); is {
		of = encrypted.NetConn()
	}
	c, _ := of.(*conn)
	return c
}

// Attach begins an exchange on a wrapped connection, or on TLS over one: until Detach, reads wait
// in the loop of the caller with this context. No read or write may be under way. During the
// exchange other goroutines may only close the connection and call SetDeadline. Without such a
// caller, and for other connections, it does nothing.
func Attach(ctx context.Context, to net.Conn) {
	c, t := below(to), taskOf(ctx)
	if c == nil || t == nil || t.excluded() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fd < 0 && !c.stays && c.plain != nil && c.deadline.IsZero() && c.take() == nil {
		c.loop = t.loop
	}
	if c.fd >= 0 && c.loop == t.loop {
		c.task = t
	}
}

// Detach ends an exchange. Outside of one it writes nothing, since another goroutine may be
// reading: pgx reads in the background during large writes.
func Detach(from net.Conn) {
	if c := below(from); c != nil && c.task != nil {
		c.task = nil
	}
}

// setLone says whether this exchange is the only one. Like Detach it writes only changes.
func setLone(of net.Conn, lone bool) {
	if c := below(of); c != nil && c.lone != lone {
		c.lone = lone
	}
}

// take takes the socket out of the runtime's poller. c.mu is held.
func (c *conn) take() error {
	raw, err := c.plain.SyscallConn()
	if err != nil {
		return err
	}
	fd := -1
	var failed error
	err = raw.Control(func(from uintptr) { fd, failed = unix.FcntlInt(from, unix.F_DUPFD_CLOEXEC, 0) })
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	_ = c.plain.Close() // the socket stays open by its other descriptor
	c.plain, c.fd = nil, fd
	return nil
}

// giveBack gives the socket back to the runtime's poller. c.mu is held.
func (c *conn) giveBack() error {
	c.unwatch()
	c.plain = os.NewFile(uintptr(c.fd), c.remote.String())
	c.fd, c.wait = -1, nil
	if c.deadline.IsZero() {
		return nil
	}
	return c.plain.SetDeadline(c.deadline)
}

// unwatch ends the loop's watch. c.mu is held.
func (c *conn) unwatch() {
	if c.watched {
		c.loop.forget(c.fd)
		c.watched = false
	}
}

// await makes the task wait in its loop, which calls it; false if there is nothing to wait for.
func (c *conn) await(t *task) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fd < 0 || c.expired() {
		return false
	}
	if !c.watched {
		event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(c.fd)}
		if unix.EpollCtl(t.loop.epoll, unix.EPOLL_CTL_ADD, c.fd, &event) != nil {
			c.stays = true
			return false
		}
		t.loop.watched[event.Fd], c.watched = c, true
	}
	c.waiting = t
	return true
}

// expired: c.mu is held.
func (c *conn) expired() bool { return !c.deadline.IsZero() && !time.Now().Before(c.deadline) }

// disturb ends a task's wait, if any. c.mu is held.
func (c *conn) disturb() {
	if c.waiting != nil {
		c.loop.post(arrival{conn: c})
	}
}

// Read implements net.Conn.
func (c *conn) Read(p []byte) (n int, err error) {
	for c.task != nil {
		t := c.task
		t.yield(c) // until something has come
		if n, err = c.try("read", unix.Read, p); !errors.Is(err, unix.EAGAIN) {
			if n == 0 && err == nil && len(p) > 0 {
				err = io.EOF
			}
			return n, err
		}
		if c.out() {
			c.leave(t)
		}
	}
	plain, err := c.outside()
	if err != nil {
		return 0, err
	}
	if c.lone {
		if c.wait == nil {
			c.wait = newSocketWait(plain)
		}
		c.wait.wait()
	}
	return plain.Read(p)
}

// Write implements net.Conn.
func (c *conn) Write(p []byte) (n int, err error) {
	for c.task != nil {
		sent, err := c.try("write", unix.Write, p[n:])
		if n += max(sent, 0); err == nil && n == len(p) || err != nil && !errors.Is(err, unix.EAGAIN) {
			return n, err
		}
		if err != nil { // its buffer is full
			c.leave(c.task)
		}
	}
	plain, err := c.outside()
	if err != nil {
		return n, err
	}
	rest, err := plain.Write(p[n:])
	return n + rest, err
}

// leave continues the exchange outside of the loop.
func (c *conn) leave(t *task) {
	c.task = nil
	t.yield(nil)
}

// try makes a call that does not block on the socket in the loop.
func (c *conn) try(name string, call func(fd int, p []byte) (int, error), p []byte) (n int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.fd < 0 && c.plain != nil:
		return 0, unix.EAGAIN
	case c.fd < 0:
		err = net.ErrClosed
	case c.expired():
		err = os.ErrDeadlineExceeded
	default:
		switch n, err = call(c.fd, p); err {
		case nil:
			return n, nil
		case unix.EAGAIN, unix.EINTR:
			return 0, unix.EAGAIN
		}
		err = os.NewSyscallError(name, err)
	}
	return 0, &net.OpError{Op: name, Net: c.remote.Network(), Source: c.local, Addr: c.remote, Err: err}
}

// outside returns the connection to the runtime's poller.
func (c *conn) outside() (socket, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fd >= 0 {
		if err := c.giveBack(); err != nil {
			return nil, err
		}
	}
	if c.plain == nil {
		return nil, net.ErrClosed
	}
	return c.plain, nil
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fd < 0 {
		if c.plain == nil {
			return net.ErrClosed
		}
		return c.plain.Close()
	}
	c.unwatch()
	c.disturb()
	fd := c.fd
	c.fd = -1
	return os.NewSyscallError("close", unix.Close(fd))
}

// SetDeadline implements net.Conn. A future deadline takes effect only after an exchange.
func (c *conn) SetDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = t
	switch {
	case c.fd >= 0:
		if c.expired() {
			c.disturb()
		}
		return nil
	case c.plain == nil:
		return net.ErrClosed
	}
	return c.plain.SetDeadline(t)
}

// SetReadDeadline implements net.Conn. It is not for an exchange.
func (c *conn) SetReadDeadline(t time.Time) error {
	plain, err := c.outside()
	if err != nil {
		return err
	}
	return plain.SetReadDeadline(t)
}

// SetWriteDeadline implements net.Conn. It is not for an exchange.
func (c *conn) SetWriteDeadline(t time.Time) error {
	plain, err := c.outside()
	if err != nil {
		return err
	}
	return plain.SetWriteDeadline(t)
}

// SetLinger works as on *net.TCPConn.
func (c *conn) SetLinger(seconds int) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		failed = unix.SetsockoptLinger(int(fd), unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1, Linger: int32(seconds)})
	})
	return errors.Join(err, failed)
}

// LocalAddr implements net.Conn.
func (c *conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr implements net.Conn.
func (c *conn) RemoteAddr() net.Addr { return c.remote }

// SyscallConn implements syscall.Conn.
func (c *conn) SyscallConn() (syscall.RawConn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.fd >= 0:
		return inLoop{c}, nil
	case c.plain == nil:
		return nil, net.ErrClosed
	}
	return c.plain.SyscallConn()
}

type inLoop struct{ *conn }

// Control implements syscall.RawConn.
func (c inLoop) Control(f func(fd uintptr)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fd < 0 {
		return net.ErrClosed
	}
	f(uintptr(c.fd))
	return nil
}

// Read implements syscall.RawConn. It calls f once, and fails if f wants another call.
func (c inLoop) Read(f func(fd uintptr) (done bool)) error { return c.once(f) }

// Write implements syscall.RawConn, as Read does.
func (c inLoop) Write(f func(fd uintptr) (done bool)) error { return c.once(f) }

func (c inLoop) once(f func(fd uintptr) (done bool)) (err error) {
	if failed := c.Control(func(fd uintptr) {
		if !f(fd) {
			err = unix.EAGAIN
		}
	}); failed != nil {
		return failed
	}
	return err
}
