package postgres

import (
	"net"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// socketWait waits in the kernel for what a socket gets, as pgbench does, and not in Go's
// poller, which parks the goroutine and wakes threads by futex(2); see docs/internals/performance.md.
// It holds a thread and one of the runtime's processors, so that it is for the only session
// of a database, and where there is a second processor.
type socketWait struct {
	raw  syscall.RawConn
	poll func(fd uintptr)
	of   [1]unix.PollFd
}

// socketWaitMillis is how long it waits before Go's poller does. The end of a context is
// noticed there.
const socketWaitMillis = 1

// newSocketWait returns nil for what is no plain socket.
func newSocketWait(conn net.Conn) *socketWait {
	socket, is := conn.(syscall.Conn)
	if !is || runtime.GOMAXPROCS(0) < 2 {
		return nil
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return nil
	}
	p := &socketWait{raw: raw}
	p.poll = func(fd uintptr) {
		p.of[0] = unix.PollFd{Fd: int32(fd), Events: unix.POLLIN}
		_, _ = unix.Poll(p.of[:], socketWaitMillis) // the read tells what is wrong
	}
	return p
}

// wait returns when there is something to read, or soon.
func (p *socketWait) wait() { _ = p.raw.Control(p.poll) } // fails if it is closed, as the read will
