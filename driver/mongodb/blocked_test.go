package mongodb

import (
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	cluster "assay/cluster/mongodb"
	"assay/internal/expect"
)

// TestArbitersThatRunAreNotAway: in a set of a primary, an arbiter and a member that is away.
func TestArbitersThatRunAreNotAway(t *testing.T) {
	raw, err := bson.Marshal(bson.M{"writeMajorityCount": 2, "members": bson.A{
		bson.M{"name": "a:1", "state": 1}, bson.M{"name": "b:2", "state": 7}, bson.M{"name": "c:3", "state": 8}}})
	expect.NoError(t, err)
	var s memberStates
	expect.NoError(t, bson.Unmarshal(raw, &s))
	if advice := s.advice(); !strings.HasSuffix(advice, "(c:3)") {
		t.Error(advice)
	}
	s.Majority = 1
	if advice := s.advice(); advice != "" {
		t.Error(advice)
	}
}

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
