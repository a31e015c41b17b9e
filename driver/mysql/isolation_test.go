package mysql

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"assay/driver/sqldb"
	"assay/history"
	"assay/internal/expect"
	"assay/store"
	"assay/workload/isolation"
)

func TestPromises(t *testing.T) {
	single, galera := server{}, server{galera: true}
	snapshots := server{snapshots: true}
	for _, c := range []struct {
		level, engine string
		server        server
		want          string
	}{
		{readUncommitted, innodb, single, "read-uncommitted"}, {readCommitted, innodb, single, "read-committed"},
		{repeatableRead, innodb, single, "snapshot-reads"}, {repeatableRead, innodb, galera, "read-committed"}, {repeatableRead, innodb, snapshots, "snapshot-isolation"},
		{serializable, innodb, single, "serializable"}, {serializable, innodb, galera, "read-committed"},
		{repeatableRead, rocksdb, single, "snapshot-isolation"}, {readCommitted, rocksdb, single, "read-committed"},
	} {
		if got := promised(c.level, c.engine, c.server); got != c.want {
			t.Errorf("%s of %s, %+v promises %s, want %s", c.level, c.engine, c.server, got, c.want)
		}
	}
}

// steps is an isolation session whose transactions a test may do one operation at
// a time.
type steps struct {
	*isolation.Session
	t *sqldb.Session
	c *session // below it
}

// operate does one operation, the first of a transaction with its beginning.
func (s *steps) operate(ctx context.Context, op *isolation.Op) error {
	return s.Operate(ctx, s.t.Steps(), op)
}

func (s *steps) failed(ctx context.Context, err error) store.Reply {
	return s.t.End(ctx, err)
}

func (s *steps) commit(ctx context.Context) store.Reply { return s.t.End(ctx, nil) }

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

func newIsolation(t *testing.T, to store.Target) *isolationStore {
	t.Helper()
	s, err := openSchema(context.Background(), to, isolation.Schema())
	expect.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	below := &connects{schema: s}
	s.Server = below
	return &isolationStore{s, below}
}

// desk is an empty isolation database, and sessions on it at one level.
type desk struct {
	t     *testing.T
	ctx   context.Context
	store *isolationStore
}

// sitDown makes the database and opens the sessions' Store on the target.
func sitDown(t *testing.T, to store.Target) *desk {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	engine := parameter("engine", "InnoDB")
	maker := newIsolation(t, target(engine))
	expect.NoError(t, maker.Create(ctx, store.Marker{Run: "desk", Workload: "isolation", Created: time.Now()}))
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
	opened, err := isolation.Open(d.ctx, d.store)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(opened.Close)
	last := d.store.below.last.Load()
	return &steps{opened, last, last.Wire.(*session)}
}

// commit does a transaction that must commit.
func (d *desk) commit(s *steps, ops ...isolation.Op) []isolation.Op {
	d.t.Helper()
	if r := s.Do(d.ctx, ops); r.Outcome != history.Committed || r.Class != "" || r.Err != nil {
		d.t.Fatalf("%+v: %+v, want committed", ops, r)
	}
	return ops
}

func element(key, value int64) isolation.Op {
	return isolation.Op{Kind: isolation.Append, Key: key, Value: value}
}

func (d *desk) list(key int64) []int64 {
	d.t.Helper()
	return d.commit(d.session(), isolation.Op{Kind: isolation.ReadList, Key: key})[0].List
}

// wantOutcome also wants the session to be as usable as the reply says.
func (d *desk) wantOutcome(s *steps, r store.Reply, outcome history.Outcome, class string, broken bool) {
	d.t.Helper()
	if r.Outcome != outcome || r.Class != class || r.Broken != broken || r.Err == nil {
		d.t.Errorf("got %+v, want %v (%s), broken %t", r, outcome, class, broken)
	}
	if !r.Broken {
		d.commit(s, element(1000, 1))
	}
}

// TestIsolationLockTimeout: the server rolls back the statement that waited and
// keeps the rest, which must not be committed.
func TestIsolationLockTimeout(t *testing.T) {
	d := sitDown(t, target(parameter("innodb_lock_wait_timeout", "1")))
	d.commit(d.session(), element(2, 1), element(4, 1))
	holder := d.session()
	expect.NoError(t, holder.operate(d.ctx, &isolation.Op{Kind: isolation.Append, Key: 4, Value: 2}))
	s := d.session()
	r := s.Do(d.ctx, []isolation.Op{element(2, 7), element(4, 7)})
	if holder.t.End(d.ctx, context.Canceled).Broken {
		t.Error("the holder cannot leave")
	}
	d.wantOutcome(s, r, history.Failed, store.ClassLockTimeout, false)
	if list := d.list(2); len(list) != 1 {
		t.Errorf("the failed transaction left %v", list)
	}
}

// TestIsolationLostBeforeCommit has the server end the connection in the middle
// of a transaction: COMMIT was not sent, so that nothing can have happened.
func TestIsolationLostBeforeCommit(t *testing.T) {
	d := sitDown(t, target())
	d.commit(d.session(), element(2, 1))
	rival := admin(t)
	exec(t, rival, `START TRANSACTION`)
	exec(t, rival, `UPDATE assay_isolation.list SET elements = elements WHERE id = 2`)
	value(t, rival, `SELECT id FROM assay_isolation.list WHERE id = 2 FOR UPDATE`)
	s := d.session()
	reply := make(chan store.Reply, 1)
	go func() { reply <- s.Do(d.ctx, []isolation.Op{element(4, 1), element(2, 2)}) }()
	awaitLockWait(t, d.ctx, s.c.look.id)
	exec(t, admin(t), `KILL CONNECTION ?`, s.c.look.id)
	r := <-reply
	exec(t, rival, `ROLLBACK`)
	if r.Outcome != history.Failed || !r.Broken || r.Err == nil {
		t.Errorf("got %+v, want failed, broken", r)
	}
	if list := d.list(4); len(list) != 0 {
		t.Errorf("left %v", list)
	}
	d.wantOutcome(s, s.Do(d.ctx, []isolation.Op{element(2, 2)}), history.Failed, store.ClassLost, true)
}

// TestIsolationContextOver ends the context at each statement and before
// COMMIT.
func TestIsolationContextOver(t *testing.T) {
	d := sitDown(t, target())
	for statements := range 3 {
		s := d.session()
		ctx, cancel := context.WithCancel(d.ctx)
		defer cancel()
		var r store.Reply
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
		d.wantOutcome(s, r, history.Failed, store.ClassTimeout, true)
		s.Close()
	}
	expect.NoError(t, d.store.Settle(d.ctx))
	if list := d.list(2); len(list) != 0 {
		t.Errorf("left %v", list)
	}
}
