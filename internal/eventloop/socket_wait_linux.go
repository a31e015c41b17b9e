package eventloop

import (
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// socketWait waits in the kernel for a socket to become readable, as pgbench does. Go's poller
// parks the goroutine and wakes threads by futex(2); see docs/internals/performance.md. The wait
// holds a thread and a processor of the runtime, so it is for a single caller and needs a second
// processor.
type socketWait struct {
	raw  syscall.RawConn
	poll func(fd uintptr)
	of   [1]unix.PollFd
}

// socketWaitMillis is the wait before Go's poller takes over, which notices a context's end.
const socketWaitMillis = 1

func newSocketWait(of socket) *socketWait {
	p := new(socketWait)
	if runtime.GOMAXPROCS(0) < 2 {
		return p
	}
	p.raw, _ = of.SyscallConn() // fails if it is closed, as the read will
	p.poll = func(fd uintptr) {
		p.of[0] = unix.PollFd{Fd: int32(fd), Events: unix.POLLIN}
		_, _ = unix.Poll(p.of[:], socketWaitMillis) // the read tells what is wrong
	}
	return p
}

func (p *socketWait) wait() {
	if p.raw != nil {
		_ = p.raw.Control(p.poll) // fails if it is closed, as the read will
	}
}
