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

	"assay/cluster"
	"assay/driver/drivertest"
	"assay/history"
	"assay/workload"
	"assay/workload/bank"
)

func TestShardParameter(t *testing.T) {
	for address, hashed := range map[string]bool{
		"mongodb://h/": false, "mongodb://h/?w=1": false, "mongodb://h/?shard=hashed": true, "mongodb://h/?w=1&Shard=hashed&journal=true": true,
	} {
		s, err := parse(workload.Target{Address: address}, "bank")
		if err != nil || s.hashed != hashed {
			t.Errorf("%s: %+v, %v", address, s, err)
		}
	}
	for _, value := range []string{"", "range", "Hashed", "true", "hashed&shard=hashed"} {
		_, err := parse(workload.Target{Address: "mongodb://h/?shard=" + value}, "bank")
		var refused *workload.OptionError
		if !errors.As(err, &refused) || refused.Option != "shard" || !strings.Contains(refused.Want, "hashed") {
			t.Errorf("shard=%s: %v", value, err)
		}
	}
	for address, want := range map[string]string{
		"mongodb://h":                             "mongodb://h",
		"mongodb://u:p@h/d?shard=hashed":          "mongodb://u:p@h/d?",
		"mongodb://h/?w=1&SHARD=hashed&journal=1": "mongodb://h/?w=1&journal=1",
		"mongodb://h/?shards=1&w=%31":             "mongodb://h/?shards=1&w=%31",
	} {
		if got := withoutOurs(address); got != want {
			t.Errorf("%s without ours: %s", address, got)
		}
	}
}

// The password may be where a parameter is looked for.
func TestShardParameterTellsNoPassword(t *testing.T) {
	for _, address := range []string{"mongodb://u:a?shard=Sesame99@h/", "mongodb://u:Sesame99@h/?shard=many"} {
		_, err := parse(workload.Target{Address: address}, "bank")
		if err == nil || strings.Contains(err.Error(), "ame99") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func sameBSON(t *testing.T, what string, got any, want string) {
	t.Helper()
	text, err := bson.MarshalExtJSON(bson.D{{Key: "v", Value: got}}, false, false)
	if err != nil || string(text) != `{"v":`+want+`}` {
		t.Errorf("%s: %s, %v; want %s", what, text, err, want)
	}
}

func TestShardingCommands(t *testing.T) {
	sameBSON(t, "enableSharding", enableSharding("assay_bank"), `{"enableSharding":"assay_bank"}`)
	sameBSON(t, "shardCollection", shardCollection("assay_bank", "account"),
		`{"shardCollection":"assay_bank.account","key":{"_id":"hashed"}}`)
	total := `{"$group":{"_id":null,"count":{"$sum":1},"micros":{"$max":"$transaction.timeOpenMicros"}}}`
	ours := `"$or":[{"appName":{"$regex":"^assay bank "}},{"clientMetadata.application.name":{"$regex":"^assay bank "}}]`
	sameBSON(t, "of a primary", openTransactions("bank"), `[{"$currentOp":{"allUsers":false,"idleSessions":true}},`+
		`{"$match":{"appName":{"$regex":"^assay bank "},"transaction.parameters.autocommit":false}},`+total+`]`)
	sameBSON(t, "of a router", routerTransactions("bank"), `[{"$currentOp":{"allUsers":false,"localOps":true}},`+
		`{"$match":{`+ours+`,"active":true,"command.autocommit":false}},`+total+`]`)
	sameBSON(t, "of shards", shardTransactions("bank"), `[{"$currentOp":{"allUsers":true,"idleSessions":true}},`+
		`{"$match":{"$or":[{"$and":[{`+ours+`},{"$or":[{"transaction.parameters.autocommit":false},{"twoPhaseCommitCoordinator":{"$exists":true}}]}]},`+
		`{"$or":[{"transaction.timePreparedMicros":{"$gt":0},"appName":{"$in":[null,""]}},{"twoPhaseCommitCoordinator.hasRecoveredFromFailover":true}]}]}},`+total+`]`)
	writes := `{"ns":"d.c","active":true,"op":{"$in":["insert","update","remove"]}},{"command.insert":"c","command.$db":"d","active":true},` +
		`{"command.update":"c","command.$db":"d","active":true},{"command.delete":"c","command.$db":"d","active":true}`
	sameBSON(t, "writes", shardWrites("d", "c"), `[{"$currentOp":{"allUsers":true}},{"$match":{"$or":[`+writes+`]}},`+total+`]`)
	sameBSON(t, "connections", openConnections("a", "d", "c", yes("localOps")),
		`[{"$currentOp":{"localOps":true,"allUsers":false,"idleConnections":true}},{"$match":{"$or":[`+writes+
			`,{"appName":"a","connectionId":{"$exists":true},"command.hello":{"$exists":false}}]}},`+total+`]`)
}

func TestShardsOf(t *testing.T) {
	all, err := shardsOf(raw(manualShards()))
	if err != nil || len(all) != 3 || all[1].name != "shard02" || all[1].set != "shard02" ||
		!slices.Equal(all[2].members, []string{"host7:27018", "host8:27018", "host9:27018"}) {
		t.Errorf("%+v, %v", all, err)
	}
	d := &description{}
	d.count(all)
	if top := d.product.Topology; top.Shards != 3 || top.Replicas != 3 || top.Nodes != 9 {
		t.Errorf("%+v", top)
	}
	// A shard that is no replica set, as they were before MongoDB 3.6 (DOCS-9217),
	// and one whose set has another name.
	uneven, err := shardsOf(raw(bson.D{{Key: "shards", Value: bson.A{
		bson.D{{Key: "_id", Value: "a"}, {Key: "host", Value: "localhost:1028"}},
		bson.D{{Key: "_id", Value: "b"}, {Key: "host", Value: "rs7/x:1,y:1"}}}}}))
	if err != nil {
		t.Fatal(err)
	}
	d = &description{}
	d.count(uneven)
	if top := d.product.Topology; top.Shards != 2 || top.Replicas != 0 || top.Nodes != 3 ||
		setting(d.product, "shard a") != "1 member" || setting(d.product, "shard b") != "replica set rs7, 2 members" {
		t.Errorf("%+v", d.product)
	}
	for _, bad := range []bson.D{{}, {{Key: "shards", Value: 1}}, {{Key: "shards", Value: bson.A{}}}} {
		if all, err := shardsOf(raw(bad)); err == nil {
			t.Errorf("%v: %+v", bad, all)
		}
	}
}

// The documents are as MongoDB's manual shows them ("$collStats", "Output" of a
// sharded collection), one for each shard.
func TestStorageIsAddedOverShards(t *testing.T) {
	var parts []storagePart
	for i, size := range []int64{4096, 20480} {
		document := raw(bson.D{{Key: "ns", Value: "assay_bank.account"}, {Key: "shard", Value: fmt.Sprintf("shard0%d", i)},
			{Key: "host", Value: "host:27018"}, {Key: "localTime", Value: time.Unix(0, 0)},
			{Key: "storageStats", Value: bson.D{{Key: "size", Value: int32(1)}, {Key: "count", Value: int32(1)}, {Key: "storageSize", Value: int32(size)},
				{Key: "totalIndexSize", Value: size * 2}, {Key: "indexSizes", Value: bson.D{{Key: "_id_", Value: size}, {Key: "_id_hashed", Value: size}}}}}})
		var part storagePart
		if err := bson.Unmarshal(document, &part); err != nil {
			t.Fatal(err)
		}
		parts = append(parts, part)
	}
	if data, indexes := added(parts); data != 24576 || indexes != 49152 {
		t.Errorf("data %d, indexes %d", data, indexes)
	}
}

func TestRouterErrors(t *testing.T) {
	for code, class := range map[int32]string{
		13388: classRouting, 70: classRouting, 249: classRouting, 150: classRouting, 133: bank.ClassNotPrimary, 202: bank.ClassTimeout,
		281: bank.ClassNotPrimary, 282: classAborted, 272: classSnapshot, 6: bank.ClassLost,
	} {
		err := answer(code)
		if got := classOf(err); got != class {
			t.Errorf("code %d is %q, want %q", code, got, class)
		}
		want := history.Unknown
		if code == 133 {
			want = history.Failed // the router has sent it to nobody
		}
		if r := judgeInsert(err, 1); r.Outcome != want {
			t.Errorf("insert, code %d: %+v", code, r)
		}
		if r := judgeUpdate(err, 1, true); r.Outcome != history.Unknown {
			t.Errorf("update, code %d: %+v", code, r)
		}
		if r := judgeCommit(err, 1, true); r.Outcome != history.Unknown {
			t.Errorf("commit, code %d: %+v", code, r)
		}
	}
	unmet := mongo.WriteException{WriteErrors: mongo.WriteErrors{{Code: 133}}, WriteConcernError: &mongo.WriteConcernError{Code: 64}}
	if r := judgeInsert(unmet, 1); r.Outcome != history.Unknown {
		t.Errorf("beside a write concern that was not met: %+v", r)
	}
}

// refusedSharding wants shard=hashed refused, by every workload, and nothing
// made.
func refusedSharding(t *testing.T, address, found string) {
	t.Helper()
	for name, open := range openers() {
		err := open(t.Context(), workload.Target{Address: address + "shard=hashed", ConnectTimeout: 20 * time.Second})
		var refused *workload.OptionError
		if !errors.As(err, &refused) || refused.Option != "shard" || !strings.Contains(err.Error(), found) || !strings.Contains(err.Error(), "mongos") {
			t.Errorf("%s: %v", name, err)
		}
	}
	names, err := plainClient(t, address).ListDatabaseNames(t.Context(), bson.D{})
	if err != nil || slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, "assay") }) {
		t.Errorf("databases %v, %v", names, err)
	}
}

// openers open and close the workloads' stores.
func openers() map[string]func(context.Context, workload.Target) error {
	return map[string]func(context.Context, workload.Target) error{
		"bank": opener(OpenBank), "isolation": opener(OpenIsolation), "availability": opener(OpenAvailability),
		"entity": opener(OpenEntity), "candles": opener(OpenCandles), "bulkupdate": opener(OpenBulkUpdate), "churn": opener(OpenChurn),
	}
}

func opener[S interface{ Close() error }](open func(context.Context, workload.Target) (S, error)) func(context.Context, workload.Target) error {
	return func(ctx context.Context, target workload.Target) error {
		store, err := open(ctx, target)
		if err == nil {
			err = store.Close()
		}
		return err
	}
}

// opening opens a workload's Store at an address.
func opening[S any](open func(context.Context, workload.Target) (S, error), address string) func(*testing.T) S {
	return func(t *testing.T) S {
		t.Helper()
		store, err := open(t.Context(), workload.Target{Address: address, ConnectTimeout: 20 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		return store
	}
}

// TestStandIn has the driver work through what stands in for a mongos. It is no
// test of sharding: one mongod has everything.
func TestStandIn(t *testing.T) {
	set := startSet(t, 1)
	t.Run("RefusedBySet", func(t *testing.T) {
		refusedSharding(t, "mongodb://"+set.HostPort(0)+"/?directConnection=true&", "replica set rs0")
	})
	router := startStandIn(t, set.HostPort(0), 0)
	address := router.address() + "?shard=hashed"
	for _, s := range []struct {
		name string
		run  func(*testing.T, *cluster.MongoDB, *standIn)
	}{
		{"WhatIsSharded", testWhatIsSharded}, {"OlderVersion", testOlderVersion}, {"Unsharded", testUnsharded},
		{"Description", testRouterDescription}, {"SettleWaits", testRouterSettleWaits}, {"RouterGone", testRouterGone},
	} {
		t.Run(s.name, func(t *testing.T) { s.run(t, set, router) })
	}
	database := func(name string) *mongo.Database { return plainClient(t, set.Address()).Database("assay_" + name) }
	t.Run("Bank", func(t *testing.T) {
		plain := database("bank")
		drivertest.RunBank(t, drivertest.Bank{Open: opening(OpenBank, address),
			MakeForeign: func(t *testing.T) { makeForeign(t, plain) }, ForeignIntact: func(t *testing.T) { foreignIntact(t, plain) }})
	})
	t.Run("Isolation", func(t *testing.T) {
		drivertest.RunIsolation(t, drivertest.Isolation{Open: opening(OpenIsolation, address)})
	})
	t.Run("Availability", func(t *testing.T) {
		drivertest.RunAvailability(t, drivertest.Availability{Open: opening(OpenAvailability, address)})
	})
	t.Run("Entity", func(t *testing.T) {
		drivertest.RunEntity(t, drivertest.Entity{Open: opening(OpenEntity, address)})
	})
	t.Run("Candles", func(t *testing.T) {
		drivertest.RunCandles(t, drivertest.Candles{Open: opening(OpenCandles, address), Engines: []string{"zlib"}})
	})
	t.Run("BulkUpdate", func(t *testing.T) {
		drivertest.RunBulkUpdate(t, drivertest.BulkUpdate{Open: opening(OpenBulkUpdate, address)})
	})
	t.Run("Churn", func(t *testing.T) {
		drivertest.RunChurn(t, drivertest.Churn{Open: opening(OpenChurn, address)})
	})
}

// creator is what all Stores but that of candles have in common.
type creator interface {
	Create(context.Context, workload.Mark) error
	Drop(context.Context) error
	Close() error
}

func made(t *testing.T, store creator, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	ctx := patiently(t)
	if err := errors.Join(store.Create(ctx, workload.Mark{Loaded: true}), store.Drop(ctx), store.Close()); err != nil {
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

func testWhatIsSharded(t *testing.T, _ *cluster.MongoDB, router *standIn) {
	target := workload.Target{Address: router.address() + "?shard=hashed", ConnectTimeout: 20 * time.Second}
	ctx := patiently(t)
	for _, c := range []struct {
		make func() (creator, error)
		want []string
	}{
		{func() (creator, error) { return OpenBank(ctx, target) }, []string{"assay_bank.account", "assay_bank.transfer"}},
		{func() (creator, error) { return OpenIsolation(ctx, target) },
			[]string{"assay_isolation.list", "assay_isolation.register", "assay_isolation.member", "assay_isolation.pair"}},
		{func() (creator, error) { return OpenAvailability(ctx, target) }, []string{"assay_availability.row"}},
		{func() (creator, error) { return OpenEntity(ctx, target) }, []string{"assay_entity.entity"}},
		{func() (creator, error) { return OpenBulkUpdate(ctx, target) }, []string{"assay_bulkupdate.document"}},
		{func() (creator, error) { return OpenChurn(ctx, target) }, []string{"assay_churn.row"}},
	} {
		store, err := c.make()
		made(t, store, err)
		wantSharding(t, c.want[0], router.sharding(), sharded(c.want...))
	}
	store, err := OpenCandles(ctx, target)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(store.Create(ctx, workload.Mark{}, "zlib"), store.Drop(ctx), store.Close()); err != nil {
		t.Error(err)
	}
	// Once as all are made, and once with the engine.
	wantSharding(t, "candles", router.sharding(), sharded("assay_candles.candle", "assay_candles.candle"))
}

func testOlderVersion(t *testing.T, set *cluster.MongoDB, _ *standIn) {
	router := startStandIn(t, set.HostPort(0), 13)
	store, err := OpenChurn(t.Context(), workload.Target{Address: router.address() + "?shard=hashed", ConnectTimeout: 20 * time.Second})
	made(t, store, err)
	wantSharding(t, "MongoDB 5.0", router.sharding(), append([]bson.D{enableSharding("assay_churn")}, sharded("assay_churn.row")...))
}

func testUnsharded(t *testing.T, _ *cluster.MongoDB, router *standIn) {
	store, err := OpenBank(t.Context(), workload.Target{Address: router.address(), ConnectTimeout: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	product, err := store.Describe(patiently(t))
	if err != nil || setting(product, "sharding") != "none" {
		t.Errorf("%+v, %v", product, err)
	}
	made(t, store, nil)
	wantSharding(t, "without the parameter", router.sharding(), nil)
}

func testRouterDescription(t *testing.T, _ *cluster.MongoDB, router *standIn) {
	ctx := patiently(t)
	target := workload.Target{Address: router.address() + "?shard=hashed", ConnectTimeout: 20 * time.Second}
	want := map[string]string{"deployment": "sharded cluster, through its routers", "sharding": "hashed", "shards": "3",
		"shard shard01": "3 members", "storage engine": "", "transaction lifetime limit": "", "data nodes": ""}
	described := func(store interface {
		Describe(context.Context) (workload.Product, error)
		Close() error
	}, also ...string) {
		t.Helper()
		product, err := store.Describe(ctx)
		if err := errors.Join(err, store.Close()); err != nil {
			t.Fatal(err)
		}
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
		if top := product.Topology; top != (workload.Topology{Nodes: 9, Shards: 3, Replicas: 3}) {
			t.Errorf("%+v", top)
		}
	}
	described(opening(OpenBank, target.Address)(t), "check of replicas")
	heap := opening(OpenChurn, target.Address)(t)
	if names := heap.Repairs(); len(names) != 0 {
		t.Errorf("repairs %v", names)
	}
	if err := heap.Repair(ctx, repairCompact); err == nil || !strings.Contains(err.Error(), "each shard") {
		t.Errorf("compact: %v", err)
	}
	described(heap, "compact")
	crowd := opening(OpenBulkUpdate, target.Address)(t)
	if waits, err := crowd.Waits(ctx); len(waits) != 0 || err != nil {
		t.Errorf("waits %+v, %v", waits, err)
	}
	described(crowd)
}

// testRouterSettleWaits leaves a transaction open, which nobody aborts before
// the server does.
func testRouterSettleWaits(t *testing.T, _ *cluster.MongoDB, router *standIn) {
	ctx := patiently(t)
	store := closing(t, opening(OpenBank, router.address())(t))
	if err := errors.Join(store.Create(ctx, workload.Mark{}), store.LoadAccounts(ctx, []bank.Account{{ID: 1}, {ID: 2}})); err != nil {
		t.Fatal(err)
	}
	x, err := store.transactor(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := x.begin(); err != nil {
		t.Fatal(err)
	}
	if _, err := store.transfers.InsertOne(mongo.NewSessionContext(ctx, x.session), bson.D{{Key: "_id", Value: int64(1)}}); err != nil {
		t.Fatal(err)
	}
	x.leave(true)
	if len(store.abandoned) != 0 {
		t.Error("a transaction behind a router is to be aborted")
	}
	if err := store.noneOpen(ctx); !errors.As(err, new(*openError)) {
		t.Errorf("while it is open: %v", err)
	}
	if err := store.Settle(ctx); err != nil {
		t.Error(err)
	}
	if n, err := store.transfers.CountDocuments(ctx, bson.D{}); n != 0 || err != nil {
		t.Errorf("%d documents, %v", n, err)
	}
	if err := store.Drop(ctx); err != nil {
		t.Error(err)
	}
}

// testRouterGone names two routers, of which one ends: it is not waited for.
func testRouterGone(t *testing.T, set *cluster.MongoDB, router *standIn) {
	ctx := patiently(t)
	other := startStandIn(t, set.HostPort(0), 0)
	both := strings.TrimSuffix(router.address(), "/") + "," + strings.TrimPrefix(other.address(), "mongodb://")
	store := opening(OpenAvailability, both)(t)
	if err := store.Create(ctx, workload.Mark{}); err != nil {
		t.Fatal(err)
	}
	other.close()
	if err := errors.Join(store.Settle(ctx), store.Drop(ctx), store.Close()); err != nil {
		t.Error(err)
	}
}
