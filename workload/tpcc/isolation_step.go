package tpcc

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"assay/history"
	"assay/workload"
)

const (
	// firstLook is how long a transaction may take before the database is asked whether
	// it waits, and looks is how often it is asked then.
	firstLook = 5 * time.Millisecond
	looks     = 20 * time.Millisecond
	// waitBound is how long a transaction may take, where the database does not tell of
	// waits, until it counts as waiting.
	waitBound = 3 * time.Second
)

// errRolledBack ends a transaction that a test rolls back.
var errRolledBack = errors.New("tpcc: rolled back by the isolation test")

// terminal is one session of the tests. A session that cannot be used any more is
// replaced.
type terminal struct {
	connection workload.Connection[SteppedSession]
	// current is the transaction that stops of the session belong to.
	current *atomic.Pointer[stepped]
}

func newTerminal(ctx context.Context, store IsolationStore) (*terminal, error) {
	current := &atomic.Pointer[stepped]{}
	connection, err := workload.Connect(ctx, func(ctx context.Context) (SteppedSession, error) {
		return store.Stepped(ctx, func(at Point, read []int64) (again bool, err error) { return current.Load().stop(at, read) })
	})
	return &terminal{connection, current}, err
}

// command is what a transaction does that has stopped.
type command struct {
	again bool
	err   error
}

// stepped is a transaction that stops.
type stepped struct {
	ctx      context.Context
	terminal *terminal
	session  SteppedSession
	// at is where it stops, until it was told to end. Only the transaction's own
	// goroutine uses ending.
	at     Point
	ending bool

	arrivals chan []int64
	commands chan command
	replies  chan workload.Reply

	// What the test knows of it: whether it has ended and how, and whether it was seen
	// to wait for another one.
	over, waited bool
	reply        workload.Reply
}

// stop is the Stop of the session.
func (x *stepped) stop(at Point, read []int64) (again bool, err error) {
	if at != x.at || x.ending {
		return false, nil
	}
	select {
	case x.arrivals <- read:
	case <-x.ctx.Done():
		return false, x.ctx.Err()
	}
	select {
	case c := <-x.commands:
		x.ending = !c.again
		return c.again, c.err
	case <-x.ctx.Done():
		return false, x.ctx.Err()
	}
}

// start begins a transaction that stops at a point; 0 for none.
func (t *terminal) start(ctx context.Context, at Point, do func(context.Context, SteppedSession) workload.Reply) (*stepped, error) {
	session, err := t.connection.Session(ctx)
	if err != nil {
		return nil, fmt.Errorf("open a session: %w", err)
	}
	x := &stepped{ctx: ctx, terminal: t, session: session, at: at,
		arrivals: make(chan []int64), commands: make(chan command), replies: make(chan workload.Reply, 1)}
	t.current.Store(x)
	go func() { x.replies <- do(ctx, session) }()
	return x, nil
}

// arrive waits until the transaction stops, with what it has read, or has ended.
func (x *stepped) arrive() (read []int64, stopped bool, err error) {
	if x.over {
		return nil, false, nil
	}
	select {
	case read := <-x.arrivals:
		return read, true, nil
	case reply := <-x.replies:
		x.ended(reply)
		return nil, false, nil
	case <-x.ctx.Done():
		return nil, false, x.ctx.Err()
	}
}

// settle returns when the transaction, which does not stop, has ended or waits for
// another one.
func (x *stepped) settle() error {
	began, pause := time.Now(), firstLook
	for !x.waited {
		select {
		case reply := <-x.replies:
			x.ended(reply)
			return nil
		case <-x.ctx.Done():
			return x.ctx.Err()
		case <-time.After(pause):
			pause = looks
		}
		waiting, known, err := x.session.Waiting(x.ctx)
		if err != nil {
			return fmt.Errorf("ask whether a transaction waits: %w", err)
		}
		x.waited = waiting || !known && time.Since(began) >= waitBound
	}
	return nil
}

// ended takes the reply.
func (x *stepped) ended(reply workload.Reply) {
	x.over, x.reply = true, reply
	x.terminal.connection.After(reply.Outcome, reply.Broken)
}

// poll reports whether the transaction has ended, without waiting for that.
func (x *stepped) poll() bool {
	select {
	case reply := <-x.replies:
		x.ended(reply)
	default:
	}
	return x.over
}

// repeat has a transaction that has stopped read the same again; nil if it ends instead.
func (x *stepped) repeat() ([]int64, error) {
	if err := x.send(command{again: true}); err != nil {
		return nil, err
	}
	read, _, err := x.arrive()
	return read, err
}

// send gives a command to a transaction that has stopped, unless it has ended.
func (x *stepped) send(c command) error {
	if x.over {
		return nil
	}
	select {
	case x.commands <- c:
		return nil
	case reply := <-x.replies:
		x.ended(reply)
		return nil
	case <-x.ctx.Done():
		return x.ctx.Err()
	}
}

// end has a transaction that has stopped commit or, if rollBack, roll back, and waits
// for its end.
func (x *stepped) end(rollBack bool) error {
	c := command{}
	if rollBack {
		c.err = errRolledBack
	}
	if err := x.send(c); err != nil {
		return err
	}
	return x.finish()
}

// finish waits for the end of a transaction that does not stop any more.
func (x *stepped) finish() error {
	_, _, err := x.arrive()
	return err
}

// committed reports whether the transaction has ended so.
func (x *stepped) committed() bool { return x.over && x.reply.Outcome == history.Committed }

// refusal is the class of the error by which the database has kept this transaction
// apart from another one; empty if it has not.
func (x *stepped) refusal() string {
	if !x.over || x.reply.Outcome != history.Failed || errors.Is(x.reply.Err, errRolledBack) {
		return ""
	}
	switch x.reply.Class {
	case workload.ClassSerialization, workload.ClassDeadlock, workload.ClassLockTimeout:
		return x.reply.Class
	default:
		return ""
	}
}

// outcome describes how it ended.
func (x *stepped) outcome() string {
	switch {
	case !x.over:
		return "has not ended"
	case errors.Is(x.reply.Err, errRolledBack), x.reply.Class == ClassUnusedItem:
		return "is rolled back"
	case x.reply.Outcome == history.Committed:
		return "is committed"
	case x.refusal() != "":
		return "is refused: " + x.reply.Class
	default:
		return fmt.Sprintf("is %s: %s", x.reply.Outcome, x.reply.Class)
	}
}
