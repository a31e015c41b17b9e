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
	"assay/internal/expect"
	"assay/store"
	"assay/workload/bank"
)

func testDescribe(t *testing.T, set *cluster.ReplicaSet) {
	for _, c := range []struct {
		options string
		want    map[string]string
	}{
		{"", map[string]string{"write concern": "majority", "read concern": "majority", "isolation": "snapshot",
			"storage engine": "wiredTiger", "cache": "256 MiB a node", "deployment": "replica set rs0", "data nodes": "3",
			"arbiters": "0", "election timeout": "2000 ms", "majority waits for the journal": "true",
			"transaction lifetime limit": "2s", "journal asked for": "", "connections at most": "10064"}},
		{"&w=1&readConcernLevel=local&maxPoolSize=7", map[string]string{"write concern": "1", "read concern": "local", "connections at most": "7"}},
		{"&w=2&journal=true&readConcernLevel=snapshot", map[string]string{"write concern": "2", "read concern": "snapshot", "journal asked for": "true"}},
		{"&journal=false", map[string]string{"write concern": "majority", "journal asked for": "false"}},
	} {
		db := closing(t, mustOpen(t, set.Address()+c.options))
		product, err := db.Describe(expect.Patiently(t))
		expect.NoError(t, err)
		for name, want := range c.want {
			if got := drivertest.Value(product.Settings, name); got != want {
				t.Errorf("%q: setting %s is %q, want %q", c.options, name, got, want)
			}
		}
		topology := product.Topology
		if product.Name != "MongoDB" || !strings.Contains(product.Version, ".") || topology.Nodes != 3 || topology.Replicas != 3 ||
			topology.Arbiters != 0 || topology.CPUsPerNode < 1 || topology.MemoryPerNode < 1<<20 || topology.DiskBytesPerNode < 1<<20 {
			t.Errorf("%q: %+v", c.options, product)
		}
		if drivertest.Value(product.Changed, "storage.wiredTiger.engineConfig.cacheSizeGB") == "" {
			t.Errorf("the cache is not told: %v", product.Changed)
		}
	}
	db := closing(t, mustOpen(t, set.Address()+"&retryWrites=true"))
	product, err := db.Describe(expect.Patiently(t))
	if retries := drivertest.Value(product.Settings, "library's retries"); err != nil || !strings.HasPrefix(retries, "none") || !strings.Contains(retries, "although") {
		t.Errorf("retries asked for: %q, %v", retries, err)
	}
}

// testInterruptedCreation meets what Create leaves when it ends at each of its
// steps.
func testInterruptedCreation(t *testing.T, set *cluster.ReplicaSet) {
	ctx := expect.Patiently(t)
	db := closing(t, mustOpen(t, set.Address()))
	plain := plainClient(t, set.Address()).Database("assay_bank")
	expect.NoError(t, plain.CreateCollection(ctx, markCollection))
	if remains, err := db.Find(ctx); remains != nil || err != nil {
		t.Errorf("an empty collection for marks: %+v, %v; want nothing", remains, err)
	}
	expect.NoError(t, db.Create(ctx, store.Marker{Run: "one", Workload: "bank"}))
	for _, name := range []string{"transfer", "account"} {
		expect.NoError(t, plain.Collection(name).Drop(ctx))
		if remains, err := db.Find(ctx); err != nil || remains == nil || remains.Marker.Run != "one" || remains.Rows != 0 {
			t.Errorf("without %s: %+v, %v", name, remains, err)
		}
	}
	if err := db.Create(ctx, store.Marker{Run: "two", Workload: "bank"}); err != nil {
		t.Errorf("Create over it: %v", err)
	}
	expect.NoError(t, db.Drop(ctx))
	if names, err := plain.ListCollectionNames(ctx, bson.D{}); err != nil || len(names) != 0 {
		t.Errorf("after Drop: %v, %v", names, err)
	}
}

// testForeignMark has a collection of the mark's name that is not ours.
func testForeignMark(t *testing.T, set *cluster.ReplicaSet) {
	ctx := expect.Patiently(t)
	db := closing(t, mustOpen(t, set.Address()))
	plain := plainClient(t, set.Address()).Database("assay_bank")
	for _, document := range []bson.D{{{Key: "_id", Value: "other"}}, {{Key: "_id", Value: markID}, {Key: "rows", Value: "many"}}} {
		if _, err := plain.Collection(markCollection).InsertOne(ctx, document); err != nil {
			t.Fatal(err)
		}
		for name, err := range map[string]error{"Create": db.Create(ctx, store.Marker{}), "Drop": db.Drop(ctx)} {
			if !errors.As(err, new(*store.ForeignError)) {
				t.Errorf("%s with %v: %v", name, document, err)
			}
		}
		if n, err := plain.Collection(markCollection).CountDocuments(ctx, bson.D{}); n != 1 || err != nil {
			t.Errorf("%d documents left, %v", n, err)
		}
		expect.NoError(t, plain.Drop(ctx))
	}
}

// testOthersCollectionStays has somebody put a collection beside ours.
func testOthersCollectionStays(t *testing.T, set *cluster.ReplicaSet) {
	ctx := expect.Patiently(t)
	db, _ := loaded(t, set, 1, 2)
	other := plainClient(t, set.Address()).Database("assay_bank").Collection("notes")
	if _, err := other.InsertOne(ctx, bson.D{}); err != nil {
		t.Fatal(err)
	}
	expect.NoError(t, db.Drop(ctx))
	if n, err := other.CountDocuments(ctx, bson.D{}); n != 1 || err != nil {
		t.Errorf("%d documents of another's are left, %v", n, err)
	}
	expect.NoError(t, other.Drop(ctx))
}

// testSnapshotTooOld reads for longer than the server keeps snapshots.
func testSnapshotTooOld(t *testing.T, set *cluster.ReplicaSet) {
	ctx := expect.Patiently(t)
	db, _ := loaded(t, set)
	var all []bank.Account
	for id := int64(1); id <= readBatch+1; id++ {
		all = append(all, bank.Account{ID: id})
	}
	for batch := range slices.Chunk(all, 1000) {
		expect.NoError(t, db.LoadAccounts(ctx, batch))
	}
	window := func(seconds int) {
		t.Helper()
		if err := db.admin.RunCommand(context.WithoutCancel(ctx), bson.D{{Key: "setParameter", Value: 1},
			{Key: "minSnapshotHistoryWindowInSeconds", Value: seconds}}).Err(); err != nil {
			t.Fatal(err)
		}
	}
	window(1)
	defer window(300)
	rows := 0
	err := db.Read(ctx, func(bank.Account) error {
		if rows++; rows == 1 {
			outliveSnapshots(ctx, t, db)
		}
		return nil
	}, func(bank.Entry) error { return nil })
	if code, _ := serverCode(err); code != codeSnapshotTooOld || !strings.Contains(err.Error(), "minSnapshotHistoryWindowInSeconds") {
		t.Errorf("after %d rows: %v", rows, err)
	}
}

// outliveSnapshots writes until the server has forgotten what is there now.
func outliveSnapshots(ctx context.Context, t *testing.T, db *bankStore) {
	t.Helper()
	session, err := db.client.StartSession(options.Session().SetSnapshot(true))
	expect.NoError(t, err)
	defer session.EndSession(ctx)
	for {
		err := db.marks.FindOne(mongo.NewSessionContext(ctx, session), bson.D{}).Err()
		if code, _ := serverCode(err); code == codeSnapshotTooOld {
			return
		}
		expect.NoError(t, err)
		if _, err := db.marks.UpdateByID(ctx, markID, bson.D{{Key: "$inc", Value: bson.D{{Key: "probe", Value: 1}}}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}
