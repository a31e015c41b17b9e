package mongodb

import (
	"context"
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
	"assay/workload/bank"
)

// throughFault has something happen twice to the primary while clients work.
func throughFault(t *testing.T, set *cluster.ReplicaSet, fault func(primary int) error) {
	once := func(func()) {
		primary, err := set.Primary(expect.Patiently(t))
		expect.NoError(t, err)
		expect.NoError(t, fault(primary))
	}
	to := store.Target{Address: set.Address(), ConnectTimeout: 20 * time.Second}
	drivertest.RunThroughFaults(t, drivertest.Store{Open: Open, Lacks: Lacks(), Target: to}, once, once)
}

func testStepDown(t *testing.T, set *cluster.ReplicaSet) {
	throughFault(t, set, func(int) error { return set.StepDown(expect.Patiently(t)) })
}

func testKillPrimary(t *testing.T, set *cluster.ReplicaSet) {
	throughFault(t, set, func(primary int) error {
		if err := set.Node(primary).Kill(); err != nil {
			return err
		}
		return set.Restart(expect.Patiently(t), primary)
	})
}

// testCommitIsSentOnce loses the answer to a commit on a network that is well
// again at once, so that a resent commit would arrive.
func testCommitIsSentOnce(t *testing.T, set *cluster.ReplicaSet) {
	_, ledger := loaded(t, set, 1000, 1000)
	proxy := drivertest.NewProxy(t, set.Node(0).Address())
	address := "mongodb://" + proxy.Addr() + "/?directConnection=true"
	opened := closing(t, mustOpen(t, address))
	commits := commitCounter(t, set)

	cutAfterCommit := func(commit func()) {
		t.Helper()
		seen := proxy.Arm([]byte("commitTransaction"), true)
		go func() {
			<-seen
			proxy.Pass()
		}()
		commit()
	}
	session := mustSession(t, opened)
	tr := bank.Transfer{ID: 1, Source: 1, Destination: 2, Amount: 10}
	before := commits()
	cutAfterCommit(func() {
		if r := do(expect.Patiently(t), session, ledger, tr); r.Outcome != history.Unknown || r.Class == classResent {
			t.Errorf("a commit without answer: %+v", r)
		}
	})
	if n := commits() - before; n != 1 {
		t.Errorf("the server got %d commits", n)
	}
	// The library's own commit, to show that the counter tells the difference.
	client := plainClient(t, address+"&retryWrites=false")
	before = commits()
	cutAfterCommit(func() {
		err := client.UseSession(expect.Patiently(t), func(ctx context.Context) error {
			own := mongo.SessionFromContext(ctx)
			if err := own.StartTransaction(options.Transaction()); err != nil {
				return err
			}
			if _, err := client.Database("assay_bank").Collection("probe").InsertOne(ctx, bson.D{}); err != nil {
				return err
			}
			return own.CommitTransaction(ctx)
		})
		if err != nil {
			t.Errorf("the library's own commit: %v", err)
		}
	})
	if n := commits() - before; n != 2 {
		t.Errorf("the server got %d commits from the library's own commit, which used to be 2", n)
	}
	expect.NoError(t, client.Database("assay_bank").Collection("probe").Drop(expect.Patiently(t)))
	ledger.Check(expect.Patiently(t), t, opened.Store)
}

// commitCounter asks the server how many commitTransaction it has got.
func commitCounter(t *testing.T, set *cluster.ReplicaSet) func() int64 {
	t.Helper()
	client := plainClient(t, set.Address())
	return func() int64 {
		t.Helper()
		var status struct {
			Metrics struct {
				Commands struct {
					Commit struct {
						Total int64 `bson:"total"`
					} `bson:"commitTransaction"`
				} `bson:"commands"`
			} `bson:"metrics"`
		}
		err := client.Database("admin").RunCommand(expect.Patiently(t), bson.D{{Key: "serverStatus", Value: 1}}).Decode(&status)
		expect.NoError(t, err)
		return status.Metrics.Commands.Commit.Total
	}
}
