package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"sync/atomic"

	codes "modernc.org/sqlite/lib"

	"assay/driver/sqldb"
	"assay/history"
	"assay/workload"
)

// connection is one session's, with its prepared statements.
type connection struct {
	file *file
	db   *sql.DB
	conn *sql.Conn
	// abandoned is true once a transaction runs on without its caller; it
	// closes the connection when it ends.
	abandoned  bool
	statements []*sql.Stmt
	names      []string             // of the statements
	inserts    map[string]*sql.Stmt // by their texts
	queued     atomic.Bool          // it waits for the writer's turn
}

// dial opens a connection and prepares the statements. It queues with the
// writers: with a rollback journal SQLite would have to poll for a gap between
// them.
func (f *file) dial(ctx context.Context, statements ...string) (*connection, error) {
	if err := f.mustExist(ctx); err != nil {
		return nil, err
	}
	if err := f.write(ctx); err != nil {
		return nil, f.explain("open session", err)
	}
	defer f.done()
	db, err := f.writing()
	if err != nil {
		return nil, f.explain("open session", err)
	}
	l := &connection{file: f, db: db, inserts: make(map[string]*sql.Stmt)}
	if err := l.prepare(ctx, statements); err != nil {
		return nil, f.explain("open session", errors.Join(err, l.release()))
	}
	return l, nil
}

func (l *connection) prepare(ctx context.Context, statements []string) (err error) {
	if l.conn, err = l.db.Conn(ctx); err != nil {
		return err
	}
	for _, text := range statements {
		statement, err := l.conn.PrepareContext(ctx, text)
		if err != nil {
			return err
		}
		l.statements = append(l.statements, statement)
	}
	return nil
}

// release closes the statements, without which SQLite keeps the file open, and
// the connection.
func (l *connection) release() error {
	var err error
	for _, s := range l.statements {
		err = errors.Join(err, s.Close())
	}
	if l.conn != nil {
		err = errors.Join(err, l.conn.Close())
	}
	return errors.Join(err, l.db.Close())
}

// Close ends the session.
func (l *connection) Close() {
	if !l.abandoned {
		// Nothing is open on the connection, and nobody is left to tell.
		_ = l.release()
	}
}

// ending is how one transaction ended.
type ending struct {
	workload.Reply
	// refused is true if the work itself did not want to commit, and was rolled
	// back; only Broken says something then.
	refused bool
	// left is true if the caller left before the transaction had ended, so
	// that the work may still go on.
	left bool
}

// failed is the ending of what certainly had no effect on a session that is
// not to be trusted any more.
func failed(err error, class string) ending {
	return ending{Reply: workload.Reply{Outcome: history.Failed, Class: class, Err: err, Broken: true}}
}

// read is the reply to a transaction that only reads. It has no effect, so that
// one without an answer has failed.
func (e ending) read() workload.Reply {
	if e.left || e.Outcome != history.Committed {
		e.Outcome = history.Failed
	}
	return e.Reply
}

// run is one transaction, shared by its caller and the goroutine that does it.
type run struct {
	// writes is true if it may write.
	writes bool
	// doing names it in errors.
	doing string
	// work does everything between BEGIN and COMMIT and says whether COMMIT
	// may follow.
	work func(ctx context.Context) (commit bool, err error)
	// stage decides whether the commit can still be prevented.
	stage atomic.Int32
	// ending decides who came first, the end of the transaction or the end of
	// the caller's patience.
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

// do does a transaction. SQLite cannot be interrupted while it waits for the
// disk, so the transaction has its own goroutine and is the writer
// until it is over; the caller leaves when ctx ends.
//
// With the write-ahead log "readers do not block writers and a writer does not
// block readers" (https://www.sqlite.org/wal.html), so that who only reads does
// not queue.
func (l *connection) do(ctx context.Context, x *run) ending {
	if l.abandoned {
		return failed(errors.New("sqlite: "+x.doing+": the session was abandoned before"), workload.ClassLost)
	}
	queue := x.writes || l.file.journal != "wal"
	if queue {
		l.queued.Store(true)
		err := l.file.write(ctx)
		if l.queued.Store(false); err != nil { // nothing was begun
			e := failed(l.file.explain("wait to write", err), workload.ClassTimeout)
			e.Broken = false
			return e
		}
	}
	answer := make(chan ending, 1)
	go func() {
		e := l.transact(ctx, x)
		if !x.ending.CompareAndSwap(endingNone, endingAnswered) {
			_ = l.release() // nobody is left to tell
			l.file.leftovers.end()
		}
		if queue {
			l.file.done()
		}
		answer <- e
	}()
	select {
	case e := <-answer:
		return e
	case <-ctx.Done():
	}
	forbidden := x.stage.CompareAndSwap(stageOpen, stageForbidden)
	l.file.leftovers.add() // before it can end
	if !x.ending.CompareAndSwap(endingNone, endingAbandoned) {
		l.file.leftovers.end()
		return <-answer
	}
	l.abandoned = true
	e := ending{Reply: workload.Reply{Class: workload.ClassTimeout, Err: l.file.explain("commit", ctx.Err()), Broken: true}}
	if forbidden {
		e = failed(l.file.explain(x.doing, ctx.Err()), workload.ClassTimeout)
	}
	e.left = true
	return e
}

// transact does the whole transaction. Whatever goes wrong before COMMIT is
// sent has no effect: SQLite makes nothing permanent without it, and rolls
// back when the connection is closed or the process dies.
func (l *connection) transact(ctx context.Context, x *run) ending {
	background := context.Background()
	begin := "BEGIN"
	if x.writes {
		begin = "BEGIN IMMEDIATE"
	}
	// Only the wait for another process's lock heeds the context.
	if _, err := l.conn.ExecContext(ctx, begin); err != nil {
		e := failed(l.file.explain("begin", err), classOf(err))
		if e.Broken = primary(err) != codes.SQLITE_BUSY; e.Broken {
			// It may have begun at the very moment in which the context ended.
			_, _ = l.conn.ExecContext(background, "ROLLBACK")
		}
		return e
	}
	commit, err := x.work(background)
	e := ending{refused: true}
	switch {
	case err != nil:
		e = failed(l.file.explain(x.doing, err), classOf(err))
		e.Broken = violated(err) == sqldb.NoViolation && !errors.Is(err, sqldb.ErrRollback)
	case commit && !x.stage.CompareAndSwap(stageOpen, stageCommitting):
		e = failed(l.file.explain(x.doing, ctx.Err()), workload.ClassTimeout)
	case commit:
		if _, err := l.conn.ExecContext(background, "COMMIT"); err != nil {
			return l.uncommitted(background, err)
		}
		return ending{Reply: workload.Reply{Outcome: history.Committed}}
	}
	if _, err := l.conn.ExecContext(background, "ROLLBACK"); err != nil {
		e.Broken = true
	}
	return e
}

// uncommitted judges an error of COMMIT.
//
// SQLITE_BUSY leaves the transaction open (https://www.sqlite.org/lang_transaction.html),
// and if it can then be rolled back it had no effect. After any other error
// SQLite takes the transaction back as well, but that is no proof: when the
// disk is full or fails, the record that makes the transaction valid may
// already be in the write-ahead log, followed by a write or a sync that
// failed. This process then goes on without it, but if it dies before the
// record is overwritten, recovery finds the record and the transaction comes
// back. With a rollback journal the same holds for an error while the journal
// is deleted. So the outcome is unknown.
func (l *connection) uncommitted(ctx context.Context, err error) ending {
	e := ending{Reply: workload.Reply{Class: classOf(err), Err: l.file.explain("commit", err), Broken: true}}
	if primary(err) != codes.SQLITE_BUSY {
		return e
	}
	if _, err := l.conn.ExecContext(ctx, "ROLLBACK"); err == nil {
		e.Outcome, e.Broken = history.Failed, false
	}
	return e
}
