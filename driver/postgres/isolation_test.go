package postgres

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"testing"
	"time"

	"assay/driver/drivertest"
	"assay/driver/sqldb"
	"assay/history"
	"assay/internal/expect"
	"assay/store"
	"assay/workload/isolation"
)

func at(t *testing.T, level string, changes ...func(*url.URL)) store.Target {
	t.Helper()
	to := target(t, changes...)
	to.Isolation = level
	return to
}

// steps is an isolation session whose transactions a test does one operation at a time.
type steps struct {
	*isolation.Session
	t *sqldb.Session
	c *connection // below it
}

func (s *steps) operate(ctx context.Context, op *isolation.Op) error {
	return s.Operate(ctx, s.t.Steps(), op)
}

func newIsolation(t *testing.T, to store.Target) *connects {
	t.Helper()
	s, err := openSchema(context.Background(), to, isolation.Schema())
	expect.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	return keepLast(s)
}

// desk is an empty isolation schema with sessions at one level.
type desk struct {
	t     *testing.T
	ctx   context.Context
	store *connects
}

func sitDown(t *testing.T, to store.Target) *desk {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), expect.Patience)
	t.Cleanup(cancel)
	maker := newIsolation(t, target(t))
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
	session, err := isolation.Open(d.ctx, d.store)
	expect.NoError(d.t, err)
	d.t.Cleanup(session.Close)
	last := d.store.session()
	return &steps{session, last, last.Wire.(*connection)}
}

func (d *desk) commit(s *steps, ops ...isolation.Op) []isolation.Op {
	d.t.Helper()
	if r := s.Do(d.ctx, ops); r.Outcome != history.Committed || r.Class != "" || r.Err != nil {
		d.t.Fatalf("%+v: %+v, want committed", ops, r)
	}
	return ops
}

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
		db := newIsolation(t, target(t, parameter("default_transaction_isolation", level)))
		product, err := db.Describe(context.Background())
		if got := db.Promises().Model; got != want || err != nil || product.Settings[0].Value != level {
			t.Errorf("by default %s: promises %q, described as %+v, %v", level, got, product.Settings[0], err)
		}
	}
	if _, err := Open(context.Background(), at(t, "snapshot"), isolation.Schema()); !errors.As(err, new(*store.OptionError)) {
		t.Errorf("got %v", err)
	}
	if _, err := promised(postgresql(), "perhaps"); err == nil {
		t.Error("a level that nobody knows promises something")
	}
}

// TestIsolationLevelIsInForce asks the server for a transaction's level.
func TestIsolationLevelIsInForce(t *testing.T) {
	for _, level := range []string{"read committed", "repeatable read", "serializable"} {
		d := sitDown(t, at(t, "", parameter("default_transaction_isolation", level)))
		s := d.session()
		op := isolation.Op{Kind: isolation.ReadValue, Key: 1}
		expect.NoError(t, s.operate(d.ctx, &op))
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

// wantOutcome also requires that the session is as usable as the reply says.
func (d *desk) wantOutcome(s *steps, r store.Reply, outcome history.Outcome, class string, broken bool) {
	d.t.Helper()
	if r.Outcome != outcome || r.Class != class || r.Broken != broken || r.Err == nil {
		d.t.Errorf("got %+v, want %v (%s), broken %t", r, outcome, class, broken)
	}
	if !r.Broken {
		d.commit(s, element(1000, 1))
	}
}

// TestIsolationWithoutTransaction: without BEGIN, as behind a pooler, each statement commits by
// itself, so nothing is known to have failed. A COMMIT answered by ROLLBACK has no effect.
func TestIsolationWithoutTransaction(t *testing.T) {
	d := sitDown(t, target(t, parameter("default_query_exec_mode", "exec")))
	s := d.session()
	s.c.texts[begin].Text = "SELECT 1"
	d.wantOutcome(s, s.Do(d.ctx, []isolation.Op{element(2, 1), element(2, 2)}), history.Unknown, store.ClassOther, true)
	s = d.session()
	s.c.texts[commit].Text = "ROLLBACK"
	r := s.Do(d.ctx, []isolation.Op{element(4, 1)})
	if lists, _ := d.state(); r.Outcome != history.Failed || r.Broken || len(lists[4]) != 0 {
		t.Errorf("COMMIT was answered by ROLLBACK: %+v and %v", r, lists)
	}
}

// TestLevelOnTheWay: a proxy turns repeatable read into read committed. The session is refused, and
// the error names both.
func TestLevelOnTheWay(t *testing.T) {
	u, err := url.Parse(server.Address())
	expect.NoError(t, err)
	proxy := drivertest.NewProxy(t, u.Host)
	to := target(t, host(proxy.Addr()))
	to.Isolation = "repeatable read"
	p, err := openSchema(t.Context(), to, isolation.Schema())
	expect.NoError(t, err)
	defer p.Close()
	expect.NoError(t, p.Create(t.Context(), store.Marker{Run: "r", Workload: isolation.Name, Created: time.Now()}))
	for rewritten, changes := range map[string]bool{"READ  COMMITTED": true, "REPEATABLE READ": false} {
		proxy.Rewrite("REPEATABLE READ", rewritten)
		session, err := isolation.Open(t.Context(), p)
		changed := (*store.LevelError)(nil)
		if errors.As(err, &changed) != changes || changes && (changed.Asked != "repeatable read" || changed.InForce != "read committed") {
			t.Errorf("%s: %v", rewritten, err)
		}
		if err == nil {
			session.Close()
		}
	}
}
