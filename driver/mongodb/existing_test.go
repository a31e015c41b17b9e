package mongodb

import (
	"context"
	"fmt"
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
)

// testExisting works on collections that somebody else has made: with text, and with bytes,
// as YCSB's own driver writes.
func testExisting(t *testing.T, set *cluster.ReplicaSet) {
	for _, bytes := range []bool{false, true} {
		t.Run(fmt.Sprintf("bytes=%v", bytes), func(t *testing.T) {
			db := plainClient(t, set.Address()).Database("theirs")
			t.Cleanup(func() { expect.NoError(t, db.Drop(context.Background())) })
			text := func(s string) any {
				if bytes {
					return []byte(s)
				}
				return s
			}
			for collection, document := range map[string]bson.D{
				"usertable": {{Key: "_id", Value: "user1"}, {Key: "field0", Value: text("one")}, {Key: "field1", Value: text("two")}},
				"order":     {{Key: "_id", Value: "user1"}, {Key: "field0", Value: text("one")}, {Key: "field1", Value: text("two")}},
				"expiring":  {{Key: "_id", Value: "user1"}, {Key: "field0", Value: text("one")}, {Key: "field1", Value: text("two")}},
				"crooked":   {{Key: "_id", Value: "user1"}, {Key: "field0", Value: 7}},
				"others":    {{Key: "_id", Value: 7}},
			} {
				_, err := db.Collection(collection).InsertOne(t.Context(), document)
				expect.NoError(t, err)
			}
			expect.NoError(t, db.CreateView(t.Context(), "seen", "usertable", mongo.Pipeline{}),
				db.CreateCollection(t.Context(), "bounded", options.CreateCollection().SetCapped(true).SetSizeInBytes(4096)),
				db.RunCommand(t.Context(), bson.D{{Key: "collMod", Value: "usertable"}, {Key: "validator", Value: bson.D{{Key: "field0", Value: bson.D{{Key: "$ne", Value: "x"}}}}}}).Err())
			_, err := db.Collection("expiring").Indexes().CreateOne(t.Context(), mongo.IndexModel{Keys: bson.D{{Key: "made", Value: 1}}, Options: options.Index().SetExpireAfterSeconds(60)})
			expect.NoError(t, err)
			to := store.Target{Address: strings.Replace(set.Address(), "/?", "/theirs?", 1), ConnectTimeout: 20 * time.Second}
			drivertest.RunExisting(t, drivertest.Existing{Open: Open, Target: to, Key: "_id", Beside: "validator",
				Altered: map[string]string{"seen": "view", "bounded": "capped", "expiring": "expire"}, Others: func(t *testing.T) string {
					databases, err := db.Client().ListDatabaseNames(t.Context(), bson.D{})
					expect.NoError(t, err)
					specifications, err := db.ListCollectionSpecifications(t.Context(), bson.D{{Key: "name", Value: bson.D{{Key: "$ne", Value: ""}}}})
					expect.NoError(t, err)
					known := map[string]string{}
					for _, s := range specifications {
						known[s.Name] = fmt.Sprint(s.Options, s.UUID)
					}
					others, err := db.Collection("others").CountDocuments(t.Context(), bson.D{})
					expect.NoError(t, err)
					return fmt.Sprint(databases, known, others)
				}})
			kind, err := db.Collection("usertable").CountDocuments(t.Context(), bson.D{{Key: "field1", Value: bson.D{{Key: "$type", Value: map[bool]string{true: "binData", false: "string"}[bytes]}}}})
			if expect.NoError(t, err); kind != 2 {
				t.Errorf("%d documents have the type that was there", kind)
			}
		})
	}
}
