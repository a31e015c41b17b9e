package mongodb

import (
	"context"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"assay/driver/drivertest"
	"assay/internal/expect"
)

// others are what a user can make on a collection of ours.
func others(database *mongo.Database, collection string) []drivertest.Other {
	ctx := context.Background()
	fail := func(t *testing.T, err error) {
		t.Helper()
		expect.NoError(t, err)
	}
	there := func(filter bson.D) func(t *testing.T) {
		return func(t *testing.T) {
			t.Helper()
			if names, err := database.ListCollectionNames(ctx, filter); err != nil || len(names) != 1 {
				t.Errorf("what others made was touched: %v, %v", names, err)
			}
		}
	}
	view := func(of string, pipeline mongo.Pipeline) drivertest.Other {
		return drivertest.Other{
			Name:   "view " + database.Name() + ".others",
			Make:   func(t *testing.T) { fail(t, database.CreateView(ctx, "others", of, pipeline)) },
			Intact: there(bson.D{{Key: "name", Value: "others"}, {Key: "type", Value: "view"}}),
			Remove: func(t *testing.T) {
				fail(t, database.Collection("others").Drop(ctx))
				fail(t, database.Collection("system.views").Drop(ctx)) // which the server keeps
			},
		}
	}
	joined := mongo.Pipeline{{{Key: "$lookup", Value: bson.D{{Key: "from", Value: collection}, {Key: "pipeline", Value: bson.A{}}, {Key: "as", Value: "all"}}}}}
	indexes := database.Collection(collection).Indexes()
	return []drivertest.Other{
		view(collection, nil), view("theirs", joined),
		{
			Name: "index others on " + database.Name() + "." + collection,
			Make: func(t *testing.T) {
				_, err := indexes.CreateOne(ctx, mongo.IndexModel{Keys: ascending("other"), Options: options.Index().SetName("others")})
				fail(t, err)
			},
			Intact: func(t *testing.T) {
				if _, err := database.Collection(collection).CountDocuments(ctx, bson.D{}, options.Count().SetHint("others")); err != nil {
					t.Errorf("the index was touched: %v", err)
				}
			},
			Remove: func(t *testing.T) { fail(t, indexes.DropOne(ctx, "others")) },
		},
	}
}
