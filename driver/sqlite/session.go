package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"sync/atomic"

	codes "modernc.org/sqlite/lib"

	"assay/history"
	"assay/workload/bank"
)

// session is one connection with its prepared statements.
type session struct {
	store *store
	db    *sql.DB
	conn  *sql.Conn
	// abandoned is true once a transaction runs on without its caller; it
	// closes the connection when it ends.
	abandoned bool

	known, exists, debit, credit, insert *sql.Stmt
}

// Session implements bank.Store. It queues with the writers: with a rollback
// journal SQLite would have to poll for a gap between them.
func (s *store) Session(ctx context.Context) (bank.Session, error) {
	if err := s.mustExist(ctx); err != nil {
		return nil, err
	}
	if err := s.write(ctx); err != nil {
		return nil, s.explain("open session", err)
	}
	defer s.done()
	db, err := s.writing()
	if err != nil {
		return nil, s.explain("open session", err)
	}
	n := &session{store: s, db: db}
	if err := n.prepare(ctx); err != nil {
		return nil, s.explain("open session", errors.Join(err, n.release()))
	}
	return n, nil
}

func (n *session) prepare(ctx context.Context) (err error) {
	if n.conn, err = n.db.Conn(ctx); err != nil {
		return err
	}
	statements := []struct {
		to  **sql.Stmt
		sql string
	}{
		{&n.known, "SELECT 1 FROM assay_transfer WHERE id = ?"},
		{&n.exists, "SELECT 1 FROM assay_account WHERE id = ?"},
		{&n.debit, `UPDATE assay_account SET balance = balance - ?1, version = version + 1
			WHERE id = ?2 AND balance >= ?1 RETURNING balance, version`},
		{&n.credit, `UPDATE assay_account SET balance = balance + ?1, version = version + 1
			WHERE id = ?2 RETURNING balance, version`},
		{&n.insert, `INSERT INTO assay_transfer (id, source, destination, amount, source_version, destination_version)
			VALUES (?, ?, ?, ?, ?, ?)`},
	}
	for _, s := range statements {
		if *s.to, err = n.conn.PrepareContext(ctx, s.sql); err != nil {
			return err
		}
	}
	return nil
}

// release closes the statements, without which SQLite keeps the file open, and
// the connection.
func (n *session) release() error {
	var err error
	for _, s := range []*sql.Stmt{n.known, n.exists, n.debit, n.credit, n.insert} {
		if s != nil {
			err = errors.Join(err, s.Close())
		}
	}
	if n.conn != nil {
		err = errors.Join(err, n.conn.Close())
	}
	return errors.Join(err, n.db.Close())
}

// Close implements bank.Session.
func (n *session) Close() {
	if !n.abandoned {
		// Nothing is open on the connection, and nobody is left to tell.
		_ = n.release()
	}
}

// run is one transaction, shared by its caller and the goroutine that does it.
type run struct {
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

// Transfer implements bank.Session. SQLite cannot be interrupted while it
// waits for the disk, so the transaction has its own goroutine and keeps the
// writer's place until it is over; the caller leaves when ctx ends.
func (n *session) Transfer(ctx context.Context, t bank.Transfer) bank.Reply {
	if n.abandoned {
		return failed(errors.New("sqlite: transfer: the session was abandoned before"), bank.ClassLost)
	}
	if err := n.store.write(ctx); err != nil { // nothing was begun
		return bank.Reply{Outcome: history.Failed, Class: bank.ClassTimeout, Err: n.store.explain("wait to write", err)}
	}
	var x run
	answer := make(chan bank.Reply, 1)
	go func() {
		r := n.transact(ctx, t, &x)
		if !x.ending.CompareAndSwap(endingNone, endingAnswered) {
			_ = n.release() // nobody is left to tell
		}
		n.store.done()
		answer <- r
	}()
	select {
	case r := <-answer:
		return r
	case <-ctx.Done():
	}
	forbidden := x.stage.CompareAndSwap(stageOpen, stageForbidden)
	if !x.ending.CompareAndSwap(endingNone, endingAbandoned) {
		return <-answer
	}
	n.abandoned = true
	if forbidden {
		return failed(n.store.explain("transfer", ctx.Err()), bank.ClassTimeout)
	}
	return bank.Reply{Broken: true, Class: bank.ClassTimeout, Err: n.store.explain("commit", ctx.Err())}
}

// failed is the reply for what certainly had no effect on a session that is
// not to be trusted any more.
func failed(err error, class string) bank.Reply {
	return bank.Reply{Outcome: history.Failed, Class: class, Err: err, Broken: true}
}

// transact does the whole transaction. Whatever goes wrong before COMMIT is
// sent has no effect: SQLite makes nothing permanent without it, and rolls
// back when the connection is closed or the process dies.
func (n *session) transact(ctx context.Context, t bank.Transfer, x *run) bank.Reply {
	background := context.Background()
	// Only the wait for another process's lock heeds the context.
	if _, err := n.conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		r := failed(n.store.explain("begin", err), classOf(err))
		if r.Broken = primary(err) != codes.SQLITE_BUSY; r.Broken {
			// It may have begun at the very moment in which the context ended.
			_, _ = n.conn.ExecContext(background, "ROLLBACK")
		}
		return r
	}
	r, err := n.work(background, t)
	if err != nil {
		r = failed(n.store.explain("transfer", err), classOf(err))
	}
	if r.Outcome == history.Committed && !x.stage.CompareAndSwap(stageOpen, stageCommitting) {
		r = failed(n.store.explain("transfer", ctx.Err()), bank.ClassTimeout)
	}
	if r.Outcome != history.Committed {
		if _, err := n.conn.ExecContext(background, "ROLLBACK"); err != nil {
			r.Broken = true
		}
		return r
	}
	if _, err := n.conn.ExecContext(background, "COMMIT"); err != nil {
		return n.uncommitted(background, err)
	}
	return r
}

// uncommitted judges an error of COMMIT.
//
// SQLITE_BUSY leaves the transaction open (https://www.sqlite.org/lang_transaction.html),
// and if it can then be rolled back it had no effect. After any other error
// SQLite takes the transaction back as well, but that is no proof: when the
// disk is full or fails, the record that makes the transaction valid may
// already be in the write-ahead log, followed by a write or a sync that
// failed. This process then goes on without it, but if it dies before the
// place is overwritten, recovery finds the record and the transaction comes
// back. With a rollback journal the same holds for an error while the journal
// is deleted. So the outcome is unknown.
func (n *session) uncommitted(ctx context.Context, err error) bank.Reply {
	r := bank.Reply{Broken: true, Class: classOf(err), Err: n.store.explain("commit", err)}
	if primary(err) != codes.SQLITE_BUSY {
		return r
	}
	if _, err := n.conn.ExecContext(ctx, "ROLLBACK"); err == nil {
		r.Outcome, r.Broken = history.Failed, false
	}
	return r
}

// work does everything between BEGIN and COMMIT; a Committed reply means that
// COMMIT may follow.
func (n *session) work(ctx context.Context, t bank.Transfer) (bank.Reply, error) {
	if there, err := found(n.known.QueryRowContext(ctx, t.ID)); err != nil {
		return bank.Reply{}, err
	} else if there {
		return bank.Reply{Outcome: history.Failed, Duplicate: true, Class: bank.ClassDuplicate}, nil
	}
	r := bank.Reply{Outcome: history.Committed}
	err := n.debit.QueryRowContext(ctx, t.Amount, t.Source).Scan(&r.Source.Balance, &r.Source.Version)
	if errors.Is(err, sql.ErrNoRows) {
		there, err := found(n.exists.QueryRowContext(ctx, t.Source))
		class := bank.ClassNoAccount
		if there {
			class = bank.ClassNoFunds
		}
		return bank.Reply{Outcome: history.Rejected, Class: class}, err
	}
	if err != nil {
		return r, err
	}
	err = n.credit.QueryRowContext(ctx, t.Amount, t.Destination).Scan(&r.Destination.Balance, &r.Destination.Version)
	if errors.Is(err, sql.ErrNoRows) {
		return bank.Reply{Outcome: history.Rejected, Class: bank.ClassNoAccount}, nil
	}
	if err != nil {
		return r, err
	}
	_, err = n.insert.ExecContext(ctx, t.ID, t.Source, t.Destination, t.Amount, r.Source.Version, r.Destination.Version)
	return r, err
}

// found reports whether a query for one number gave a row.
func found(row *sql.Row) (bool, error) {
	var one int
	switch err := row.Scan(&one); {
	case errors.Is(err, sql.ErrNoRows):
		return false, nil
	default:
		return err == nil, err
	}
}
