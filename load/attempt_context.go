package load

import (
	"context"
	"sync"
	"time"
)

// attemptLimit bounds the attempts of one worker, which follow one another, each by a
// context of its own. It has one timer for all of them, which is set again only when it
// has fired: an attempt that ends long before its limit sets none. A context that nobody
// has looked at is used for the next attempt. A context.WithTimeout for each attempt takes
// a timer, a channel and an entry in its parent, which is more than all else that the
// engine does for an operation.
type attemptLimit struct {
	parent  context.Context
	timeout time.Duration
	start   time.Time // of the run

	mu      sync.Mutex
	current *attemptContext // nil between two attempts
	next    *attemptContext // nil if it is to be made
	timer   *time.Timer
	armed   bool // the timer will fire
	ended   bool // parent has ended
	detach  func() bool
}

// newAttemptLimit returns the limit of a worker whose attempts end with parent too. now
// is the time of the run.
func newAttemptLimit(parent context.Context, timeout time.Duration, now int64) *attemptLimit {
	l := &attemptLimit{parent: parent, timeout: timeout, start: time.Now().Add(-time.Duration(now))}
	l.detach = context.AfterFunc(parent, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.ended = true
		l.current.end(parent.Err())
	})
	return l
}

// begin returns the context of an attempt that starts at this time of the run, in
// nanoseconds. end is to be called before the next.
func (l *attemptLimit) begin(start int64) *attemptContext {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.next == nil {
		l.next = &attemptContext{limit: l}
	}
	c := l.next
	c.deadline = start + int64(l.timeout)
	l.current = c
	switch {
	case l.ended:
		c.end(l.parent.Err())
	case l.timer == nil:
		l.timer, l.armed = time.AfterFunc(l.timeout, l.expire), true
	case !l.armed:
		l.timer.Reset(l.timeout)
		l.armed = true
	}
	return c
}

// expire ends the attempt whose time is over, or waits for the end of its time.
func (l *attemptLimit) expire() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.armed = false
	if l.current == nil {
		return
	}
	if left := time.Until(l.current.time()); left > 0 {
		l.timer.Reset(left)
		l.armed = true
		return
	}
	l.current.end(context.DeadlineExceeded)
}

// end ends the context of the attempt that is over, if anybody has looked at it: it may be
// kept, and is not used again. Whoever has kept one without a look at it sees the end of
// the next attempt instead.
func (l *attemptLimit) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.current; c.used || c.err != nil {
		c.end(context.Canceled)
		l.next = nil
	}
	l.current = nil
}

// close frees what the limit holds; there are no further attempts.
func (l *attemptLimit) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.detach()
	if l.timer != nil {
		l.timer.Stop()
	}
}

// attemptContext is the context of one attempt. It has an AfterFunc method, by which
// package context adds what depends on it without a goroutine. Its fields are guarded by
// the limit's mutex.
type attemptContext struct {
	limit    *attemptLimit
	deadline int64 // in the time of the run
	used     bool  // somebody has looked at it
	err      error
	done     chan struct{} // nil until somebody asks for it
	after    []func()      // nil those that were taken back
}

func (c *attemptContext) time() time.Time { return c.limit.start.Add(time.Duration(c.deadline)) }

// end ends the context unless it has ended. The limit's mutex is held.
func (c *attemptContext) end(err error) {
	if c == nil || c.err != nil {
		return
	}
	c.err = err
	if c.done != nil {
		close(c.done)
	}
	for _, call := range c.after {
		if call != nil {
			go call()
		}
	}
	c.after = nil
}

// Deadline implements context.Context.
func (c *attemptContext) Deadline() (time.Time, bool) {
	c.lock()
	defer c.limit.mu.Unlock()
	return c.time(), true
}

// lock locks the limit's mutex for one who looks at the context.
func (c *attemptContext) lock() {
	c.limit.mu.Lock()
	c.used = true
}

// Done implements context.Context.
func (c *attemptContext) Done() <-chan struct{} {
	c.lock()
	defer c.limit.mu.Unlock()
	if c.done == nil {
		c.done = make(chan struct{})
		if c.err != nil {
			close(c.done)
		}
	}
	return c.done
}

// Err implements context.Context.
func (c *attemptContext) Err() error {
	c.lock()
	defer c.limit.mu.Unlock()
	return c.err
}

// Value implements context.Context.
func (c *attemptContext) Value(key any) any { return c.limit.parent.Value(key) }

// AfterFunc has call called in a goroutine of its own when the context has ended, and
// returns what prevents that, as context.AfterFunc does.
func (c *attemptContext) AfterFunc(call func()) (stop func() bool) {
	c.lock()
	defer c.limit.mu.Unlock()
	if c.err != nil {
		go call()
		return func() bool { return false }
	}
	n := len(c.after)
	c.after = append(c.after, call)
	return func() bool {
		c.limit.mu.Lock()
		defer c.limit.mu.Unlock()
		if n >= len(c.after) || c.after[n] == nil { // it has ended, or this was called before
			return false
		}
		c.after[n] = nil
		return true
	}
}
