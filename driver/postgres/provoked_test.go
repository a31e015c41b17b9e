package postgres

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	cluster "assay/cluster/postgres"
	"assay/driver/drivertest"
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
	// connection is the session's.
	connection *connection
	rival      *pgx.Conn
	seq        uint64
}

// setScene loads four accounts of 1000 and opens a session on the target.
func setScene(t *testing.T, to store.Target) *scene {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), expect.Patience)
	t.Cleanup(cancel)
	s := &scene{t: t, ctx: ctx, store: openBank(t, target(t)), rival: admin(t)}
	t.Cleanup(func() {
		if err := s.store.Drop(ctx); err != nil {
			t.Error(err)
		}
		if err := s.store.Close(); err != nil {
			t.Error(err)
		}
	})
	load(t, ctx, s.store)
	sessions := openBank(t, to)
	t.Cleanup(func() { sessions.Close() })
	var err error
	if s.session, err = sessions.Session(ctx); err != nil {
		t.Fatal(err)
	}
	s.connection = sessions.below.session().Wire.(*connection)
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

// awaitWait returns the process id of a named session that waits for an event of the kind.
func awaitWait(t *testing.T, ctx context.Context, watcher *pgx.Conn, name, kind, event string) (pid int32) {
	t.Helper()
	for ctx.Err() == nil {
		err := watcher.QueryRow(ctx, `SELECT coalesce(max(pid), 0) FROM pg_stat_activity
			WHERE application_name = $1 AND wait_event_type = $2 AND ($3 = '' OR wait_event = $3)`, name, kind, event).Scan(&pid)
		expect.NoError(t, err)
		if pid != 0 {
			return pid
		}
		time.Sleep(2 * time.Millisecond)
	}
	t.Fatalf("%s never waited for %s %s", name, kind, event)
	return 0
}

func (s *scene) rows(t bank.Transfer) (n int) {
	s.t.Helper()
	err := admin(s.t).QueryRow(s.ctx, `SELECT count(*) FROM assay_bank.transfer WHERE id = $1`, t.ID).Scan(&n)
	expect.NoError(s.t, err)
	return n
}

// wantFailed requires proof of no effect and a usable session.
func (s *scene) wantFailed(tr bank.Transfer, reply bank.Reply, class string) {
	s.t.Helper()
	if reply.Outcome != history.Failed || reply.Class != class || reply.Broken || reply.Duplicate || reply.Err == nil {
		s.t.Errorf("got %+v, want failed (%s)", reply, class)
	}
	if n := s.rows(tr); n != 0 {
		s.t.Errorf("a failed transfer has %d rows", n)
	}
	if next := s.session.Transfer(s.ctx, s.next(3, 4)); next.Outcome != history.Committed {
		s.t.Errorf("the next transfer of the session: %+v", next)
	}
}

func TestDeadlock(t *testing.T) {
	s := setScene(t, target(t, parameter("deadlock_timeout", "200ms")))
	// The session must close the circle, to be the one that finds it. It waits at account 1 until the
	// rival, which has account 2, waits too. (A lock holds it: after an update the rival could
	// overtake it on the way to the row's new version.)
	blocker := admin(t)
	exec(t, blocker, `BEGIN`)
	exec(t, blocker, `SELECT FROM assay_bank.account WHERE id = 1 FOR UPDATE`)
	exec(t, s.rival, `SET application_name = 'rival'`)
	exec(t, s.rival, `SET deadlock_timeout = '1h'`)
	exec(t, s.rival, `BEGIN`)
	exec(t, s.rival, `UPDATE assay_bank.account SET version = version WHERE id = 2`)
	watcher := admin(t)
	tr := s.next(2, 1)
	reply := s.start(s.ctx, tr)
	awaitWait(t, s.ctx, watcher, bankSessionName, "Lock", "")
	released := make(chan error, 1)
	go func() {
		_, err := s.rival.Exec(s.ctx, `UPDATE assay_bank.account SET version = version WHERE id = 1`)
		released <- err
	}()
	awaitWait(t, s.ctx, watcher, "rival", "Lock", "")
	exec(t, blocker, `COMMIT`)
	got := <-reply
	expect.NoError(t, <-released)
	exec(t, s.rival, `ROLLBACK`)
	s.wantFailed(tr, got, store.ClassDeadlock)
}

// TestSerializationFailure: a row changes while the session waits for it.
func TestSerializationFailure(t *testing.T) {
	for _, isolation := range []string{"repeatable read", "serializable"} {
		t.Run(isolation, func(t *testing.T) {
			to := target(t)
			to.Isolation = isolation
			s := setScene(t, to)
			exec(t, s.rival, `BEGIN`)
			exec(t, s.rival, `UPDATE assay_bank.account SET version = version WHERE id = 1`)
			tr := s.next(1, 2)
			reply := s.start(s.ctx, tr)
			awaitWait(t, s.ctx, admin(t), bankSessionName, "Lock", "")
			counting, is := store.As[store.Counting](s.store.Database)
			if !is {
				t.Fatal("it does not tell of waits")
			}
			waits, err := counting.Waits(s.ctx)
			if err != nil || !slices.ContainsFunc(waits, func(w store.Wait) bool { return strings.Contains(w.Name, "a Lock wait") && w.Value > 0 }) {
				t.Errorf("waits %+v, %v", waits, err)
			}
			exec(t, s.rival, `COMMIT`)
			s.wantFailed(tr, <-reply, store.ClassSerialization)
		})
	}
}

func TestServersOwnTimeouts(t *testing.T) {
	for setting, class := range map[string]string{
		"lock_timeout": store.ClassLockTimeout, "statement_timeout": store.ClassTimeout,
	} {
		t.Run(setting, func(t *testing.T) {
			s := setScene(t, target(t, parameter(setting, "200ms")))
			exec(t, s.rival, `BEGIN`)
			exec(t, s.rival, `UPDATE assay_bank.account SET version = version WHERE id = 2`)
			tr := s.next(1, 2)
			got := s.session.Transfer(s.ctx, tr)
			exec(t, s.rival, `ROLLBACK`)
			s.wantFailed(tr, got, class)
		})
	}
}

func TestReadOnlyServer(t *testing.T) {
	s := setScene(t, target(t, parameter("default_transaction_read_only", "on")))
	tr := s.next(1, 2)
	if got := s.session.Transfer(s.ctx, tr); got.Outcome != history.Failed || got.Class != store.ClassReadOnly {
		t.Errorf("got %+v", got)
	}
}

// TestEndedByTheServer: the statement, then the connection, of a waiting transfer is killed.
func TestEndedByTheServer(t *testing.T) {
	s := setScene(t, target(t))
	exec(t, s.rival, `BEGIN`)
	exec(t, s.rival, `UPDATE assay_bank.account SET version = version WHERE id = 2`)
	watcher := admin(t)

	tr := s.next(1, 2)
	reply := s.start(s.ctx, tr)
	exec(t, watcher, `SELECT pg_cancel_backend($1)`, awaitWait(t, s.ctx, watcher, bankSessionName, "Lock", ""))
	s.wantFailed(tr, <-reply, store.ClassTimeout)

	tr = s.next(1, 2)
	reply = s.start(s.ctx, tr)
	exec(t, watcher, `SELECT pg_terminate_backend($1)`, awaitWait(t, s.ctx, watcher, bankSessionName, "Lock", ""))
	got := <-reply
	if got.Outcome != history.Unknown || got.Class != store.ClassShutdown || !got.Broken || got.Err == nil {
		t.Errorf("got %+v, want unknown (%s), broken", got, store.ClassShutdown)
	}
	exec(t, s.rival, `ROLLBACK`)
	if n := s.rows(tr); n != 0 {
		t.Errorf("%d rows of a transaction that was ended", n)
	}
	again := s.session.Transfer(s.ctx, s.next(1, 2))
	if again.Outcome != history.Failed || again.Class != store.ClassLost || !again.Broken {
		t.Errorf("a transfer on the dead session: %+v, want failed (%s), broken: nothing was sent", again, store.ClassLost)
	}
}

// TestErrorsOfCommitItself: deferred constraints refuse at COMMIT. A violated constraint proves no
// effect, other errors do not.
func TestErrorsOfCommitItself(t *testing.T) {
	s := setScene(t, target(t))
	exec(t, s.rival, `ALTER TABLE assay_bank.transfer ADD CONSTRAINT late UNIQUE (amount) DEFERRABLE INITIALLY DEFERRED`)
	if got := s.session.Transfer(s.ctx, s.next(1, 2)); got.Outcome != history.Committed {
		t.Fatalf("got %+v", got)
	}
	tr := s.next(1, 2)
	got := s.session.Transfer(s.ctx, tr)
	exec(t, s.rival, `ALTER TABLE assay_bank.transfer DROP CONSTRAINT late`)
	s.wantFailed(tr, got, store.ClassConstraint)

	exec(t, s.rival, `CREATE FUNCTION assay_bank.refuse() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN RAISE EXCEPTION 'no'; END $$`)
	exec(t, s.rival, `CREATE CONSTRAINT TRIGGER late AFTER INSERT ON assay_bank.transfer
		DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION assay_bank.refuse()`)
	if got := s.session.Transfer(s.ctx, s.next(1, 2)); got.Outcome != history.Unknown || got.Class != store.ClassOther || !got.Broken {
		t.Errorf("got %+v, want unknown", got)
	}
	exec(t, s.rival, `DROP FUNCTION assay_bank.refuse() CASCADE`)
}

func TestCommitAnsweredByRollback(t *testing.T) {
	s := setScene(t, target(t, parameter("default_query_exec_mode", "exec")))
	s.connection.texts[commit].Text = "ROLLBACK"
	tr := s.next(1, 2)
	got := s.session.Transfer(s.ctx, tr)
	if got.Outcome != history.Failed || got.Broken || s.rows(tr) != 0 {
		t.Errorf("got %+v and %d rows", got, s.rows(tr))
	}
}

// TestStandbyGivenUp cancels the wait for a missing synchronous standby: the commit is there, but
// not as requested. No setting of the server's hides its warning. A repetition that meets it is not
// acknowledged either.
func TestStandbyGivenUp(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), expect.Patience)
	defer cancel()
	node, err := cluster.Start(ctx, cluster.Options{Settings: []string{"synchronous_standby_names=nobody", "client_min_messages=error"}})
	expect.NoError(t, err)
	expect.AtEnd(t, node.Close)
	local, err := url.Parse(node.Address())
	expect.NoError(t, err)
	parameter("synchronous_commit", "local")(local)
	loader := openBank(t, store.Target{Address: local.String()})
	defer loader.Close()
	load(t, ctx, loader)
	db := openBank(t, store.Target{Address: node.Address()})
	defer db.Close()
	session, err := db.Session(ctx)
	expect.NoError(t, err)
	defer session.Close()
	tr := bank.Transfer{ID: 1, Source: 1, Destination: 2, Amount: 10}
	reply := make(chan bank.Reply, 1)
	go func() { reply <- session.Transfer(ctx, tr) }()
	watcher, err := pgx.Connect(ctx, local.String())
	expect.NoError(t, err)
	defer watcher.Close(ctx)
	exec(t, watcher, `SELECT pg_cancel_backend($1)`, awaitWait(t, ctx, watcher, bankSessionName, "IPC", "SyncRep"))
	if got := <-reply; got.Outcome != history.Unknown || got.Class != classNotReplicated || got.Err == nil {
		t.Errorf("got %+v, want unknown (%s)", got, classNotReplicated)
	}
	if read, err := drivertest.ReadAll(ctx, loader.Store); err != nil || len(read.Entries) != 1 {
		t.Errorf("%d rows, %v: the server had committed", len(read.Entries), err)
	}
	again, err := db.Session(ctx)
	expect.NoError(t, err)
	defer again.Close()
	met := again.Transfer(ctx, tr)
	answer := met.Answer(bank.KindTransfer)
	met.Repeated(&answer, 2, true)
	if !met.Duplicate || !answer.Done || answer.Confirmed || answer.Class != store.ClassMet {
		t.Errorf("the repetition got %+v, answered %+v", met, answer)
	}
}

// TestSettleEndsWhatIsAbandoned: the client of a waiting session is gone, and a silent network
// hides that from the server.
func TestSettleEndsWhatIsAbandoned(t *testing.T) {
	u, err := url.Parse(server.Address())
	expect.NoError(t, err)
	proxy := drivertest.NewProxy(t, u.Host)
	s := setScene(t, target(t, host(proxy.Addr())))
	exec(t, s.rival, `BEGIN`)
	exec(t, s.rival, `UPDATE assay_bank.account SET version = version WHERE id = 2`)
	tr := s.next(1, 2)
	ctx, abandon := context.WithCancel(s.ctx)
	reply := s.start(ctx, tr)
	awaitWait(t, s.ctx, admin(t), bankSessionName, "Lock", "")
	proxy.Freeze()
	abandon()
	if got := <-reply; got.Outcome != history.Unknown || got.Class != store.ClassTimeout || !got.Broken {
		t.Errorf("got %+v, want unknown (%s), broken", got, store.ClassTimeout)
	}
	s.session.Close()
	short, cancel := context.WithTimeout(s.ctx, 50*time.Millisecond)
	defer cancel()
	if err := s.store.Settle(short); err == nil {
		t.Error("Settle passes over a transfer that is still in flight")
	}
	expect.NoError(t, s.store.Settle(s.ctx))
	exec(t, s.rival, `COMMIT`) // nobody is left to take the lock
	if n := s.rows(tr); n != 0 {
		t.Errorf("%d rows of a transfer that took effect after Settle", n)
	}
}

func TestReadIsOneSnapshot(t *testing.T) {
	s := setScene(t, target(t))
	var total int64
	entries, accounts := 0, 0
	err := s.store.Read(s.ctx, func(a bank.Account) error {
		if accounts++; accounts == 1 {
			if got := s.session.Transfer(s.ctx, s.next(2, 1)); got.Outcome != history.Committed {
				t.Errorf("transfer during Read: %+v", got)
			}
		}
		total += a.Balance
		return nil
	}, func(bank.Entry) error { entries++; return nil })
	if err != nil || total != 4000 || entries != 0 {
		t.Errorf("read %d in all and %d rows, %v; want the state before the transfer", total, entries, err)
	}
}
