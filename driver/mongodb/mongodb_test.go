package mongodb

import (
	"context"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	cluster "assay/cluster/mongodb"
	"assay/cluster/server"
	"assay/driver/drivertest"
	"assay/internal/expect"
	"assay/store"
	"assay/workload/bank"
	"assay/workload/definition"
	"assay/workload/isolation"
)

// startSet starts a replica set that elects and gives up transactions quickly.
func startSet(t testing.TB, nodes int, args ...string) *cluster.ReplicaSet {
	t.Helper()
	set, err := cluster.Start(t.Context(), cluster.Options{
		Layout: server.Layout{Nodes: nodes}, ElectionTimeout: 2 * time.Second, Heartbeat: 500 * time.Millisecond,
		Args: append([]string{"--setParameter", "transactionLifetimeLimitSeconds=2"}, args...),
	})
	expect.NoError(t, err)
	expect.AtEnd(t, set.Close)
	return set
}

// bankStore is the Store of workload bank, with what lies under it.
type bankStore struct {
	bank.Store
	store.Replicated
	under
	accounts, transfers *mongo.Collection
}

// under keeps what a database has behind what a workload makes of it.
type under struct{ beneath }

type beneath struct{ *database }

func mustOpenSchema(t *testing.T, address string, schema store.Schema) *database {
	t.Helper()
	db, err := Open(t.Context(), store.Target{Address: address, ConnectTimeout: 20 * time.Second}, schema)
	expect.NoError(t, err)
	return db.(*database)
}

func mustOpen(t *testing.T, address string) *bankStore {
	t.Helper()
	d := mustOpenSchema(t, address, bank.Schema())
	return &bankStore{bank.Over(d), d, under{beneath{d}}, d.collections[0], d.collections[1]}
}

// closing closes the Store at the end of the test.
func closing(t *testing.T, opened *bankStore) *bankStore {
	t.Helper()
	expect.AtEnd(t, opened.Close)
	return opened
}

// plainClient is a client that has nothing to do with the driver under test.
func plainClient(t *testing.T, address string) *mongo.Client {
	t.Helper()
	client, err := mongo.Connect(options.Client().ApplyURI(address))
	expect.NoError(t, err)
	expect.AtEnd(t, func() error { return client.Disconnect(context.Background()) })
	return client
}

// TestReplicaSet shares one set of three nodes, so each subtest leaves it
// healthy and empty.
func TestReplicaSet(t *testing.T) {
	t.Parallel()
	set := startSet(t, 3)
	t.Run("Store", func(t *testing.T) {
		for _, options := range []string{"", "&readConcernLevel=local&w=1"} {
			t.Run("options="+options, func(t *testing.T) {
				to := store.Target{Address: set.Address() + options, ConnectTimeout: 20 * time.Second}
				drivertest.RunOutcomes(t, drivertest.Store{Open: Open, Lacks: Lacks(), Target: to})
				drivertest.ShortRuns(t, to, definition.SupportOf(bank.Definition(), Open, Lacks()), definition.SupportOf(isolation.Definition(), Open, Lacks()))
			})
		}
	})
	for _, s := range []struct {
		name string
		run  func(*testing.T, *cluster.ReplicaSet)
	}{
		{"AuditWithoutMajority", testAuditWithoutMajority},
		{"Describe", testDescribe},
		{"Inherited", testInherited},
		{"InterruptedCreation", testInterruptedCreation},
		{"Existing", testExisting},
		{"ForeignMark", testForeignMark},
		{"OthersCollectionStays", testOthersCollectionStays},
		{"SettleWaits", testSettleWaits},
		{"Blocked", testBlocked},
		{"AbandonedIsAborted", testAbandonedIsAborted},
		{"DroppedOverOpenTransactions", testDroppedOverOpenTransactions},
		{"LifetimeLimit", testLifetimeLimit},
		{"UnconfirmedDuplicate", testUnconfirmedDuplicate},
		{"Cursor", testCursor},
		{"SessionsEnd", testSessionsEnd},
		{"Compressed", testCompressed},
		{"KillPrimary", testKillPrimary},
		{"StepDown", testStepDown}, // last: who has stepped down does not stand again for a minute
	} {
		t.Run(s.name, func(t *testing.T) { s.run(t, set) })
	}
}

func makeForeign(t *testing.T, database *mongo.Database) {
	t.Helper()
	if _, err := database.Collection("account").InsertOne(t.Context(), bson.D{{Key: "_id", Value: "mine"}}); err != nil {
		t.Fatal(err)
	}
	expect.AtEnd(t, func() error { return database.Drop(context.Background()) })
}

func foreignIntact(t *testing.T, database *mongo.Database) {
	t.Helper()
	names, err := database.ListCollectionNames(t.Context(), bson.D{})
	if err != nil || len(names) != 1 || names[0] != "account" {
		t.Errorf("collections %v, %v; want account alone", names, err)
	}
	cursor, err := database.Collection("account").Find(t.Context(), bson.D{})
	expect.NoError(t, err)
	var documents []struct {
		ID string `bson:"_id"`
	}
	if err := cursor.All(t.Context(), &documents); err != nil || len(documents) != 1 || documents[0].ID != "mine" {
		t.Errorf("documents %v, %v; want the one that was there", documents, err)
	}
}

// TestStore has the network break and the server die, which one node, named
// directly, survives under the same address.
func TestStore(t *testing.T) {
	t.Parallel()
	testStore(t, startSet(t, 1))
}

func TestTPCC(t *testing.T) {
	t.Parallel()
	testTPCC(t, startSet(t, 1))
}

func TestOneNode(t *testing.T) {
	t.Parallel()
	set := startSet(t, 1)
	for _, s := range []struct {
		name string
		run  func(*testing.T, *cluster.ReplicaSet)
	}{
		{"Statistics", testStatistics},
		{"Database", testDatabase},
		{"Workloads", testWorkloads},
		{"IsolationPromise", testIsolationPromise},
	} {
		t.Run(s.name, func(t *testing.T) { s.run(t, set) })
	}
	t.Run("Interleaving", func(t *testing.T) { testInterleaving(t, set.Address()) })
	t.Run("SnapshotTooOld", func(t *testing.T) { testSnapshotTooOld(t, set) })
	t.Run("CommitIsSentOnce", func(t *testing.T) { testCommitIsSentOnce(t, set) })
}

// restart kills the first node and starts it again.
func restart(t *testing.T, set *cluster.ReplicaSet) {
	t.Helper()
	expect.NoError(t, set.Node(0).Kill())
	expect.NoError(t, set.Restart(expect.Patiently(t), 0))
}
