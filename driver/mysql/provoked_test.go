package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	cluster "assay/cluster/mariadb"
	"assay/history"
	"assay/internal/expect"
	"assay/store"
	"assay/workload"
	"assay/workload/bank"
)

// scene is a loaded bank with one session and a plain connection as a rival.
type scene struct {
	t       *testing.T
	ctx     context.Context
	store   *bankStore
	session *bank.Session
	look    look // of the session
	rival   *sql.Conn
	seq     uint64
}

func setScene(t *testing.T, to store.Target) *scene {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), expect.Patience)
	t.Cleanup(cancel)
	s := &scene{t: t, ctx: ctx, store: openBank(t, target()), rival: admin(t)}
	t.Cleanup(func() {
		if err := s.store.Settle(ctx); err != nil {
			t.Error(err)
		}
		if err := s.store.Drop(ctx); err != nil {
			t.Error(err)
		}
		s.store.Close()
	})
	load(t, ctx, s.store)
	sessions := openBank(t, to)
	t.Cleanup(func() { sessions.Close() })
	session, err := sessions.Session(ctx)
	expect.NoError(t, err)
	s.session, s.look = session, sessions.below.last.Load().look
	t.Cleanup(s.session.Close)
	return s
}

func load(t *testing.T, ctx context.Context, db *bankStore) {
	t.Helper()
	mark := store.Marker{Run: "provoked", Workload: "bank", Rows: 4, Created: time.Now()}
	expect.NoError(t, db.Create(ctx, mark))
	accounts := []bank.Account{{ID: 1, Balance: 1000}, {ID: 2, Balance: 1000}, {ID: 3, Balance: 1000}, {ID: 4, Balance: 1000}}
	expect.NoError(t, db.LoadAccounts(ctx, accounts))
	expect.NoError(t, db.FinishLoad(ctx))
}

func (s *scene) next(source, destination int64) bank.Transfer {
	s.seq++
	return bank.Transfer{ID: workload.OperationID(1, s.seq), Source: source, Destination: destination, Amount: 10}
}

func (s *scene) start(ctx context.Context, t bank.Transfer) <-chan bank.Reply {
	reply := make(chan bank.Reply, 1)
	go func() { reply <- s.session.Transfer(ctx, t) }()
	return reply
}

// lockTableAge is how long innodb_trx must not be read before InnoDB refreshes it: 0.1 s
// (trx0i_s.cc, CACHE_MIN_IDLE_TIME).
const lockTableAge = 150 * time.Millisecond

func awaitLockWait(t *testing.T, ctx context.Context, id int64) {
	t.Helper()
	watcher := admin(t)
	for ctx.Err() == nil {
		time.Sleep(lockTableAge) // also at first: an earlier wait of the same connection may still be told
		if value(t, watcher, `SELECT count(*) FROM information_schema.innodb_trx WHERE trx_mysql_thread_id = ? AND trx_state = 'LOCK WAIT'`, id) == "1" {
			return
		}
	}
	t.Fatalf("connection %d never waited for a lock", id)
}

func (s *scene) rows(t bank.Transfer) string {
	s.t.Helper()
	return value(s.t, admin(s.t), `SELECT count(*) FROM assay_bank.transfer WHERE id = ?`, t.ID)
}

// wantFailed requires proof of no effect and a usable session.
func (s *scene) wantFailed(tr bank.Transfer, reply bank.Reply, class string) {
	s.t.Helper()
	if reply.Outcome != history.Failed || reply.Class != class || reply.Broken || reply.Duplicate || reply.Err == nil {
		s.t.Errorf("got %+v, want failed (%s)", reply, class)
	}
	if n := s.rows(tr); n != "0" {
		s.t.Errorf("a failed transfer has %s rows", n)
	}
	if next := s.session.Transfer(s.ctx, s.next(3, 4)); next.Outcome != history.Committed {
		s.t.Errorf("the next transfer of the session: %+v", next)
	}
	s.consistent()
}

// consistent requires accounts that agree with the journal.
func (s *scene) consistent() {
	s.t.Helper()
	wrong := value(s.t, admin(s.t), `SELECT count(*) FROM assay_bank.account a WHERE
		a.balance <> 1000 - (SELECT coalesce(sum(amount), 0) FROM assay_bank.transfer WHERE source = a.id)
			+ (SELECT coalesce(sum(amount), 0) FROM assay_bank.transfer WHERE destination = a.id)
		OR a.version <> (SELECT count(*) FROM assay_bank.transfer WHERE a.id IN (source, destination))`)
	if wrong != "0" {
		s.t.Errorf("%s accounts are not what the journal says", wrong)
	}
}

// TestDeadlock: the session, with account 1, waits for account 2. A rival with more locks, which
// InnoDB spares, closes the circle.
func TestDeadlock(t *testing.T) {
	s := setScene(t, target())
	exec(t, s.rival, `CREATE TABLE assay_bank.weight (id INT PRIMARY KEY)`)
	exec(t, s.rival, `START TRANSACTION`)
	exec(t, s.rival, `INSERT INTO assay_bank.weight VALUES (1),(2),(3),(4),(5),(6),(7),(8),(9)`)
	exec(t, s.rival, `UPDATE assay_bank.account SET version = version + 1 WHERE id = 2`)
	tr := s.next(2, 1)
	reply := s.start(s.ctx, tr)
	awaitLockWait(t, s.ctx, s.look.id)
	exec(t, s.rival, `UPDATE assay_bank.account SET version = version + 1 WHERE id = 1`)
	got := <-reply
	exec(t, s.rival, `ROLLBACK`)
	exec(t, s.rival, `DROP TABLE assay_bank.weight`)
	s.wantFailed(tr, got, store.ClassDeadlock)
}

// TestServersOwnTimeouts: after a lock timeout the server rolls back only the statement. The
// transfer's first half must go too.
func TestServersOwnTimeouts(t *testing.T) {
	for setting, class := range map[string]string{"innodb_lock_wait_timeout": store.ClassLockTimeout, "max_statement_time": store.ClassTimeout} {
		t.Run(setting, func(t *testing.T) {
			s := setScene(t, target(parameter(setting, "1")))
			exec(t, s.rival, `START TRANSACTION`)
			exec(t, s.rival, `UPDATE assay_bank.account SET version = version + 1 WHERE id = 2`)
			tr := s.next(1, 2)
			got := s.session.Transfer(s.ctx, tr)
			exec(t, s.rival, `ROLLBACK`)
			s.wantFailed(tr, got, class)
		})
	}
}

// TestKilledBeforeItsCommitWasSent: an end in the middle of a transfer, sent statement by
// statement, proves no effect.
func TestKilledBeforeItsCommitWasSent(t *testing.T) {
	s := setScene(t, target(parameter("statements", "apart")))
	exec(t, s.rival, `START TRANSACTION`)
	exec(t, s.rival, `UPDATE assay_bank.account SET version = version + 1 WHERE id = 2`)
	tr := s.next(1, 2)
	reply := s.start(s.ctx, tr)
	awaitLockWait(t, s.ctx, s.look.id)
	exec(t, admin(t), `KILL CONNECTION ?`, s.look.id)
	got := <-reply
	exec(t, s.rival, `ROLLBACK`)
	if got.Outcome != history.Failed || !got.Broken || got.Err == nil || s.rows(tr) != "0" {
		t.Errorf("got %+v and %s rows, want failed, broken", got, s.rows(tr))
	}
	s.consistent()
}

func TestSnapshotIsolationOfTransfers(t *testing.T) {
	s := setScene(t, at("repeatable read", parameter("innodb_snapshot_isolation", "ON")))
	exec(t, s.rival, `START TRANSACTION`)
	exec(t, s.rival, `UPDATE assay_bank.account SET version = version WHERE id = 1`)
	tr := s.next(1, 2)
	reply := s.start(s.ctx, tr)
	exec(t, s.rival, `COMMIT`)
	if got := <-reply; got.Outcome != history.Committed {
		t.Errorf("a transfer that reads nothing before it locks: %+v", got)
	}
	s.consistent()
}

func TestReadOnlyTransactions(t *testing.T) {
	s := setScene(t, target(parameter("tx_read_only", "1")))
	tr := s.next(1, 2)
	got := s.session.Transfer(s.ctx, tr)
	if got.Outcome != history.Failed || got.Class != store.ClassReadOnly || s.rows(tr) != "0" {
		t.Errorf("got %+v", got)
	}
}

// TestServerTurnsReadOnly under a session of an unprivileged user.
func TestServerTurnsReadOnly(t *testing.T) {
	conn := admin(t)
	exec(t, conn, "CREATE USER plain@'%' IDENTIFIED BY 'plain'")
	t.Cleanup(func() { exec(t, admin(t), `DROP USER plain@'%'`) })
	exec(t, conn, "GRANT ALL ON `assay\\_%`.* TO plain@'%'")
	s := setScene(t, target(user("plain", "plain")))
	if got := s.session.Transfer(s.ctx, s.next(1, 2)); got.Outcome != history.Committed {
		t.Fatalf("a user with the privileges that are asked for: %+v", got)
	}
	exec(t, conn, `SET GLOBAL read_only = 1`)
	t.Cleanup(func() { exec(t, admin(t), `SET GLOBAL read_only = 0`) })
	tr := s.next(1, 2)
	got := s.session.Transfer(s.ctx, tr)
	if got.Outcome != history.Failed || got.Class != store.ClassReadOnly || !got.Broken {
		t.Errorf("got %+v, want failed (%s) and a session to be replaced", got, store.ClassReadOnly)
	}
	exec(t, conn, `SET GLOBAL read_only = 0`)
	if n := s.rows(tr); n != "0" {
		t.Errorf("a failed transfer has %s rows", n)
	}
	s.consistent()
}

// TestEndedByTheServer: the statement, then the connection, of a waiting transfer is killed.
func TestEndedByTheServer(t *testing.T) {
	s := setScene(t, target())
	exec(t, s.rival, `START TRANSACTION`)
	exec(t, s.rival, `UPDATE assay_bank.account SET version = version + 1 WHERE id = 2`)
	watcher := admin(t)

	tr := s.next(1, 2)
	reply := s.start(s.ctx, tr)
	awaitLockWait(t, s.ctx, s.look.id)
	exec(t, watcher, `KILL QUERY ?`, s.look.id)
	s.wantFailed(tr, <-reply, store.ClassTimeout)

	tr = s.next(1, 2)
	reply = s.start(s.ctx, tr)
	awaitLockWait(t, s.ctx, s.look.id)
	exec(t, watcher, `KILL CONNECTION ?`, s.look.id)
	got := <-reply
	if got.Outcome != history.Unknown || !got.Broken || got.Err == nil {
		t.Errorf("got %+v, want unknown, broken", got)
	}
	exec(t, s.rival, `ROLLBACK`)
	if n := s.rows(tr); n != "0" {
		t.Errorf("%s rows of a transaction that was ended", n)
	}
	again := s.session.Transfer(s.ctx, s.next(1, 2))
	if again.Outcome != history.Failed || again.Class != store.ClassLost || !again.Broken {
		t.Errorf("a transfer on the dead session: %+v, want failed (%s), broken: nothing was sent", again, store.ClassLost)
	}
	s.consistent()
}

// TestCancelledWhileItWaits abandons a transfer that the server continues, and settles.
func TestCancelledWhileItWaits(t *testing.T) {
	for name, release := range map[string]string{"it gets its lock": "COMMIT", "it never does": ""} {
		t.Run(name, func(t *testing.T) {
			s := setScene(t, target())
			exec(t, s.rival, `START TRANSACTION`)
			value(t, s.rival, `SELECT id FROM assay_bank.account WHERE id = 2 FOR UPDATE`)
			ctx, cancel := context.WithCancel(s.ctx)
			tr := s.next(1, 2)
			reply := s.start(ctx, tr)
			awaitLockWait(t, s.ctx, s.look.id)
			cancel()
			got := <-reply
			if got.Outcome != history.Unknown || got.Class != store.ClassTimeout || !got.Broken {
				t.Errorf("got %+v, want unknown (%s)", got, store.ClassTimeout)
			}
			s.session.Close()
			if release != "" {
				exec(t, s.rival, release)
			}
			expect.NoError(t, s.store.Settle(s.ctx))
			rows := s.rows(tr)
			if release == "" && rows != "0" {
				t.Errorf("%s rows of a transfer that could not go on", rows)
			}
			if release == "" {
				exec(t, s.rival, `ROLLBACK`)
			}
			if later := s.rows(tr); later != rows {
				t.Errorf("%s rows once settled, %s later", rows, later)
			}
			s.consistent()
		})
	}
}

// TestSettleLeavesOthersAlone: another client works in our database.
func TestSettleLeavesOthersAlone(t *testing.T) {
	s := setScene(t, target())
	stranger := admin(t)
	exec(t, stranger, `USE assay_bank`)
	// As a session of another run: only the run's id in its name differs.
	exec(t, stranger, `DO GET_LOCK(CONCAT('assay_bank another-run ', CONNECTION_ID()), 0)`)
	other := openBank(t, target())
	defer other.Close()
	abandoned, err := other.Session(s.ctx)
	expect.NoError(t, err)
	own, err := s.store.Session(s.ctx)
	expect.NoError(t, err)
	defer own.Close()
	expect.NoError(t, s.store.Settle(s.ctx))
	if value(t, stranger, `SELECT DATABASE()`) != "assay_bank" {
		t.Error("the stranger was sent away")
	}
	if r := own.Transfer(s.ctx, s.next(1, 2)); r.Outcome != history.Committed {
		t.Errorf("an own session that is open: %+v", r)
	}
	if r := abandoned.Transfer(s.ctx, s.next(1, 2)); r.Outcome == history.Committed {
		t.Errorf("a session of another Store was left: %+v", r)
	}
	for _, session := range []*bank.Session{abandoned, s.session} {
		session.Close()
	}
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	if err := s.store.Settle(ctx); err == nil {
		t.Error("settled with a context that is over")
	}
}

// TestShutdown stops the server under a waiting transfer. A prepared transaction holds the lock: a
// plain one may be rolled back first, and the transfer commits.
func TestShutdown(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), expect.Patience)
	defer cancel()
	m, err := cluster.Start(ctx, cluster.Options{Password: secret})
	expect.NoError(t, err)
	expect.AtEnd(t, m.Close)
	db := openBank(t, target(atHosts(m.Node(0).Address())))
	defer db.Close()
	load(t, ctx, db)
	session, err := db.Session(ctx)
	expect.NoError(t, err)
	defer session.Close()
	rival := connectTo(t, m.Node(0).Address())
	exec(t, rival, `XA START 'rival'`)
	exec(t, rival, `UPDATE assay_bank.account SET version = version + 1 WHERE id = 2`)
	exec(t, rival, `XA END 'rival'`)
	exec(t, rival, `XA PREPARE 'rival'`)
	reply := make(chan bank.Reply, 1)
	go func() {
		reply <- session.Transfer(ctx, bank.Transfer{ID: 1, Source: 1, Destination: 2, Amount: 10})
	}()
	for value(t, rival, `SELECT count(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'`) != "1" {
		if ctx.Err() != nil {
			t.Fatal("the transfer never waited for a lock")
		}
		time.Sleep(lockTableAge)
	}
	expect.NoError(t, m.Node(0).Stop(ctx))
	if got := <-reply; got.Outcome != history.Unknown || !got.Broken {
		t.Errorf("got %+v, want unknown, broken", got)
	}
	if _, err := db.Session(ctx); err == nil {
		t.Error("a session on a server that is gone")
	}
	if err := db.Settle(ctx); err != nil {
		t.Errorf("Settle on a server that is gone: %v", err)
	}
	expect.NoError(t, m.Restart(ctx, 0))
	rows := value(t, connectTo(t, m.Node(0).Address()), fmt.Sprintf(`SELECT count(*) FROM %s.transfer`, "assay_bank"))
	if rows != "0" {
		t.Errorf("%s rows of a transfer that the shutdown ended", rows)
	}
}
