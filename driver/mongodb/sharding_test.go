package mongodb

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"assay/driver/drivertest"
	"assay/history"
	"assay/internal/expect"
	"assay/store"
)

func TestShardParameter(t *testing.T) {
	for address, hashed := range map[string]bool{
		"mongodb://h/": false, "mongodb://h/?w=1": false, "mongodb://h/?shard=hashed": true, "mongodb://h/?w=1&Shard=hashed&journal=true": true,
	} {
		s, err := parse(store.Target{Address: address}, "bank", true)
		if err != nil || s.hashed != hashed {
			t.Errorf("%s: %+v, %v", address, s, err)
		}
	}
	for _, value := range []string{"", "range", "Hashed", "true", "hashed&shard=hashed"} {
		_, err := parse(store.Target{Address: "mongodb://h/?shard=" + value}, "bank", true)
		var refused *store.OptionError
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
		_, err := parse(store.Target{Address: address}, "bank", true)
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
		`{"$match":{"appName":{"$regex":"^assay bank "},"transaction.parameters.autocommit":false}}]`)
	sameBSON(t, "of a router", routerTransactions("bank"), `[{"$currentOp":{"allUsers":false,"localOps":true}},`+
		`{"$match":{`+ours+`,"active":true,"command.autocommit":false}},`+total+`]`)
	sameBSON(t, "of shards", shardTransactions("bank"), `[{"$currentOp":{"allUsers":true,"idleSessions":true}},`+
		`{"$match":{"$or":[{"$and":[{`+ours+`},{"$or":[{"transaction.parameters.autocommit":false},{"twoPhaseCommitCoordinator":{"$exists":true}}]}]},`+
		`{"$or":[{"transaction.timePreparedMicros":{"$gt":0},"appName":{"$in":[null,""]}},{"twoPhaseCommitCoordinator.hasRecoveredFromFailover":true}]}]}},`+total+`]`)
	writes := `{"ns":"d.c","active":true,"op":{"$in":["insert","update","remove"]}},{"command.insert":"c","command.$db":"d","active":true},` +
		`{"command.update":"c","command.$db":"d","active":true},{"command.delete":"c","command.$db":"d","active":true},` +
		`{"command.findAndModify":"c","command.$db":"d","active":true}`
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
	expect.NoError(t, err)
	d = &description{}
	d.count(uneven)
	if top := d.product.Topology; top.Shards != 2 || top.Replicas != 0 || top.Nodes != 3 ||
		drivertest.Value(d.product.Settings, "shard a") != "1 member" || drivertest.Value(d.product.Settings, "shard b") != "replica set rs7, 2 members" {
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
		expect.NoError(t, bson.Unmarshal(document, &part))
		parts = append(parts, part)
	}
	if data, indexes := added(parts); data != 24576 || indexes != 49152 {
		t.Errorf("data %d, indexes %d", data, indexes)
	}
}

func TestRouterErrors(t *testing.T) {
	for code, class := range map[int32]string{
		13388: classRouting, 70: classRouting, 249: classRouting, 150: classRouting, 133: store.ClassNotPrimary, 202: store.ClassTimeout,
		281: store.ClassNotPrimary, 282: classAborted, 272: classSnapshot, 6: store.ClassLost,
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
		if r := judgeUpdate(err, 1, true, false); r.Outcome != history.Unknown {
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
	for _, by := range supports() {
		err := opened(t, by.Workload, store.Target{Address: address + "shard=hashed", ConnectTimeout: 20 * time.Second})
		var refused *store.OptionError
		if !errors.As(err, &refused) || refused.Option != "shard" || !strings.Contains(err.Error(), found) || !strings.Contains(err.Error(), "mongos") {
			t.Errorf("%s: %v", by.Workload, err)
		}
	}
	names, err := plainClient(t, address).ListDatabaseNames(t.Context(), bson.D{})
	if err != nil || slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, "assay") }) {
		t.Errorf("databases %v, %v", names, err)
	}
}

// opened opens and closes the database of a workload.
func opened(t *testing.T, workload string, target store.Target) error {
	t.Helper()
	for _, by := range supports() {
		if by.Workload == workload {
			db, err := by.Open(t.Context(), target)
			if err == nil {
				err = db.Close()
			}
			return err
		}
	}
	t.Fatalf("no workload %s", workload)
	return nil
}
