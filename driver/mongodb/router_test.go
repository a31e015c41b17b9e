package mongodb

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

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
		drivertest.RunOutcomes(t, drivertest.Store{Open: Open, Lacks: lacks, Target: to}, drivertest.ConformanceOpen) // and the workloads' transactions
		asked, users := fmt.Sprint(router.sharding()), fmt.Sprint(shardCollection("assay_"+drivertest.ConformanceOpen, "record"))
		if !strings.Contains(asked, users) {
			t.Errorf("asked for %s", asked)
		}
		drivertest.ShortRuns(t, to, drivertest.Supports(Open, lacks)...)
	})
}

// testRouterChurn: of many documents, a router's error proves nothing.
func testRouterChurn(t *testing.T, _ *cluster.ReplicaSet, router *standIn) {
	ctx := expect.Patiently(t)
	db := mustOpenSchema(t, router.address()+"?shard=hashed", churn.Schema())
	expect.NoError(t, db.Create(ctx, store.Marker{Loaded: true}))
	session, err := db.Session(ctx, nil)
	expect.NoError(t, err)
	rows := []churn.Row{{ID: 1, Payload: "a"}, {ID: 2, Payload: "b"}, {ID: 3, Payload: "c"}}
	if r := session.Insert(ctx, store.RowsOf("entry", churn.Columns(), rows)); r.Outcome != history.Committed {
		t.Errorf("insert: %+v", r)
	}
	if r := session.Insert(ctx, store.RowsOf("entry", churn.Columns(), rows[:2])); r.Outcome != history.Unknown || r.Err == nil {
		t.Errorf("insert again: %+v", r)
	}
	session.Close()
	heap, is := store.As[store.Compacting](store.Database(db))
	if !is {
		t.Fatal("it has no compactions")
	}
	if size, err := heap.FileSize(ctx); err != nil || size.Tables < 1 || size.Indexes < 1 || size.Rows["entry"] != 3 {
		t.Errorf("%+v, %v", size, err)
	}
	expect.NoError(t, errors.Join(db.Drop(ctx), db.Close()))
}

func made(t *testing.T, opened store.Database) {
	t.Helper()
	ctx := expect.Patiently(t)
	expect.NoError(t, opened.Create(ctx, store.Marker{Loaded: true}), opened.Drop(ctx), opened.Close())
}

func sharded(workload string, collections ...string) (all []bson.D) {
	for _, name := range collections {
		all = append(all, shardCollection("assay_"+workload, name))
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
	address := router.address() + "?shard=hashed"
	for _, c := range []struct {
		schema store.Schema
		want   string
	}{
		{bank.Schema(), "account transfer"}, {isolation.Schema(), "list register member pair"}, {availability.Schema(), "row"}, {entity.Schema(), "entity"},
		{bulkupdate.Schema(), "document"}, {churn.Schema(), "entry"}, {smallbank.Schema(), "account saving checking journal"},
		{tpcb.Schema(), "branches tellers accounts history"},
	} {
		made(t, mustOpenSchema(t, address, c.schema))
		wantSharding(t, c.schema.Workload, router.sharding(), sharded(c.schema.Workload, strings.Fields(c.want)...))
	}
	ctx, opened := expect.Patiently(t), mustOpenSchema(t, address, candles.Schema())
	expect.NoError(t, errors.Join(opened.CreateOn(ctx, store.Marker{}, "zlib", true), opened.Drop(ctx), opened.Close()))
	wantSharding(t, "candles", router.sharding(), sharded("candles", "candle"))
}

func testOlderVersion(t *testing.T, set *cluster.ReplicaSet, _ *standIn) {
	router := startStandIn(t, set.Node(0).Address(), 13)
	made(t, mustOpenSchema(t, router.address()+"?shard=hashed", churn.Schema()))
	wantSharding(t, "MongoDB 5.0", router.sharding(), append([]bson.D{enableSharding("assay_churn")}, sharded("churn", "entry")...))
}

func testUnsharded(t *testing.T, _ *cluster.ReplicaSet, router *standIn) {
	opened := mustOpenSchema(t, router.address(), bank.Schema())
	product, err := opened.Describe(expect.Patiently(t))
	if err != nil || drivertest.Value(product.Settings, "sharding") != "none" {
		t.Errorf("%+v, %v", product, err)
	}
	made(t, opened)
	wantSharding(t, "without the parameter", router.sharding(), nil)
}

func testRouterDescription(t *testing.T, _ *cluster.ReplicaSet, router *standIn) {
	ctx := expect.Patiently(t)
	address := router.address() + "?shard=hashed"
	want := map[string]string{"deployment": "sharded cluster, through its routers", "sharding": "hashed", "shards": "3",
		"shard shard01": "3 members", "storage engine": "", "transaction lifetime limit": "", "data nodes": ""}
	described := func(opened store.Database, also ...string) {
		t.Helper()
		product, err := opened.Describe(ctx)
		expect.NoError(t, errors.Join(err, opened.Close()))
		for name, value := range want {
			if got := drivertest.Value(product.Settings, name); got != value {
				t.Errorf("%s is %q, want %q", name, got, value)
			}
		}
		for _, name := range also {
			if !strings.HasPrefix(drivertest.Value(product.Settings, name), "not ") {
				t.Errorf("%s: %q", name, drivertest.Value(product.Settings, name))
			}
		}
		if top := product.Topology; top != (store.Topology{Nodes: 9, Shards: 3, Replicas: 3}) {
			t.Errorf("%+v", top)
		}
	}
	described(mustOpenSchema(t, address, bank.Schema()), "check of replicas")
	heap := mustOpenSchema(t, address, churn.Schema())
	compacting, is := store.As[store.Compacting](store.Database(heap))
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
	crowd := mustOpenSchema(t, address, bulkupdate.Schema())
	counting, is := store.As[store.Counting](store.Database(crowd))
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
	ctx := expect.Patiently(t)
	opened := closing(t, mustOpen(t, router.address()))
	expect.NoError(t, errors.Join(opened.Create(ctx, store.Marker{}), opened.LoadAccounts(ctx, []bank.Account{{ID: 1}, {ID: 2}})))
	x, err := opened.transactor(ctx)
	expect.NoError(t, err)
	expect.NoError(t, opened.place(opened.database.database, "transfer").insert(x.begin(ctx), byID(int64(1))))
	x.leave(true)
	if len(opened.abandoned) != 0 {
		t.Error("a transaction behind a router is to be aborted")
	}
	if err := opened.noneOpen(ctx); !errors.As(err, new(*openError)) {
		t.Errorf("while it is open: %v", err)
	}
	expect.NoError(t, opened.Settle(ctx))
	if n, err := opened.transfers.CountDocuments(ctx, bson.D{}); n != 0 || err != nil {
		t.Errorf("%d documents, %v", n, err)
	}
	expect.NoError(t, opened.Drop(ctx))
}

// testRouterGone names two routers, of which one ends: it is not waited for.
func testRouterGone(t *testing.T, set *cluster.ReplicaSet, router *standIn) {
	ctx := expect.Patiently(t)
	other := startStandIn(t, set.Node(0).Address(), 0)
	both := strings.TrimSuffix(router.address(), "/") + "," + strings.TrimPrefix(other.address(), "mongodb://")
	opened := mustOpenSchema(t, both, availability.Schema())
	expect.NoError(t, opened.Create(ctx, store.Marker{}))
	other.close()
	expect.NoError(t, opened.Settle(ctx), opened.Drop(ctx), opened.Close())
}
