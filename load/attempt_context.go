package load

import (
	"context"
	"sync"
	"time"
)

// attemptLimit gives each of a worker's successive attempts a context with a time limit. One timer
// serves all attempts and is set again only when it has fired, so that most attempts set none. The
// next attempt reuses a context that was not looked at. context.WithTimeout would need a timer, a
// channel and an entry in its parent for each attempt, more than the engine's other work.
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

// newAttemptLimit returns the limit of a worker. The end of parent ends its attempts. now is the
// time of the run.
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

// begin returns the context of an attempt that starts at this time of the run, in nanoseconds. The
// caller must call end before the next begin.
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

// end ends the attempt. A context that was looked at may be kept by somebody, so it is ended and
// not reused. A context kept without a look at it ends with a later attempt.
func (l *attemptLimit) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.current; c.used || c.err != nil {
		c.end(context.Canceled)
		l.next = nil
	}
	l.current = nil
}

func (l *attemptLimit) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.detach()
	if l.timer != nil {
		l.timer.Stop()
	}
}

// attemptContext is the context of one attempt. Through its method AfterFunc, package context adds
// dependents without a goroutine. The limit's mutex guards its fields.
type attemptContext struct {
	limit    *attemptLimit
	deadline int64 // in the time of the run
	used     bool  // somebody has looked at it
	err      error
	done     chan struct{} // nil until somebody asks for it
	after    []func()      // nil those that were taken back
}

func (c *attemptContext) time() time.Time { return c.limit.start.Add(time.Duration(c.deadline)) }

// end ends the context unless it has ended. The caller holds the limit's mutex.
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

func (c *attemptContext) Deadline() (time.Time, bool) {
	c.lock()
	defer c.limit.mu.Unlock()
	return c.time(), true
}

// lock also notes that the context was looked at.
func (c *attemptContext) lock() {
	c.limit.mu.Lock()
	c.used = true
}

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

func (c *attemptContext) Err() error {
	c.lock()
	defer c.limit.mu.Unlock()
	return c.err
}

func (c *attemptContext) Value(key any) any { return c.limit.parent.Value(key) }

// AfterFunc does the same as context.AfterFunc.
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
