package mongodb

import (
	"context"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	cluster "assay/cluster/mongodb"
	"assay/driver/drivertest"
	"assay/internal/expect"
	"assay/workload/bank"
)

// testAuditWithoutMajority: what no majority has is not believed.
func testAuditWithoutMajority(t *testing.T, set *cluster.ReplicaSet) {
	store, ledger := loaded(t, set, 100, 100)
	mustCommit(t, mustSession(t, store), ledger, bank.Transfer{ID: 1, Source: 1, Destination: 2, Amount: 10})
	primary, err := set.Primary(expect.Patiently(t))
	expect.NoError(t, err)
	for i := range set.Nodes() {
		if i != primary {
			expect.NoError(t, set.Node(i).Pause())
			defer set.Node(i).Resume()
		}
	}
	// What no majority has confirmed is on the primary now, and an audit that
	// sees it must not be believed.
	client := plainClient(t, "mongodb://"+set.Node(primary).Address()+"/?directConnection=true&w=1")
	_, err = client.Database("assay_bank").Collection("account").UpdateByID(expect.Patiently(t), int64(1),
		bson.D{{Key: "$set", Value: bson.D{{Key: "balance", Value: int64(7)}}}})
	expect.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	states := make([]bank.State, 2)
	if err := store.Audit(ctx, []int64{1, 2}, states); err == nil {
		t.Errorf("an audit without a majority read %+v", states)
	}
	// Nor is a snapshot, which does not have it, the state at the end.
	short, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if read, err := drivertest.ReadAll(short, store.Store); err == nil {
		t.Errorf("without a majority %+v was read", read.Accounts)
	}
}
