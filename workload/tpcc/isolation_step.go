package tpcc

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"assay/history"
	"assay/store"
)

const (
	// After firstLook, then every looks, the database is asked whether a transaction is blocked.
	firstLook = 5 * time.Millisecond
	looks     = 20 * time.Millisecond
	// If the database cannot tell, a transaction counts as blocked after waitBound.
	waitBound = 3 * time.Second
)

// Commands to a stopped transaction. The command nil lets it go on to its end.
var (
	errRolledBack = errors.New("tpcc: rolled back by the isolation test")
	errAgain      = errors.New("tpcc: read again")
)

// terminal is one session of the tests, replaced when it is unusable.
type terminal struct {
	connection store.Connection[*session]
	// current is the transaction of the session.
	current *atomic.Pointer[stepped]
}

func newTerminal(ctx context.Context, db store.Database) (*terminal, error) {
	current := &atomic.Pointer[stepped]{}
	connection, err := store.Connect(ctx, func(ctx context.Context) (*session, error) {
		return openSession(ctx, db, func(at Point, read []int64) (again bool, err error) { return current.Load().stop(at, read) })
	})
	return &terminal{connection, current}, err
}

type stepped struct {
	ctx      context.Context
	terminal *terminal
	session  *session
	// at is where the transaction stops, until ending. Only its own goroutine uses ending.
	at     Point
	ending bool

	arrivals chan []int64
	commands chan error
	replies  chan Reply

	// The test's knowledge: over with reply, or seen to wait for another transaction.
	over, waited bool
	reply        Reply
}

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
	case command := <-x.commands:
		if command == errAgain {
			return true, nil
		}
		x.ending = true
		return false, command
	case <-x.ctx.Done():
		return false, x.ctx.Err()
	}
}

// start begins a transaction that stops at a point; 0 means none.
func (t *terminal) start(ctx context.Context, at Point, do transaction) (*stepped, error) {
	session, err := t.connection.Session(ctx)
	if err != nil {
		return nil, fmt.Errorf("open a session: %w", err)
	}
	x := &stepped{ctx: ctx, terminal: t, session: session, at: at,
		arrivals: make(chan []int64), commands: make(chan error), replies: make(chan Reply, 1)}
	t.current.Store(x)
	go func() { x.replies <- do(ctx, session) }()
	return x, nil
}

// await waits until the transaction stops, and returns what it read, or is over.
func (x *stepped) await() (read []int64, err error) {
	if x.over {
		return nil, nil
	}
	select {
	case read = <-x.arrivals:
	case reply := <-x.replies:
		x.ended(reply)
	case <-x.ctx.Done():
		err = x.ctx.Err()
	}
	return read, err
}

// settle waits until a transaction that does not stop has ended or is blocked.
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
	select { // it may have ended meanwhile
	case reply := <-x.replies:
		x.ended(reply)
	default:
	}
	return nil
}

func (x *stepped) ended(reply Reply) {
	x.over, x.reply = true, reply
	x.terminal.connection.After(reply.Outcome, reply.Broken)
}

// send commands a stopped transaction, and waits until it stops again or is over.
func (x *stepped) send(command error) (read []int64, err error) {
	if x.over {
		return nil, nil
	}
	select {
	case x.commands <- command:
	case reply := <-x.replies:
		x.ended(reply)
	case <-x.ctx.Done():
		return nil, x.ctx.Err()
	}
	return x.await()
}

func (x *stepped) committed() bool { return x.over && x.reply.Outcome == history.Committed }

// refusal is the class of the conflict error that ended this transaction; empty if none did.
func (x *stepped) refusal() string {
	if x.over && x.reply.Conflict() && !errors.Is(x.reply.Err, errRolledBack) {
		return x.reply.Class
	}
	return ""
}

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
