package mongodb

import (
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	cluster "assay/cluster/mongodb"
	"assay/internal/expect"
)

// testBlocked locks the primary, as somebody does who copies its files and forgets it.
func testBlocked(t *testing.T, set *cluster.ReplicaSet) {
	ctx := expect.Patiently(t)
	store, _ := loaded(t, set, 1, 2)
	if by, err := store.Blocked(ctx); by != "" || err != nil {
		t.Errorf("nothing waits: %q, %v", by, err)
	}
	admin := plainClient(t, set.Address()).Database("admin")
	expect.NoError(t, admin.RunCommand(ctx, bson.D{{Key: "fsync", Value: 1}, {Key: "lock", Value: true}}).Err())
	by, err := store.Blocked(ctx)
	if unlocked := admin.RunCommand(ctx, bson.D{{Key: "fsyncUnlock", Value: 1}}).Err(); unlocked != nil {
		t.Fatal(unlocked)
	}
	if err != nil || !strings.Contains(by, "db.fsyncUnlock()") {
		t.Errorf("%q, %v", by, err)
	}
}
