package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	codes "modernc.org/sqlite/lib"

	"assay/driver/sqldb"
	"assay/history"
	"assay/store"
)

// connection is one session's, with a goroutine that does its transactions.
type connection struct {
	file   *file
	handle *handle
	// over is true after Close, or while a transaction runs on without its caller. In the second
	// case the goroutine closes the connection at the transaction's end.
	over bool
	// asked takes one transaction at a time and answers gives each reply. Closing asked ends the
	// goroutine.
	asked      chan *run
	answers    chan ending
	control    [4]statement // by the constants below
	statements []statement
	names      []string             // of the statements
	inserts    map[string]statement // by their texts
	users      sqldb.PreparedTexts
	queued     atomic.Bool // it waits for the writer's turn
}

const (
	begin = iota
	beginWriting
	commit
	rollback
)

// dial opens a connection and prepares the statements. It queues with the writers: with a rollback
// journal SQLite would poll for a gap between them.
func (f *file) dial(ctx context.Context, statements ...string) (*connection, error) {
	if err := f.mustExist(ctx); err != nil {
		return nil, err
	}
	if err := f.write(ctx); err != nil {
		return nil, f.explain("open session", err)
	}
	defer f.done()
	l, err := f.newConnection(ctx, statements)
	if err != nil {
		return nil, f.explain("open session", err)
	}
	go l.serve()
	return l, nil
}

// newConnection requires the writer's turn. Without serve, call transact.
func (f *file) newConnection(ctx context.Context, statements []string) (*connection, error) {
	h, err := openHandle(ctx, f.writingName())
	if err != nil {
		return nil, err
	}
	l := &connection{file: f, handle: h, inserts: make(map[string]statement), users: sqldb.PreparedTexts{Connection: h.raw}, asked: make(chan *run), answers: make(chan ending, 1)}
	for i, text := range [...]string{begin: "BEGIN", beginWriting: "BEGIN IMMEDIATE", commit: "COMMIT", rollback: "ROLLBACK"} {
		if l.control[i], err = h.prepare(text); err != nil {
			return nil, errors.Join(err, l.release())
		}
	}
	for _, text := range statements {
		prepared, err := h.prepare(text)
		if err != nil {
			return nil, errors.Join(err, l.release())
		}
		l.statements = append(l.statements, prepared)
	}
	return l, nil
}

func (l *connection) release() error {
	var err error
	for _, s := range slices.Concat(l.control[:], l.statements) {
		if s != nil {
			err = errors.Join(err, s.Close())
		}
	}
	return errors.Join(err, l.users.Close(), l.handle.close())
}

func (l *connection) Close() {
	if !l.over {
		l.over = true
		close(l.asked)
		// Nothing is open, and nobody is left to tell.
		_ = l.release()
	}
}

type ending struct {
	store.Reply
	// left is true if the caller left first. The work may then still run.
	left bool
}

// failed is the ending of a transaction without effect; its session cannot be trusted any more.
func failed(err error, class string) ending {
	return ending{Reply: store.Reply{Outcome: history.Failed, Class: class, Err: err, Broken: true}}
}

// read is the reply to a reading transaction. It has no effect, so without an answer it has failed.
func (e ending) read() store.Reply {
	if e.left || e.Outcome != history.Committed {
		e.Outcome = history.Failed
	}
	return e.Reply
}

// run is a transaction, shared by its caller and the connection's goroutine.
type run struct {
	// writes allows writing. queues says that it holds the writer's turn until its end.
	writes, queues bool
	doing          string
	// work runs between BEGIN and COMMIT and returns whether to commit.
	work func() (commit bool, err error)
	// texts, unless nil, replaces work and the control of the transaction.
	texts func() store.Reply
	// stage decides whether the commit can still be prevented.
	stage atomic.Int32
	// ending decides which came first: the transaction's end, or the caller's leaving.
	ending atomic.Int32
}

const (
	stageOpen int32 = iota
	stageCommitting
	stageForbidden
)

const (
	endingNone int32 = iota
	endingAnswered
	endingAbandoned
)

// do does a transaction. SQLite cannot be interrupted while it waits for the disk. So the
// connection's goroutine does the work and keeps the writer's turn to the end, and the caller
// leaves when ctx ends. One goroutine serves all transactions, since a new one would grow its stack
// each time.
//
// With a write-ahead log readers and writers do not block each other
// (https://www.sqlite.org/wal.html), so readers do not queue.
func (l *connection) do(ctx context.Context, x *run) ending {
	if l.over {
		return failed(errors.New("sqlite: "+x.doing+": the session has ended before"), store.ClassLost)
	}
	if err := ctx.Err(); err != nil { // an answer that is there at once would hide it
		e := failed(l.file.explain(x.doing, err), store.ClassTimeout)
		e.Broken = false
		return e
	}
	if x.queues = x.writes || l.file.journal != "wal"; x.queues {
		l.queued.Store(true)
		err := l.file.write(ctx)
		if l.queued.Store(false); err != nil { // nothing was begun
			e := failed(l.file.explain("wait to write", err), store.ClassTimeout)
			e.Broken = false
			return e
		}
	}
	l.asked <- x
	select {
	case e := <-l.answers:
		return e
	case <-ctx.Done():
	}
	forbidden := x.stage.CompareAndSwap(stageOpen, stageForbidden)
	l.file.leftovers.add() // before it can end
	if !x.ending.CompareAndSwap(endingNone, endingAbandoned) {
		l.file.leftovers.end()
		return <-l.answers
	}
	l.over = true
	e := ending{Reply: store.Reply{Class: store.ClassTimeout, Err: l.file.explain("commit", ctx.Err()), Broken: true}}
	if forbidden {
		e = failed(l.file.explain(x.doing, ctx.Err()), store.ClassTimeout)
	}
	e.left = true
	return e
}

func (l *connection) serve() {
	for x := range l.asked {
		e := l.transact(x)
		left := !x.ending.CompareAndSwap(endingNone, endingAnswered)
		if left {
			_ = l.release() // nobody is left to tell
			l.file.leftovers.end()
		}
		if x.queues {
			l.file.done()
		}
		if left {
			return
		}
		l.answers <- e
	}
}

// errLeft: the transaction was not committed, because its caller has left.
var errLeft = fmt.Errorf("the caller has left: %w", context.Canceled)

// transact does a whole transaction. A failure before COMMIT has no effect: SQLite rolls back when
// the connection is closed or the process dies.
func (l *connection) transact(x *run) ending {
	if x.texts != nil {
		return ending{Reply: x.texts()}
	}
	opening := begin
	if x.writes {
		opening = beginWriting
	}
	if _, err := l.handle.execute(l.control[opening], nil); err != nil {
		e := failed(l.file.explain("begin", err), classOf(err))
		e.Broken = primary(err) != codes.SQLITE_BUSY
		return e
	}
	wanted, err := x.work()
	var e ending // of what did not want to commit only Broken says something
	switch {
	case err != nil:
		e = failed(l.file.explain(x.doing, err), classOf(err))
		e.Broken = violated(err) == store.NoViolation && !errors.Is(err, store.ErrRollback)
	case wanted && !x.stage.CompareAndSwap(stageOpen, stageCommitting):
		e = failed(l.file.explain(x.doing, errLeft), store.ClassTimeout)
	case wanted:
		if _, err := l.handle.execute(l.control[commit], nil); err != nil {
			return l.uncommitted(err)
		}
		return ending{Reply: store.Reply{Outcome: history.Committed}}
	}
	if _, err := l.handle.execute(l.control[rollback], nil); err != nil {
		e.Broken = true
	}
	return e
}

// uncommitted judges an error of COMMIT.
//
// SQLITE_BUSY leaves the transaction open (https://www.sqlite.org/lang_transaction.html). If it can
// then be rolled back, it had no effect. Other errors prove nothing, although SQLite takes the
// transaction back. On a full or failing disk, the commit record may be in the write-ahead log
// before a write or sync fails. If the process dies before the record is overwritten, recovery
// brings the transaction back. An error while a rollback journal is deleted does the same.
func (l *connection) uncommitted(err error) ending {
	e := ending{Reply: store.Reply{Class: classOf(err), Err: l.file.explain("commit", err), Broken: true}}
	if primary(err) != codes.SQLITE_BUSY {
		return e
	}
	if _, err := l.handle.execute(l.control[rollback], nil); err == nil {
		e.Outcome, e.Broken = history.Failed, false
	}
	return e
}
