package mongodb

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	cluster "assay/cluster/mongodb"
	"assay/driver/drivertest"
	"assay/history"
	"assay/internal/expect"
	"assay/store"
	"assay/workload/isolation"
)

// isolationStore is the database of workload isolation.
type isolationStore struct {
	*database
	lists *mongo.Collection
}

func mustOpenIsolation(t *testing.T, address string) *isolationStore {
	t.Helper()
	db, err := Open(t.Context(), store.Target{Address: address, ConnectTimeout: 20 * time.Second}, isolation.Schema())
	expect.NoError(t, err)
	d := db.(*database)
	return &isolationStore{d, d.collections[0]}
}

func testIsolation(t *testing.T, set *cluster.ReplicaSet) {
	for _, s := range []struct {
		name string
		run  func(*testing.T, *desk)
	}{
		{"UpsertRace", testUpsertRace},
		{"ReadsOnlyIntegers", testListsOfIntegers},
		{"AbortedByTheServer", testAbortedByTheServer},
	} {
		t.Run(s.name, func(t *testing.T) { s.run(t, sitDown(t, set, "")) })
	}
	t.Run("Interleaving", func(t *testing.T) { testInterleaving(t, set.Address()) })
	t.Run("OpenTransactionsShow", func(t *testing.T) { testOpenTransactionsShow(t, set) })
}

// testOpenTransactionsShow asks for open transactions under every read concern
// that an address can name: they are shown, or the server's lifetime limit
// would have to be waited for.
func testOpenTransactionsShow(t *testing.T, set *cluster.ReplicaSet) {
	for _, options := range []string{"", "&readConcernLevel=local", "&readConcernLevel=majority", "&readConcernLevel=snapshot"} {
		d := sitDown(t, set, options)
		r := d.transaction(func(do doing) error {
			_, err := do(appending, store.OfInts(2, 1)...)
			if open := d.store.noneOpen(d.ctx); !errors.As(open, new(*openError)) {
				t.Errorf("%q: while a transaction is open: %v", options, open)
			}
			return err
		})
		if r.Outcome != history.Committed {
			t.Errorf("%q: %+v", options, r)
		}
	}
}

func testIsolationPromise(t *testing.T, set *cluster.ReplicaSet) {
	for options, want := range map[string]string{
		"": "snapshot-isolation", "&readConcernLevel=snapshot&w=majority": "snapshot-isolation",
		"&readConcernLevel=majority": "read-committed", "&readConcernLevel=local": "read-uncommitted",
		"&w=1": "read-uncommitted", "&readConcernLevel=majority&w=1": "read-uncommitted",
	} {
		opened := mustOpenIsolation(t, set.Address()+options)
		if got := opened.Promises().Model; got != want {
			t.Errorf("%q promises %q, want %q", options, got, want)
		}
		if err := opened.Close(); err != nil {
			t.Error(err)
		}
	}
	_, err := Open(t.Context(), store.Target{Address: set.Address(), Isolation: "serializable"}, isolation.Schema())
	if !errors.As(err, new(*store.OptionError)) {
		t.Errorf("got %v", err)
	}
}

// desk is an empty isolation schema.
type desk struct {
	t     *testing.T
	ctx   context.Context
	set   *cluster.ReplicaSet
	store *isolationStore
}

func sitDown(t *testing.T, set *cluster.ReplicaSet, options string) *desk {
	t.Helper()
	d := &desk{t, patiently(t), set, mustOpenIsolation(t, set.Address()+options)}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := errors.Join(d.store.Settle(ctx), d.store.Drop(ctx), d.store.Close()); err != nil {
			t.Error(err)
		}
	})
	expect.NoError(t, d.store.Create(d.ctx, store.Marker{Run: "desk", Workload: "isolation"}))
	return d
}

func (d *desk) session() *isolation.Session {
	d.t.Helper()
	session, err := isolation.Open(d.ctx, d.store)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(session.Close)
	return session
}

// The statements of a transaction that stays open while others work.
const (
	appending = iota
	listing
)

// doing does a statement of an open transaction, and says what it gave.
type doing func(statement int, parameters ...store.Value) (string, error)

// transaction does a transaction in a session of its own.
func (d *desk) transaction(work func(doing) error) store.Reply {
	d.t.Helper()
	session, err := d.store.Session(d.ctx, []store.Statement{
		appending: {Name: "append", Verb: store.Append, Table: "list", Columns: []string{"id", "elements"}, Values: []store.Expression{store.Parameter(1), store.Parameter(2)}},
		listing:   {Name: "list", Verb: store.Read, Table: "list", Columns: []string{"id"}, Where: store.Where("id")},
	})
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(session.Close)
	return session.Transaction(d.ctx, true, func(ctx context.Context, t store.Transaction) error {
		return work(func(statement int, parameters ...store.Value) (string, error) {
			var given strings.Builder
			_, err := t.Do(ctx, statement, collect(&given), parameters...)
			return given.String(), err
		})
	})
}

// commit does a transaction that must commit.
func (d *desk) commit(s *isolation.Session, ops ...isolation.Op) []isolation.Op {
	d.t.Helper()
	for {
		r := s.Do(d.ctx, ops)
		if r.Outcome == history.Committed {
			return ops
		}
		if r.Outcome != history.Failed || d.ctx.Err() != nil {
			d.t.Fatalf("%+v: %+v, want committed", ops, r)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (d *desk) lists() map[int64][]int64 {
	d.t.Helper()
	lists := map[int64][]int64{}
	err := isolation.Read(d.ctx, d.store, func(key int64, elements []int64) error { lists[key] = elements; return nil },
		func(int64, int64) error { return nil })
	if err != nil {
		d.t.Fatal(err)
	}
	return lists
}

// wantFailed wants proof of no effect, and a session that goes on.
func (d *desk) wantFailed(s *isolation.Session, r store.Reply, class string) {
	d.t.Helper()
	if r.Outcome != history.Failed || r.Class != class || r.Broken || r.Err == nil {
		d.t.Errorf("got %+v, want failed (%s)", r, class)
	}
	d.commit(s, element(1000, 1))
}

func element(key, value int64) isolation.Op {
	return isolation.Op{Kind: isolation.Append, Key: key, Value: value}
}

// testUpsertRace has two sessions make one list, both while the other is at it,
// and after the other has committed what one of them cannot see.
func testUpsertRace(t *testing.T, d *desk) {
	second := d.session()
	r := d.transaction(func(do doing) error {
		_, err := do(appending, store.OfInts(2, 1)...)
		d.wantFailed(second, second.Do(d.ctx, []isolation.Op{element(2, 2)}), store.ClassSerialization)
		return err
	})
	if r.Outcome != history.Committed {
		t.Errorf("got %+v", r)
	}
	r = d.transaction(func(do doing) error {
		if _, err := do(listing, store.OfInt(4)); err != nil {
			t.Error(err)
		}
		d.commit(second, element(4, 1))
		_, err := do(appending, store.OfInts(4, 2)...)
		return err
	})
	if r.Class != store.ClassSerialization && r.Class != store.ClassDuplicateKey {
		t.Errorf("got %+v", r)
	}
	d.wantFailed(second, r, r.Class)
	if lists := d.lists(); !slices.Equal(lists[2], []int64{1}) || !slices.Equal(lists[4], []int64{1}) {
		t.Errorf("the lists are %v", lists)
	}
}

// elements makes list 2 of these.
func (d *desk) elements(elements any) error {
	_, err := d.store.lists.UpdateByID(d.ctx, int64(2), bson.D{{Key: "$set", Value: bson.D{{Key: "elements", Value: elements}}}}, options.UpdateOne().SetUpsert(true))
	return err
}

// testListsOfIntegers alters data behind the driver's back.
func testListsOfIntegers(t *testing.T, d *desk) {
	read := func() error {
		return isolation.Read(d.ctx, d.store, func(int64, []int64) error { return nil }, func(int64, int64) error { return nil })
	}
	for _, elements := range []any{bson.A{int64(1), 2.5}, bson.A{"1"}, "1", nil} {
		expect.NoError(t, d.elements(elements))
		if err := read(); err == nil {
			t.Errorf("elements %v pass for integers", elements)
		}
		if r := d.session().Do(d.ctx, []isolation.Op{{Kind: isolation.ReadList, Key: 2}}); r.Outcome != history.Failed || r.Err == nil {
			t.Errorf("elements %v: %+v", elements, r)
		}
	}
	expect.NoError(t, d.elements(bson.A{int32(1), int64(2)}))
	if lists := d.lists(); !slices.Equal(lists[2], []int64{1, 2}) {
		t.Errorf("read %v", lists[2])
	}
}

// testAbortedByTheServer has the server end a transaction before its commit.
func testAbortedByTheServer(t *testing.T, d *desk) {
	r := d.transaction(func(do doing) error {
		_, err := do(appending, store.OfInts(2, 1)...)
		return errors.Join(err, d.store.Settle(d.ctx)) // returns when the server has given up
	})
	d.wantFailed(d.session(), r, classAborted)
	if lists := d.lists(); len(lists[2]) != 0 {
		t.Errorf("left %v", lists)
	}
}

// testIsolationCommitWithoutAnswer cuts the network around the first statement
// and the commit, before and after the server gets them.
func testIsolationCommitWithoutAnswer(t *testing.T, set *cluster.ReplicaSet) {
	proxy := drivertest.NewProxy(t, set.Node(0).Address())
	d := sitDown(t, set, "")
	via := mustOpenIsolation(t, "mongodb://"+proxy.Addr()+"/?directConnection=true")
	t.Cleanup(func() { via.Close() })
	for key, c := range map[int64]struct {
		marker  string
		deliver bool
		outcome history.Outcome
		there   bool
	}{
		2: {"$push", false, history.Failed, false},
		4: {"$push", true, history.Failed, false},
		6: {"commitTransaction", false, history.Unknown, false},
		8: {"commitTransaction", true, history.Unknown, true},
	} {
		session, err := isolation.Open(d.ctx, via)
		expect.NoError(t, err)
		proxy.Arm([]byte(c.marker), c.deliver)
		r := session.Do(d.ctx, []isolation.Op{element(key, 1)})
		if r.Outcome != c.outcome || r.Class != store.ClassLost || !r.Broken {
			t.Errorf("%+v: %+v", c, r)
		}
		session.Close()
		proxy.Pass()
		expect.NoError(t, via.Settle(d.ctx))
		if lists := d.lists(); (len(lists[key]) == 1) != c.there {
			t.Errorf("%+v: the lists are %v", c, lists)
		}
	}
}
