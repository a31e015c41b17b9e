package mongodb

import (
	"context"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"assay/application/wire"
	"assay/internal/expect"
)

// TestAFailoverTakesNoWrites: from a transaction's commit on, which does not arrive, the server takes reads
// alone, until it is over.
func TestAFailoverTakesNoWrites(t *testing.T) {
	t.Parallel()
	product, proxy := beforeOne(t)
	client, err := mongo.Connect(options.Client().ApplyURI(product.Reach().Address(proxy.Address())))
	expect.NoError(t, err)
	expect.AtEnd(t, func() error { return client.Disconnect(context.Background()) })
	rows := client.Database("shop").Collection("sale")
	insert := func(ctx context.Context, id int) error {
		_, err := rows.InsertOne(ctx, bson.D{{Key: "_id", Value: id}})
		return err
	}
	expect.NoError(t, insert(t.Context(), 1))
	proxy.Arm(&wire.Fault{Action: wire.Standby + "-10m", Time: 1, Matches: func(kind wire.Kind, _ string) bool { return kind == wire.Commit }})
	session, err := client.StartSession()
	expect.NoError(t, err)
	expect.NoError(t, session.StartTransaction(), insert(mongo.NewSessionContext(t.Context(), session), 2))
	refused := func(about string, err error) {
		t.Helper()
		if said, is := err.(mongo.ServerError); !is || !said.HasErrorCode(10107) {
			t.Errorf("%s: %v", about, err)
		}
	}
	refused("the commit", session.CommitTransaction(t.Context()))
	refused("a write", insert(t.Context(), 3))
	n, err := rows.CountDocuments(t.Context(), bson.D{})
	if err != nil || n != 1 {
		t.Errorf("%d are there: %v", n, err)
	}
	proxy.Arm(nil)
	if said, is := session.CommitTransaction(t.Context()).(mongo.ServerError); !is || !said.HasErrorCode(251) {
		t.Errorf("a transaction of before can be committed: %v", said)
	}
	session.EndSession(t.Context())
	expect.NoError(t, insert(t.Context(), 4), proxy.Recorder().Problem())
}
