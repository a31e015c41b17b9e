package eventloop

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// patience is how long a caller may keep the loop. Excess is noticed within twice that time.
const patience = 20 * time.Millisecond

// Loop runs callers in turns on one goroutine, and waits for their connections by one epoll(7).
// It ends with the last caller.
type Loop struct {
	epoll, wakeup int // descriptors

	// Fields of the goroutine that has the loop.
	watched map[int32]*conn // by descriptor; those that were closed may stay
	ready   []*task         // from the first on
	first   int
	events  [64]unix.EpollEvent

	mu     sync.Mutex
	inbox  []arrival
	asleep bool // it is to be woken for the inbox
	users  int  // tasks, and whoever may still start some
	closed bool
	ended  chan struct{}
}

// arrival comes from another goroutine: a task that waits for a connection or, without a task, a
// connection whose task must not wait any longer.
type arrival struct {
	task *task
	conn *conn
}

// task is a caller, run as a coroutine. When it waits or leaves the loop, it yields to the
// goroutine that resumed it: the loop's, or its own while it may block.
type task struct {
	loop *Loop
	// next runs it until it yields for a connection, or for nil to leave the loop. It returns
	// false when the function has returned.
	next  func() (*conn, bool)
	yield func(*conn) bool // gives way; called by the function alone

	holdups int       // how often it kept the loop waiting, of late
	until   time.Time // it stays out of the loop until then
}

type taskKey struct{}

func taskOf(ctx context.Context) *task {
	t, _ := ctx.Value(taskKey{}).(*task)
	return t
}

// New starts a loop. It ends after Release when all functions of Go have returned.
func New() (*Loop, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	wakeup, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		_ = unix.Close(epoll) // nothing was written to it
		return nil, os.NewSyscallError("eventfd", err)
	}
	// Edge-triggered, so that it need not be read.
	event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET, Fd: int32(wakeup)}
	if err := unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, wakeup, &event); err != nil {
		_, _ = unix.Close(epoll), unix.Close(wakeup)
		return nil, os.NewSyscallError("epoll_ctl", err)
	}
	l := &Loop{epoll: epoll, wakeup: wakeup, watched: map[int32]*conn{}, users: 1, ended: make(chan struct{})}
	s := new(seat)
	go l.run(s)
	go l.watch(s)
	return l, nil
}

// Go runs a function in the loop, and returns at once. Only the function's own goroutine may use
// its context, which is for Attach and Leave.
func (l *Loop) Go(ctx context.Context, f func(ctx context.Context)) {
	l.mu.Lock()
	l.users++
	l.mu.Unlock()
	t := &task{loop: l}
	t.next, _ = iter.Pull(func(yield func(*conn) bool) {
		defer func() {
			if p := recover(); p != nil { // it comes up again where next was called
				panic(fmt.Sprintf("%v\n\n%s", p, debug.Stack()))
			}
		}()
		t.yield = yield
		f(context.WithValue(ctx, taskKey{}, t))
	})
	go t.alone()
}

// Release says that Go is not called any more.
func (l *Loop) Release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.users--; l.users == 0 {
		l.wake()
	}
}

// Leave moves the caller to a goroutine of its own, where it may block. It returns to the loop
// when it waits for an attached connection. Without a loop it does nothing.
func Leave(ctx context.Context) {
	if t := taskOf(ctx); t != nil {
		t.yield(nil)
	}
}

// alone runs the task on the calling goroutine until it waits for a connection.
func (t *task) alone() {
	for t.leave(t.next()) {
	}
}

// leave takes next's result outside of the loop. It is true if the task continues there.
func (t *task) leave(waits *conn, more bool) bool {
	switch {
	case !more:
		t.loop.Release()
		return false
	case waits != nil:
		t.loop.post(arrival{t, waits})
		return false
	}
	return true
}

// heldUp excludes a task that kept others waiting for 1 s, doubled at each repetition within 10
// s.
func (t *task) heldUp() {
	now := time.Now()
	if now.Sub(t.until) > 10*time.Second {
		t.holdups = 0
	}
	t.until = now.Add(time.Second << min(t.holdups, 6))
	t.holdups++
}

func (t *task) excluded() bool { return t.holdups > 0 && time.Now().Before(t.until) }

// seat is the place of the goroutine that has the loop. A task that blocks in the loop keeps the
// goroutine, and the loop gets another.
type seat struct {
	// turn is odd while a task runs; 0 then means that another goroutine has the loop.
	turn atomic.Uint64
}

// run has the loop until its end, or until a task has kept it for too long.
func (l *Loop) run(s *seat) {
	for t := l.next(); t != nil; t = l.next() {
		turn := s.turn.Add(1)
		waits, more := t.next()
		if !s.turn.CompareAndSwap(turn, turn+1) {
			t.heldUp()
			if t.leave(waits, more) {
				t.alone()
			}
			return
		}
		switch {
		case !more:
			l.Release()
		case waits == nil:
			go t.alone()
		default:
			l.await(t, waits)
		}
	}
}

func (l *Loop) watch(s *seat) {
	tick := time.NewTicker(patience)
	defer tick.Stop()
	for last := uint64(0); ; {
		select {
		case <-l.ended:
			return
		case <-tick.C:
		}
		turn := s.turn.Load()
		if turn%2 == 1 && turn == last && s.turn.CompareAndSwap(turn, 0) {
			s, turn = new(seat), 0
			go l.run(s)
		}
		last = turn
	}
}

// next waits for a ready task; nil when the last has ended.
func (l *Loop) next() *task {
	for l.first == len(l.ready) {
		l.ready, l.first = l.ready[:0], 0
		if !l.gather() {
			return nil
		}
	}
	t := l.ready[l.first]
	l.first++
	return t
}

// gather collects ready tasks, and waits if there are none. It is false when all have ended.
func (l *Loop) gather() bool {
	l.mu.Lock()
	if l.users == 0 {
		l.closed = true
		_, _ = unix.Close(l.epoll), unix.Close(l.wakeup)
		close(l.ended)
		l.mu.Unlock()
		return false
	}
	inbox := l.inbox
	l.inbox, l.asleep = nil, len(inbox) == 0
	l.mu.Unlock()
	for _, a := range inbox {
		if a.task != nil {
			l.await(a.task, a.conn)
		} else {
			l.stir(a.conn)
		}
	}
	if len(inbox) > 0 {
		return true
	}
	n, _ := unix.EpollWait(l.epoll, l.events[:], -1) // fails if a signal comes
	l.mu.Lock()
	l.asleep = false
	l.mu.Unlock()
	for i := range max(n, 0) {
		if c := l.watched[l.events[i].Fd]; c != nil {
			l.stir(c)
		}
	}
	return true
}

// await lets a task wait until there is something to read.
func (l *Loop) await(t *task, c *conn) {
	if !c.await(t) {
		l.ready = append(l.ready, t)
	}
}

// stir makes a connection's waiting task ready. Without one, the data has no reader, and the
// connection is not watched until it has one. A late arrival may be of a connection that another loop has
// by now, whose tasks run there alone.
func (l *Loop) stir(c *conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.loop != l {
		return
	}
	if c.waiting == nil {
		c.unwatch()
		return
	}
	l.ready = append(l.ready, c.waiting)
	c.waiting = nil
}

func (l *Loop) post(a arrival) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inbox = append(l.inbox, a)
	if l.asleep {
		l.asleep = false
		l.wake()
	}
}

// wake ends the loop's wait. l.mu is held.
func (l *Loop) wake() {
	_, _ = unix.Write(l.wakeup, binary.NativeEndian.AppendUint64(nil, 1)) // it is never full
}

// forget ends the watch over a descriptor before it is closed.
func (l *Loop) forget(fd int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		_ = unix.EpollCtl(l.epoll, unix.EPOLL_CTL_DEL, fd, nil) // fails if it is not watched
	}
}
