package cluster

import (
	"context"
	"database/sql"
	"net/url"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"assay/cluster/server"
	"assay/cluster/servertest"
	"assay/internal/expect"
)

// documents is the collection test.probe, with writes confirmed by a majority.
func documents(t *testing.T, address string) *mongo.Collection {
	t.Helper()
	client, err := mongo.Connect(options.Client().ApplyURI(address).SetWriteConcern(writeconcern.Majority()))
	expect.NoError(t, err)
	t.Cleanup(func() { client.Disconnect(context.WithoutCancel(t.Context())) })
	return client.Database("test").Collection("probe")
}

func insertDocument(t *testing.T, all *mongo.Collection, id int) {
	t.Helper()
	if _, err := all.InsertOne(expect.Patiently(t), bson.D{{Key: "_id", Value: id}}); err != nil {
		t.Fatal(err)
	}
}

func wantDocuments(t *testing.T, all *mongo.Collection, want int64) {
	t.Helper()
	if n, err := all.CountDocuments(expect.Patiently(t), bson.D{}); err != nil || n != want {
		t.Errorf("%d documents of %d, %v", n, want, err)
	}
}

func members(t *testing.T, all *mongo.Collection) (members []struct{ Votes, Priority float64 }) {
	t.Helper()
	var reply struct {
		Config struct {
			Members []struct{ Votes, Priority float64 }
		}
	}
	err := all.Database().Client().Database("admin").RunCommand(expect.Patiently(t), bson.D{{Key: "replSetGetConfig", Value: 1}}).Decode(&reply)
	if err != nil {
		t.Errorf("members: %v", err)
	}
	return reply.Config.Members
}

func connectMariaDB(t *testing.T, n *Node) *sql.DB {
	t.Helper()
	u, err := url.Parse(n.cluster.Address())
	expect.NoError(t, err)
	return servertest.SQL(t, n.Address(), u.User)
}

func executeSQL(t *testing.T, n *Node, text string) {
	t.Helper()
	servertest.Execute(t, connectMariaDB(t, n), text)
}

func querySQL(t *testing.T, n *Node, text string) string {
	t.Helper()
	return servertest.Value(t, connectMariaDB(t, n), text)
}

func insertRow(t *testing.T, n *Node, id int) {
	t.Helper()
	db := connectMariaDB(t, n)
	err := server.Until(expect.Patiently(t), 20*time.Millisecond, "a write", func(ctx context.Context) error {
		_, err := db.ExecContext(ctx, "INSERT INTO probe.t VALUES (?) ON DUPLICATE KEY UPDATE id = id", id)
		return err
	})
	expect.NoError(t, err)
}

// wantRows requires that all nodes are in step with the same rows.
func wantRows(t *testing.T, c *Cluster, want string) {
	t.Helper()
	expect.NoError(t, c.Settled(expect.Patiently(t)))
	for _, n := range c.Nodes() {
		if got := querySQL(t, n, "SELECT group_concat(id ORDER BY id) FROM probe.t"); got != want {
			t.Errorf("%s has the rows %s, want %s", n.Name(), got, want)
		}
	}
}
