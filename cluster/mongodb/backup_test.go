package mongodb

import (
	"fmt"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"assay/cluster/server"
	"assay/cluster/servertest"
	"assay/internal/expect"
)

// TestBackupAndRestore: a backup of a secondary is complete, the set takes writes before and after,
// and each restored copy is a set of its own.
func TestBackupAndRestore(t *testing.T) {
	t.Parallel()
	at := t.TempDir()
	m := expect.Started(t, Start, Options{Layout: server.Layout{Nodes: 3}})
	insert(t, m, 1)
	secondary := (servertest.Leader(t, m) + 1) % 3
	by, err := m.BackUp(t.Context(), secondary, "", filepath.Join(at, "backup"))
	if err != nil || by == "" {
		t.Fatalf("%q, %v", by, err)
	}
	insert(t, m, 2) // by every member: it is unlocked
	for range 2 {
		address, end, err := m.Restore(t.Context(), filepath.Join(at, "backup"), filepath.Join(at, "restored"), time.Time{})
		expect.NoError(t, err)
		var reply struct {
			N int `bson:"n"`
		}
		restored := nodeAt(t, address)
		count := bson.D{{Key: "count", Value: "probe"}, {Key: "query", Value: bson.D{{Key: "_id", Value: bson.D{{Key: "$gte", Value: 0}}}}}}
		expect.NoError(t, run(expect.Patiently(t), restored, time.Minute, count, &reply))
		if reply.N != 1 {
			t.Errorf("%d documents were restored", reply.N)
		}
		write := bson.D{{Key: "insert", Value: "probe"}, {Key: "documents", Value: bson.A{bson.D{{Key: "_id", Value: 9}}}},
			{Key: "writeConcern", Value: bson.D{{Key: "w", Value: "majority"}, {Key: "wtimeout", Value: 30_000}}}}
		expect.NoError(t, run(expect.Patiently(t), restored, time.Minute, write, &reply))
		expect.NoError(t, end())
	}
	if n := count(t, m); n != 2 {
		t.Errorf("the set has %d documents", n)
	}
}

// TestABackupThatFails leaves the member unlocked.
func TestABackupThatFails(t *testing.T) {
	m := expect.Started(t, Start, Options{Layout: server.Layout{Nodes: 1}})
	insert(t, m, 1)
	if _, err := m.BackUp(t.Context(), 0, "", m.Node(0).Dir); err == nil {
		t.Error("a backup into the member's own folder, which is not empty")
	}
	insert(t, m, 2)
}

func nodeAt(t *testing.T, address string) *server.Node {
	t.Helper()
	u, err := url.Parse(address)
	expect.NoError(t, err)
	node := &server.Node{Host: u.Hostname()}
	_, err = fmt.Sscan(u.Port(), &node.Port)
	expect.NoError(t, err)
	return node
}
