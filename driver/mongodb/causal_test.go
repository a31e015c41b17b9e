package mongodb

import (
	"context"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"assay/driver/drivertest"
	"assay/history"
	"assay/internal/expect"
	"assay/store"
	"assay/workload/availability"
	"assay/workload/ycsb"
)

// TestCausalPromises is the table of the manual's page "Causal Consistency and Read and Write
// Concerns", as far as reads show it. Writes whose concern no address names have that which the
// server tells, and where it is not told, nothing is promised that rests on it.
func TestCausalPromises(t *testing.T) {
	some := store.MonotonicReads + ", " + store.WritesFollowReads
	const majority = "majority"
	for _, c := range []struct{ query, inherited, want string }{
		{"causalConsistency=true&readConcernLevel=majority", majority, store.Causal},
		{"causalConsistency=true&readConcernLevel=majority", "1", some},
		{"causalConsistency=true&readConcernLevel=majority", notTold, some},
		{"causalConsistency=true&readConcernLevel=majority&w=majority&readPreference=secondary", notTold, store.Causal},
		{"causalConsistency=true&readConcernLevel=majority&w=1", majority, some},
		{"causalConsistency=true&readConcernLevel=local", majority, ""},
		{"causalConsistency=true&w=1", majority, ""},
		{"causalConsistency=false&readConcernLevel=majority", majority, ""},
		{"readConcernLevel=majority", majority, ""},
		{"readConcernLevel=linearizable", majority, store.Linearizable},
		{"readConcernLevel=linearizable", "1", ""},
		{"readConcernLevel=linearizable", notTold, ""},
		{"readConcernLevel=linearizable&w=majority", notTold, store.Linearizable},
		{"readConcernLevel=linearizable&w=1", majority, ""},
		{"readConcernLevel=linearizable&readPreference=nearest", majority, ""},
	} {
		address := "mongodb://127.0.0.1:1/?" + c.query
		a, common, err := applicationOf(store.Target{Address: address})
		expect.NoError(t, err)
		s, err := parse(common, "ycsb", false)
		expect.NoError(t, err)
		a.options, a.inherits = s.sessions(address), inherited{write: c.inherited, read: "local"}
		if p := a.promises(); p.Reads != c.want || p.Scans != c.want && c.want != store.Linearizable {
			t.Errorf("%s, of a server whose writes are w: %s: %+v, want %q", c.query, c.inherited, p, c.want)
		}
	}
}

// TestCausalSessions: while secondaries take over nothing, a session that reads from them waits
// for its own write if it is causally consistent, and else misses it.
func TestCausalSessions(t *testing.T) {
	t.Parallel()
	set := startSet(t, 3, "--setParameter", "enableTestCommands=1")
	ctx := expect.Patiently(t)
	const local = "&readPreference=secondary&w=1&readConcernLevel=local"
	causal := openAvailability(t, store.Target{Address: set.Address() + local + "&causalConsistency=true"})
	defer causal.Close()
	plain := openAvailability(t, store.Target{Address: set.Address() + local})
	defer plain.Close()
	expect.NoError(t, causal.Create(ctx, store.Marker{Run: "r", Workload: availability.Name, Created: time.Now()}))
	hello, err := causal.hello(ctx)
	expect.NoError(t, err)
	apply := func(mode string) {
		for _, host := range hello.Hosts {
			if host == hello.Me {
				continue
			}
			client, err := mongo.Connect(options.Client().SetHosts([]string{host}).SetDirect(true))
			expect.NoError(t, err)
			expect.NoError(t, client.Database("admin").RunCommand(ctx, bson.D{{Key: "configureFailPoint", Value: "rsSyncApplyStop"}, {Key: "mode", Value: mode}}).Err())
			expect.NoError(t, client.Disconnect(ctx))
		}
	}
	of, other := drivertest.OpenRecords(t, causal), drivertest.OpenRecords(t, plain)
	defer of.Close()
	defer other.Close()
	apply("alwaysOn")
	if r := other.Add(ctx, 1); r.Outcome != history.Committed {
		t.Fatalf("%+v", r)
	}
	if found, r := other.Find(ctx, 1); r.Outcome != history.Committed || found != 0 {
		t.Errorf("a session of no consistency found %d: %+v", found, r)
	}
	if r := of.Add(ctx, 2); r.Outcome != history.Committed {
		t.Fatalf("%+v", r)
	}
	short, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if found, r := of.Find(short, 2); r.Outcome == history.Committed {
		t.Errorf("a causally consistent session found %d and did not wait", found)
	}
	apply("off")
	if found, r := of.Find(ctx, 2); r.Outcome != history.Committed || found != 1 {
		t.Errorf("a causally consistent session found %d: %+v", found, r)
	}
	expect.NoError(t, causal.Drop(ctx))
	t.Run("judged", func(t *testing.T) { testSessionsAreJudged(t, set.Address()) })
}

// testSessionsAreJudged: reads from secondaries keep what is promised of causally consistent
// sessions.
func testSessionsAreJudged(t *testing.T, address string) {
	config := ycsb.Defaults()
	config.Records, config.Fields = 5, 1
	target := store.Target{Address: address + "&readPreference=secondary&readConcernLevel=majority&causalConsistency=true", ConnectTimeout: 20 * time.Second}
	config.Target(&target)
	schema, err := ycsb.Definition().Schema(target)
	expect.NoError(t, err)
	db, err := Open(t.Context(), target, schema)
	expect.NoError(t, err)
	defer db.Close()
	run := drivertest.ShortRun{Workload: ycsb.Definition(), Config: &config, Seed: 1, Clients: 4, Each: 100, Attempts: 1}
	judged := run.Valid(expect.Patiently(t), t, db)
	found := false
	for _, r := range judged.Results {
		found = found || r.Name == ycsb.CheckSessions
	}
	if !found || judged.YCSB.Monotonic+judged.YCSB.OwnWrites+judged.YCSB.Causes > 0 {
		t.Errorf("%v, %+v", judged.Results, judged.YCSB)
	}
	expect.NoError(t, db.Drop(expect.Patiently(t)))
}
