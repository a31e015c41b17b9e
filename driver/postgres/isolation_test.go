package postgres

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	cluster "assay/cluster/postgres"
	"assay/driver/drivertest"
	"assay/driver/sqldb"
	"assay/history"
	"assay/store"
	"assay/workload"
	"assay/workload/isolation"
)

const isolationSessionName = "assay isolation session desk"

func at(t *testing.T, level string, changes ...func(*url.URL)) workload.Target {
	t.Helper()
	to := target(t, changes...)
	to.Isolation = level
	return to
}

// steps is an isolation session whose transactions a test may do one operation at
// a time.
type steps struct {
	*isolation.Session
	t *sqldb.Session
	c *connection // below it
}

// operate does one operation, the first of a transaction with its beginning.
func (s *steps) operate(ctx context.Context, op *isolation.Op) error {
	return s.Operate(ctx, s.t.Steps(), op)
}

func (s *steps) failed(ctx context.Context, err error) workload.Reply {
	return s.t.End(ctx, err).Reply
}

func (s *steps) commit(ctx context.Context) workload.Reply { return s.t.End(ctx, nil).Reply }

// isolationStore is the database, and the schema below it, which keeps the connection
// of the last session.
type isolationStore struct {
	store.Database
	below *connects
}

type connects struct {
	*schema
	last atomic.Pointer[sqldb.Session] // sessions are opened at the same time
}

func (s *connects) Connect(ctx context.Context, statements []sqldb.Statement) (sqldb.Connection, error) {
	c, err := s.schema.Connect(ctx, statements)
	if err == nil {
		s.last.Store(c.(*sqldb.Session))
	}
	return c, err
}

func newIsolation(t *testing.T, to workload.Target) *isolationStore {
	t.Helper()
	s, err := openSchema(context.Background(), to, isolation.Schema())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	below := &connects{schema: s}
	s.Server = below
	return &isolationStore{s, below}
}

// desk is an empty isolation schema, and sessions on it at one level.
type desk struct {
	t     *testing.T
	ctx   context.Context
	store *isolationStore
}

// sitDown makes the schema and opens the sessions' Store on the target.
func sitDown(t *testing.T, to workload.Target) *desk {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	maker := newIsolation(t, target(t))
	if err := maker.Create(ctx, workload.Marker{Run: "desk", Workload: "isolation", Created: time.Now()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := maker.Settle(ctx); err != nil {
			t.Error(err)
		}
		if err := maker.Drop(ctx); err != nil {
			t.Error(err)
		}
	})
	return &desk{t, ctx, newIsolation(t, to)}
}

func (d *desk) session() *steps {
	d.t.Helper()
	session, err := isolation.Open(d.ctx, d.store)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(session.Close)
	last := d.store.below.last.Load()
	return &steps{session, last, last.Wire.(*connection)}
}

// commit does a transaction that must commit.
func (d *desk) commit(s *steps, ops ...isolation.Op) []isolation.Op {
	d.t.Helper()
	if r := s.Do(d.ctx, ops); r.Outcome != history.Committed || r.Class != "" || r.Err != nil {
		d.t.Fatalf("%+v: %+v, want committed", ops, r)
	}
	return ops
}

// state reads everything.
func (d *desk) state() (lists map[int64][]int64, registers map[int64]int64) {
	d.t.Helper()
	lists, registers = map[int64][]int64{}, map[int64]int64{}
	var order []int64
	err := isolation.Read(d.ctx, d.store, func(key int64, elements []int64) error {
		lists[key], order = elements, append(order, key)
		return nil
	}, func(key, value int64) error {
		registers[key] = value
		return nil
	})
	if err != nil || !slices.IsSorted(order) {
		d.t.Fatalf("Read: lists %v, %v", order, err)
	}
	return lists, registers
}

func element(key, value int64) isolation.Op {
	return isolation.Op{Kind: isolation.Append, Key: key, Value: value}
}

func TestIsolationPromise(t *testing.T) {
	for level, want := range map[string]string{
		"": "read-committed", "read committed": "read-committed",
		"repeatable-read": "snapshot-isolation", "serializable": "serializable",
	} {
		if got := newIsolation(t, at(t, level)).Promises().Model; got != want {
			t.Errorf("%q promises %q, want %q", level, got, want)
		}
	}
	for level, want := range map[string]string{
		"read uncommitted": "read-committed", "repeatable read": "snapshot-isolation", "serializable": "serializable",
	} {
		store := newIsolation(t, target(t, parameter("default_transaction_isolation", level)))
		product, err := store.Describe(context.Background())
		if got := store.Promises().Model; got != want || err != nil || product.Settings[0].Value != level {
			t.Errorf("by default %s: promises %q, described as %+v, %v", level, got, product.Settings[0], err)
		}
	}
	if _, err := Open(context.Background(), at(t, "snapshot"), isolation.Schema()); !errors.As(err, new(*workload.OptionError)) {
		t.Errorf("got %v", err)
	}
	if _, err := promised(postgresql(), "perhaps"); err == nil {
		t.Error("a level that nobody knows promises something")
	}
}

// TestIsolationLevelIsInForce asks the server for the level of a session's
// transaction.
func TestIsolationLevelIsInForce(t *testing.T) {
	for _, level := range []string{"read committed", "repeatable read", "serializable"} {
		d := sitDown(t, at(t, "", parameter("default_transaction_isolation", level)))
		s := d.session()
		op := isolation.Op{Kind: isolation.ReadValue, Key: 1}
		if err := s.operate(d.ctx, &op); err != nil {
			t.Fatal(err)
		}
		var got string
		result := s.c.conn.ExecParams(d.ctx, "SELECT current_setting('transaction_isolation')", nil, nil, nil, nil).Read()
		if result.Err == nil {
			got = string(result.Rows[0][0])
		}
		if result.Err != nil || got != level {
			t.Errorf("%q, %v; want %q", got, result.Err, level)
		}
		if err := s.c.Leave(d.ctx, nil); err != nil {
			t.Error(err)
		}
	}
}

// TestLostUpdate has two sessions rewrite one list: both have read it before
// either writes.
func TestLostUpdate(t *testing.T) {
	for level, loses := range map[string]bool{"read committed": true, "repeatable read": false, "serializable": false} {
		t.Run(level, func(t *testing.T) {
			d := sitDown(t, at(t, level))
			d.commit(d.session(), element(2, 1))
			blocker := admin(t)
			exec(t, blocker, `BEGIN`)
			exec(t, blocker, `SELECT FROM assay_isolation.list FOR UPDATE`)
			replies := make(chan workload.Reply, 2)
			for _, value := range []int64{10, 20} {
				s := d.session()
				go func() {
					replies <- s.Do(d.ctx, []isolation.Op{{Kind: isolation.AppendByRewrite, Key: 2, Value: value}})
				}()
			}
			awaitWaiting(t, d.ctx, isolationSessionName, 2)
			exec(t, blocker, `COMMIT`)
			committed := 0
			for range 2 {
				r := <-replies
				switch {
				case r.Outcome == history.Committed:
					committed++
				case r.Outcome != history.Failed || r.Class != workload.ClassSerialization || r.Broken:
					t.Errorf("got %+v, want failed (%s)", r, workload.ClassSerialization)
				}
			}
			lists, _ := d.state()
			if lost := committed - (len(lists[2]) - 1); (lost != 0) != loses || loses != (committed == 2) {
				t.Errorf("%d committed and the list is %v: %d lost", committed, lists[2], lost)
			}
		})
	}
}

// awaitWaiting waits until n sessions of this name wait for locks.
func awaitWaiting(t *testing.T, ctx context.Context, name string, n int) {
	t.Helper()
	watcher := admin(t)
	for ctx.Err() == nil {
		var waiting int
		if err := watcher.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity
			WHERE application_name = $1 AND wait_event_type = 'Lock'`, name).Scan(&waiting); err != nil {
			t.Fatal(err)
		}
		if waiting == n {
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
	t.Fatalf("%d sessions never waited at the same time", n)
}

// TestWriteSkew has two sessions read a pair before either has committed.
func TestWriteSkew(t *testing.T) {
	for level, skews := range map[string]bool{"read committed": true, "repeatable read": true, "serializable": false} {
		t.Run(level, func(t *testing.T) {
			d := sitDown(t, at(t, level))
			sessions := []*steps{d.session(), d.session()}
			var failures []workload.Reply
			done := func(r workload.Reply) {
				if r.Outcome != history.Committed {
					failures = append(failures, r)
				}
			}
			for side, s := range sessions {
				op := isolation.Op{Kind: isolation.Withdraw, Key: 5, Value: int64(side)}
				if err := s.operate(d.ctx, &op); err != nil {
					done(s.failed(d.ctx, err))
				} else if op.Result != 3 {
					t.Errorf("side %d read %b", side, op.Result)
				}
			}
			for _, s := range sessions {
				if s.c.conn.TxStatus() == open {
					done(s.commit(d.ctx))
				}
			}
			op := d.commit(d.session(), isolation.Op{Kind: isolation.Withdraw, Key: 5, Value: 0})[0]
			if (op.Result == 0) != skews || (len(failures) == 0) != skews {
				t.Errorf("the pair is %b, failures: %+v", op.Result, failures)
			}
			for _, r := range failures {
				if r.Outcome != history.Failed || r.Class != workload.ClassSerialization || r.Broken {
					t.Errorf("got %+v", r)
				}
			}
		})
	}
}

// TestPhantom counts a group twice while it grows in between.
func TestPhantom(t *testing.T) {
	for level, want := range map[string]int64{"read committed": 1, "repeatable read": 0, "serializable": 0} {
		d := sitDown(t, at(t, level))
		s := d.session()
		counts := make([]isolation.Op, 2)
		for i := range counts {
			counts[i] = isolation.Op{Kind: isolation.Count, Key: 1}
			if err := s.operate(d.ctx, &counts[i]); err != nil {
				t.Fatal(err)
			}
			d.commit(d.session(), isolation.Op{Kind: isolation.Insert, Key: 1, Value: int64(i)})
		}
		if r := s.commit(d.ctx); r.Outcome != history.Committed || counts[0].Value != 0 || counts[1].Value != want {
			t.Errorf("%s: %+v, %+v", level, counts, r)
		}
	}
}

// wantOutcome also wants the session to be as usable as the reply says.
func (d *desk) wantOutcome(s *steps, r workload.Reply, outcome history.Outcome, class string, broken bool) {
	d.t.Helper()
	if r.Outcome != outcome || r.Class != class || r.Broken != broken || r.Err == nil {
		d.t.Errorf("got %+v, want %v (%s), broken %t", r, outcome, class, broken)
	}
	if !r.Broken {
		d.commit(s, element(1000, 1))
	}
}

func TestIsolationDeadlock(t *testing.T) {
	d := sitDown(t, at(t, "", parameter("deadlock_timeout", "100ms")))
	d.commit(d.session(), element(2, 1), element(4, 1))
	type end struct {
		session *steps
		reply   workload.Reply
	}
	ends := make(chan end, 2)
	sessions := []*steps{d.session(), d.session()}
	for i, s := range sessions {
		op := element(int64(2+2*i), 2)
		if err := s.operate(d.ctx, &op); err != nil {
			t.Fatal(err)
		}
	}
	for i, s := range sessions {
		go func() {
			op := element(int64(4-2*i), 3)
			if err := s.operate(d.ctx, &op); err != nil {
				ends <- end{s, s.failed(d.ctx, err)}
				return
			}
			ends <- end{s, s.commit(d.ctx)}
		}()
	}
	replies := map[history.Outcome]end{}
	for range sessions {
		e := <-ends
		replies[e.reply.Outcome] = e
	}
	failed, one := replies[history.Failed]
	if _, other := replies[history.Committed]; !one || !other {
		t.Fatalf("got %+v", replies)
	}
	d.wantOutcome(failed.session, failed.reply, history.Failed, workload.ClassDeadlock, false)
}

func TestIsolationDuplicateRow(t *testing.T) {
	d := sitDown(t, target(t))
	s := d.session()
	row := isolation.Op{Kind: isolation.Insert, Key: 1, Value: 5}
	d.commit(s, row)
	d.wantOutcome(s, s.Do(d.ctx, []isolation.Op{element(2, 1), row}), history.Failed, store.ClassDuplicateKey, false)
	if lists, _ := d.state(); len(lists[2]) != 0 {
		t.Errorf("a failed transaction left %v", lists)
	}
}

func TestIsolationUnknownKind(t *testing.T) {
	d := sitDown(t, target(t))
	s := d.session()
	if r := s.Do(d.ctx, []isolation.Op{element(2, 1), {Kind: 99}}); r.Outcome != history.Failed || r.Broken {
		t.Errorf("got %+v", r)
	}
	if lists, _ := d.state(); len(lists) != 0 {
		t.Errorf("left %v", lists)
	}
}

// TestIsolationLostBeforeCommit ends the connection in the middle of a
// transaction: COMMIT was not sent, so that nothing can have happened.
func TestIsolationLostBeforeCommit(t *testing.T) {
	d := sitDown(t, target(t))
	d.commit(d.session(), element(2, 1))
	rival := admin(t)
	exec(t, rival, `BEGIN`)
	exec(t, rival, `SELECT FROM assay_isolation.list FOR UPDATE`)
	s := d.session()
	reply := make(chan workload.Reply, 1)
	go func() { reply <- s.Do(d.ctx, []isolation.Op{element(4, 1), element(2, 2)}) }()
	watcher := admin(t)
	exec(t, watcher, `SELECT pg_terminate_backend($1)`, awaitWait(t, d.ctx, watcher, isolationSessionName, "Lock", ""))
	d.wantOutcome(s, <-reply, history.Failed, workload.ClassShutdown, true)
	exec(t, rival, `ROLLBACK`)
	if lists, _ := d.state(); len(lists) != 1 || len(lists[2]) != 1 {
		t.Errorf("left %v", lists)
	}
	d.wantOutcome(s, s.Do(d.ctx, []isolation.Op{element(2, 2)}), history.Failed, workload.ClassLost, true)
}

// TestIsolationContextOver ends the context at each statement and before
// COMMIT.
func TestIsolationContextOver(t *testing.T) {
	d := sitDown(t, target(t))
	for statements := range 3 {
		s := d.session()
		ctx, cancel := context.WithCancel(d.ctx)
		defer cancel()
		var r workload.Reply
		for i := range 2 {
			op := element(2, int64(i))
			if i == statements {
				cancel()
			}
			if err := s.operate(ctx, &op); err != nil {
				r = s.failed(ctx, err)
				break
			}
		}
		if r.Err == nil {
			cancel()
			r = s.commit(ctx)
		}
		d.wantOutcome(s, r, history.Failed, workload.ClassTimeout, statements > 0)
		s.Close()
	}
	if err := d.store.Settle(d.ctx); err != nil {
		t.Fatal(err)
	}
	if lists, _ := d.state(); len(lists[2]) != 0 {
		t.Errorf("left %v", lists)
	}
}

// TestIsolationCommitWithoutAnswer cuts the network around COMMIT, before and
// after the server gets it.
func TestIsolationCommitWithoutAnswer(t *testing.T) {
	u, err := url.Parse(server.Address())
	if err != nil {
		t.Fatal(err)
	}
	proxy := drivertest.NewProxy(t, u.Host)
	// Statements as text, so that COMMIT is seen to pass.
	d := sitDown(t, target(t, host(proxy.Addr()), parameter("default_query_exec_mode", "exec")))
	for key, deliver := range map[int64]bool{2: true, 4: false} {
		s := d.session()
		proxy.Arm([]byte("commit\x00"), deliver) // and not "read committed"
		d.wantOutcome(s, s.Do(d.ctx, []isolation.Op{element(key, 1)}), history.Unknown, workload.ClassLost, true)
		s.Close()
		proxy.Pass()
		if err := d.store.Settle(d.ctx); err != nil {
			t.Fatal(err)
		}
		if lists, _ := d.state(); (len(lists[key]) == 1) != deliver {
			t.Errorf("COMMIT delivered: %t, and the lists are %v", deliver, lists)
		}
	}
}

// TestIsolationErrorsOfCommitItself has deferred constraints refuse at COMMIT,
// and COMMIT answered by ROLLBACK.
func TestIsolationErrorsOfCommitItself(t *testing.T) {
	d := sitDown(t, target(t, parameter("default_query_exec_mode", "exec")))
	conn := admin(t)
	exec(t, conn, `ALTER TABLE assay_isolation.register ADD CONSTRAINT late UNIQUE (value) DEFERRABLE INITIALLY DEFERRED`)
	write := func(key int64) []isolation.Op { return []isolation.Op{{Kind: isolation.Write, Key: key, Value: 1}} }
	s := d.session()
	d.commit(s, write(1)...)
	d.wantOutcome(s, s.Do(d.ctx, write(3)), history.Failed, workload.ClassOther, false)

	exec(t, conn, `ALTER TABLE assay_isolation.register DROP CONSTRAINT late`)
	exec(t, conn, `CREATE FUNCTION assay_isolation.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$`)
	exec(t, conn, `CREATE CONSTRAINT TRIGGER late AFTER INSERT ON assay_isolation.register
		DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION assay_isolation.refuse()`)
	d.wantOutcome(s, s.Do(d.ctx, write(5)), history.Unknown, workload.ClassOther, true)
	exec(t, conn, `DROP FUNCTION assay_isolation.refuse() CASCADE`)

	s = d.session()
	s.c.texts[commit].Text = "ROLLBACK"
	r := s.Do(d.ctx, []isolation.Op{element(2, 1)})
	if lists, _ := d.state(); r.Outcome != history.Failed || r.Broken || len(lists[2]) != 0 {
		t.Errorf("got %+v and %v", r, lists)
	}
}

// TestIsolationWithoutTransaction loses BEGIN, as a pooler might: then the
// statement is committed by itself, and nothing is known to have failed.
func TestIsolationWithoutTransaction(t *testing.T) {
	d := sitDown(t, target(t, parameter("default_query_exec_mode", "exec")))
	s := d.session()
	s.c.texts[begin].Text = "SELECT 1"
	d.wantOutcome(s, s.Do(d.ctx, []isolation.Op{element(2, 1), element(2, 2)}), history.Unknown, workload.ClassOther, true)
}

func TestIsolationStandbyGivenUp(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	node, err := cluster.Start(ctx, cluster.Options{Settings: []string{"synchronous_standby_names=nobody"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := node.Close(); err != nil {
			t.Error(err)
		}
	}()
	local, err := url.Parse(node.Address())
	if err != nil {
		t.Fatal(err)
	}
	parameter("synchronous_commit", "local")(local)
	loader := newIsolation(t, workload.Target{Address: local.String()})
	if err := loader.Create(ctx, workload.Marker{Run: "desk", Workload: "isolation"}); err != nil {
		t.Fatal(err)
	}
	d := &desk{t, ctx, newIsolation(t, workload.Target{Address: node.Address()})}
	s := d.session()
	reply := make(chan workload.Reply, 1)
	go func() { reply <- s.Do(ctx, []isolation.Op{element(2, 1)}) }()
	watcher := connectTo(t, local.String())
	exec(t, watcher, `SELECT pg_cancel_backend($1)`, awaitWait(t, ctx, watcher, isolationSessionName, "IPC", "SyncRep"))
	d.wantOutcome(s, <-reply, history.Unknown, classNotReplicated, true)
	if lists, _ := d.state(); len(lists[2]) != 1 {
		t.Errorf("the server had committed, and the lists are %v", lists)
	}
}
