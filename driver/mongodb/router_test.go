package mongodb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	cluster "assay/cluster/mongodb"
	"assay/driver/drivertest"
	"assay/history"
	"assay/internal/expect"
	"assay/store"
	"assay/workload/availability"
	"assay/workload/bank"
	"assay/workload/bulkupdate"
	"assay/workload/candles"
	"assay/workload/churn"
	"assay/workload/entity"
	"assay/workload/isolation"
	"assay/workload/smallbank"
	"assay/workload/tpcb"
)

// TestStandIn has the driver work through what stands in for a mongos. It is no
// test of sharding: one mongod has everything.
func TestStandIn(t *testing.T) {
	t.Parallel()
	set := startSet(t, 1)
	t.Run("RefusedBySet", func(t *testing.T) {
		refusedSharding(t, "mongodb://"+set.Node(0).Address()+"/?directConnection=true&", "replica set rs0")
	})
	router := startStandIn(t, set.Node(0).Address(), 0)
	address := router.address() + "?shard=hashed"
	for _, s := range []struct {
		name string
		run  func(*testing.T, *cluster.ReplicaSet, *standIn)
	}{
		{"WhatIsSharded", testWhatIsSharded}, {"OlderVersion", testOlderVersion}, {"Unsharded", testUnsharded},
		{"Description", testRouterDescription}, {"SettleWaits", testRouterSettleWaits}, {"RouterGone", testRouterGone}, {"Churn", testRouterChurn}, {"TPCC", testRouterTPCC},
	} {
		t.Run(s.name, func(t *testing.T) { s.run(t, set, router) })
	}
	t.Run("Store", func(t *testing.T) {
		to, lacks := store.Target{Address: address, ConnectTimeout: 20 * time.Second}, Lacks()
		lacks[store.SecondaryUnique] = "a collection sharded by _id has no other unique index"
		router.sharding()
		drivertest.RunOutcomes(t, drivertest.Store{Open: Open, Lacks: lacks, Target: to})
		asked, users := fmt.Sprint(router.sharding()), fmt.Sprint(shardCollection("assay_"+drivertest.ConformanceOpen, "record"))
		if !strings.Contains(asked, users) {
			t.Errorf("asked for %s", asked)
		}
		drivertest.ShortRuns(t, to, drivertest.Supports(Open, lacks)...)
	})
}

// testRouterChurn stands for the conformance suite of workload churn, which
// wants repairs, of which a mongos has none.
func testRouterChurn(t *testing.T, _ *cluster.ReplicaSet, router *standIn) {
	ctx := patiently(t)
	db := opening(opens(churn.Schema()), router.address()+"?shard=hashed")(t)
	expect.NoError(t, db.Create(ctx, store.Marker{Loaded: true}))
	session, err := db.Session(ctx, []store.Statement{{Name: "delete", Verb: store.Delete, Table: "entry", Where: []store.Condition{{Column: "id", Is: store.In, Value: store.Parameter(1)}}}})
	expect.NoError(t, err)
	rows := []churn.Row{{ID: 1, Payload: "a"}, {ID: 2, Payload: "b"}, {ID: 3, Payload: "c"}}
	if r := session.Insert(ctx, store.RowsOf("entry", churn.Columns(), rows)); r.Outcome != history.Committed {
		t.Errorf("insert: %+v", r)
	}
	if r := session.Insert(ctx, store.RowsOf("entry", churn.Columns(), rows[:2])); r.Outcome != history.Unknown || r.Err == nil {
		t.Errorf("insert again: %+v", r) // of many documents, a router's error proves nothing
	}
	if r := session.Run(ctx, store.Call{Parameters: []store.Value{store.OfKeys([]int64{1, 3})}}); r.Outcome != history.Committed {
		t.Errorf("delete: %+v", r)
	}
	session.Close()
	var left []churn.Row
	err = errors.Join(db.Settle(ctx), db.View(ctx, func(r store.Reader) error {
		return store.Each(ctx, r, "entry", churn.Columns(), func(r churn.Row) error { left = append(left, r); return nil })
	}))
	if err != nil || !slices.Equal(left, rows[1:2]) {
		t.Errorf("%+v, %v", left, err)
	}
	heap, is := store.As[store.Compacting](db)
	if !is {
		t.Fatal("it has no compactions")
	}
	if size, err := heap.FileSize(ctx); err != nil || size.Tables < 1 || size.Indexes < 1 || size.Rows["entry"] != 1 {
		t.Errorf("%+v, %v", size, err)
	}
	if err := errors.Join(db.Drop(ctx), db.Close()); err != nil {
		t.Error(err)
	}
}

// creator is what all Stores but that of candles have in common.
type creator interface {
	Create(context.Context, store.Marker) error
	Drop(context.Context) error
	Close() error
}

func made(t *testing.T, opened creator, err error) {
	t.Helper()
	expect.NoError(t, err)
	ctx := patiently(t)
	if err := errors.Join(opened.Create(ctx, store.Marker{Loaded: true}), opened.Drop(ctx), opened.Close()); err != nil {
		t.Error(err)
	}
}

func sharded(names ...string) []bson.D {
	var all []bson.D
	for _, name := range names {
		database, collection, _ := strings.Cut(name, ".")
		all = append(all, shardCollection(database, collection))
	}
	return all
}

func wantSharding(t *testing.T, what string, got, want []bson.D) {
	t.Helper()
	if a, b := fmt.Sprint(got), fmt.Sprint(want); a != b {
		t.Errorf("%s: asked for %s; want %s", what, a, b)
	}
}

func testWhatIsSharded(t *testing.T, _ *cluster.ReplicaSet, router *standIn) {
	target := store.Target{Address: router.address() + "?shard=hashed", ConnectTimeout: 20 * time.Second}
	ctx := patiently(t)
	for _, c := range []struct {
		make func() (creator, error)
		want []string
	}{
		{func() (creator, error) { return Open(ctx, target, bank.Schema()) }, []string{"assay_bank.account", "assay_bank.transfer"}},
		{func() (creator, error) { return Open(ctx, target, isolation.Schema()) },
			[]string{"assay_isolation.list", "assay_isolation.register", "assay_isolation.member", "assay_isolation.pair"}},
		{func() (creator, error) { return Open(ctx, target, availability.Schema()) }, []string{"assay_availability.row"}},
		{func() (creator, error) { return Open(ctx, target, entity.Schema()) }, []string{"assay_entity.entity"}},
		{func() (creator, error) { return Open(ctx, target, bulkupdate.Schema()) }, []string{"assay_bulkupdate.document"}},
		{func() (creator, error) { return Open(ctx, target, churn.Schema()) }, []string{"assay_churn.entry"}},
		{func() (creator, error) { return Open(ctx, target, smallbank.Schema()) },
			[]string{"assay_smallbank.account", "assay_smallbank.saving", "assay_smallbank.checking", "assay_smallbank.journal"}},
		{func() (creator, error) { return Open(ctx, target, tpcb.Schema()) },
			[]string{"assay_tpcb.branches", "assay_tpcb.tellers", "assay_tpcb.accounts", "assay_tpcb.history"}},
	} {
		opened, err := c.make()
		made(t, opened, err)
		wantSharding(t, c.want[0], router.sharding(), sharded(c.want...))
	}
	opened, err := Open(ctx, target, candles.Schema())
	expect.NoError(t, err)
	if err := errors.Join(opened.(*database).CreateOn(ctx, store.Marker{}, "zlib", true), opened.Drop(ctx), opened.Close()); err != nil {
		t.Error(err)
	}
	wantSharding(t, "candles", router.sharding(), sharded("assay_candles.candle"))
}

func testOlderVersion(t *testing.T, set *cluster.ReplicaSet, _ *standIn) {
	router := startStandIn(t, set.Node(0).Address(), 13)
	opened, err := Open(t.Context(), store.Target{Address: router.address() + "?shard=hashed", ConnectTimeout: 20 * time.Second}, churn.Schema())
	made(t, opened, err)
	wantSharding(t, "MongoDB 5.0", router.sharding(), append([]bson.D{enableSharding("assay_churn")}, sharded("assay_churn.entry")...))
}

func testUnsharded(t *testing.T, _ *cluster.ReplicaSet, router *standIn) {
	opened, err := Open(t.Context(), store.Target{Address: router.address(), ConnectTimeout: 20 * time.Second}, bank.Schema())
	expect.NoError(t, err)
	product, err := opened.Describe(patiently(t))
	if err != nil || setting(product, "sharding") != "none" {
		t.Errorf("%+v, %v", product, err)
	}
	made(t, opened, nil)
	wantSharding(t, "without the parameter", router.sharding(), nil)
}

func testRouterDescription(t *testing.T, _ *cluster.ReplicaSet, router *standIn) {
	ctx := patiently(t)
	target := store.Target{Address: router.address() + "?shard=hashed", ConnectTimeout: 20 * time.Second}
	want := map[string]string{"deployment": "sharded cluster, through its routers", "sharding": "hashed", "shards": "3",
		"shard shard01": "3 members", "storage engine": "", "transaction lifetime limit": "", "data nodes": ""}
	described := func(opened interface {
		Describe(context.Context) (store.Product, error)
		Close() error
	}, also ...string) {
		t.Helper()
		product, err := opened.Describe(ctx)
		expect.NoError(t, errors.Join(err, opened.Close()))
		for name, value := range want {
			if got := setting(product, name); got != value {
				t.Errorf("%s is %q, want %q", name, got, value)
			}
		}
		for _, name := range also {
			if !strings.HasPrefix(setting(product, name), "not ") {
				t.Errorf("%s: %q", name, setting(product, name))
			}
		}
		if top := product.Topology; top != (store.Topology{Nodes: 9, Shards: 3, Replicas: 3}) {
			t.Errorf("%+v", top)
		}
	}
	described(opening(opens(bank.Schema()), target.Address)(t), "check of replicas")
	heap := opening(opens(churn.Schema()), target.Address)(t)
	compacting, is := store.As[store.Compacting](heap)
	if !is {
		t.Fatal("it has no compactions")
	}
	if names, err := compacting.Compactions(); len(names) != 0 || err != nil {
		t.Errorf("compactions %v, %v", names, err)
	}
	if err := compacting.Compact(ctx, compactCommand); err == nil {
		t.Error("a mongos has compacted")
	}
	described(heap, "compact")
	crowd := opening(opens(bulkupdate.Schema()), target.Address)(t)
	counting, is := store.As[store.Counting](crowd)
	if !is {
		t.Fatal("it does not tell of waits")
	}
	if waits, err := counting.Waits(ctx); len(waits) != 0 || err != nil {
		t.Errorf("waits %+v, %v", waits, err)
	}
	described(crowd)
}

// testRouterSettleWaits leaves a transaction open, which nobody aborts before
// the server does.
func testRouterSettleWaits(t *testing.T, _ *cluster.ReplicaSet, router *standIn) {
	ctx := patiently(t)
	opened := closing(t, mustOpen(t, router.address()))
	expect.NoError(t, errors.Join(opened.Create(ctx, store.Marker{}), opened.LoadAccounts(ctx, []bank.Account{{ID: 1}, {ID: 2}})))
	x, err := opened.transactor(ctx)
	expect.NoError(t, err)
	expect.NoError(t, x.begin())
	if _, err := opened.transfers.InsertOne(mongo.NewSessionContext(ctx, x.session), bson.D{{Key: "_id", Value: int64(1)}}); err != nil {
		t.Fatal(err)
	}
	x.leave(true)
	if len(opened.abandoned) != 0 {
		t.Error("a transaction behind a router is to be aborted")
	}
	if err := opened.noneOpen(ctx); !errors.As(err, new(*openError)) {
		t.Errorf("while it is open: %v", err)
	}
	if err := opened.Settle(ctx); err != nil {
		t.Error(err)
	}
	if n, err := opened.transfers.CountDocuments(ctx, bson.D{}); n != 0 || err != nil {
		t.Errorf("%d documents, %v", n, err)
	}
	if err := opened.Drop(ctx); err != nil {
		t.Error(err)
	}
}

// testRouterGone names two routers, of which one ends: it is not waited for.
func testRouterGone(t *testing.T, set *cluster.ReplicaSet, router *standIn) {
	ctx := patiently(t)
	other := startStandIn(t, set.Node(0).Address(), 0)
	both := strings.TrimSuffix(router.address(), "/") + "," + strings.TrimPrefix(other.address(), "mongodb://")
	opened := opening(opens(availability.Schema()), both)(t)
	expect.NoError(t, opened.Create(ctx, store.Marker{}))
	other.close()
	if err := errors.Join(opened.Settle(ctx), opened.Drop(ctx), opened.Close()); err != nil {
		t.Error(err)
	}
}
