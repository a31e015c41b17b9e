package cassandra

import (
	"context"
	"strings"
	"testing"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	cluster "assay/cluster/cassandra"
	"assay/driver/drivertest"
	"assay/internal/expect"
	"assay/store"
	"assay/workload/availability"
	"assay/workload/definition"
	"assay/workload/entity"
)

// quickJava has Java compile once: better code takes most of a node's first minutes.
func quickJava() []string { return []string{"-XX:TieredStopAtLevel=1"} }

func openRows(ctx context.Context, target store.Target) (*database, error) {
	opened, err := Open(ctx, target, availability.Schema())
	if err != nil {
		return nil, err
	}
	return opened.(*database), nil
}

func closing(t *testing.T, address string) *database {
	t.Helper()
	d, err := openRows(t.Context(), store.Target{Address: address, ConnectTimeout: time.Minute})
	expect.NoError(t, err)
	expect.AtEnd(t, d.Close)
	return d
}

// impatient opens a Database on one host. It gives up silent connections after silence and tries a
// dead host every second, because nothing else reports that a proxy lets it through again.
func impatient(t *testing.T, host string, silence time.Duration) (*database, error) {
	s, err := parse(store.Target{Address: "cassandra://" + host, ConnectTimeout: 10 * time.Second})
	if err != nil {
		return nil, err
	}
	s.silence, s.revisit = silence, time.Second
	return openDatabase(t.Context(), s, availability.Schema())
}

func admin(t *testing.T, address string, statements ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), expect.Patience) // also while the test ends
	defer cancel()
	s, err := parse(store.Target{Address: address, ConnectTimeout: time.Minute})
	expect.NoError(t, err)
	c, err := connect(ctx, s)
	expect.NoError(t, err)
	defer c.Close()
	for _, statement := range statements {
		if err := c.session.Query(statement).ExecContext(ctx); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

func TestOneNode(t *testing.T) {
	t.Parallel()
	ca := drivertest.NewAuthority(t, "ours")
	c, encrypted := startNode(t, ca)
	t.Run("EncryptedConnections", func(t *testing.T) { testEncryptedConnections(t, ca, encrypted) })
	t.Run("Store", func(t *testing.T) { testStore(t, c) })
	t.Run("Workloads", func(t *testing.T) { testWorkloads(t, c) })
	t.Run("Statistics", func(t *testing.T) { testStatistics(t, c) })
	t.Run("Existing", func(t *testing.T) { testExisting(t, c.Address()) })
	t.Run("Database", func(t *testing.T) { testDatabase(t, c.Address()) })
	t.Run("Description", func(t *testing.T) { testDescription(t, c.Address()) })
	t.Run("OwnTables", func(t *testing.T) { testOwnTables(t, c.Address()) })
	t.Run("SilentNode", func(t *testing.T) { testSilentNode(t, c.Node(0).Address()) })
}

func testStore(t *testing.T, c *cluster.Ring) {
	address := c.Address()
	drivertest.RunStore(t, drivertest.Store{
		Lacks: Lacks(), Target: store.Target{Address: address, ConnectTimeout: time.Minute},
		Others: func(name string) []drivertest.Other { return others(address, "assay_"+name, "assay_record") },
		MakeForeign: func(t *testing.T, name string) (intact func(t *testing.T)) {
			return makeForeign(t, address, "assay_"+name)
		},
		Server: c.Node(0).Address(),
		Via: func(addr string) store.Target {
			return store.Target{Address: "cassandra://" + addr, ConnectTimeout: 10 * time.Second}
		},
		Open: func(ctx context.Context, target store.Target, schema store.Schema) (store.Database, error) {
			s, err := parse(target)
			if err != nil {
				return nil, err
			}
			s.revisit = time.Second // nobody else tells it when a proxy lets it through again
			d, err := openDatabase(ctx, s, schema)
			if err != nil {
				return nil, err
			}
			return d, nil
		},
	})
}

// testWorkloads runs each workload, those of records also at a weak consistency.
func testWorkloads(t *testing.T, c *cluster.Ring) {
	to := store.Target{Address: c.Address(), ConnectTimeout: time.Minute}
	drivertest.ShortRuns(t, to, drivertest.Supports(Open, Lacks())...)
	to.Address += "?consistency=one"
	t.Run("one", func(t *testing.T) {
		drivertest.ShortRuns(t, to, definition.SupportOf(availability.Definition(), Open, Lacks()), definition.SupportOf(entity.Definition(), Open, Lacks()))
	})
	weak, err := Open(t.Context(), to, entity.Schema())
	expect.NoError(t, err)
	if promise := weak.Promises().Reads; promise != "" {
		t.Errorf("with consistency one %q is promised", promise)
	}
	expect.NoError(t, weak.Close())
}

func makeForeign(t *testing.T, address, keyspace string) (intact func(t *testing.T)) {
	admin(t, address, "CREATE KEYSPACE "+keyspace+" WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
		"CREATE TABLE "+keyspace+".theirs (id int PRIMARY KEY)", "INSERT INTO "+keyspace+".theirs (id) VALUES (7)")
	t.Cleanup(func() { admin(t, address, "DROP KEYSPACE "+keyspace) })
	return func(t *testing.T) {
		db := closing(t, address)
		var id int
		if err := db.session.Query("SELECT id FROM "+keyspace+".theirs").ScanContext(t.Context(), &id); err != nil || id != 7 {
			t.Errorf("what is not ours holds %d, %v", id, err)
		}
	}
}

func testDescription(t *testing.T, address string) {
	db := closing(t, address+"?replication=2&consistency=one")
	product, err := db.Describe(t.Context())
	expect.NoError(t, err)
	if product.Name != "Cassandra" || !strings.HasPrefix(product.Version, "5.") || product.Topology.Nodes != 1 || product.Topology.Replicas != 1 {
		t.Errorf("%+v", product)
	}
	for name, want := range map[string]string{"consistency of writes": "one", "replication": "datacenter1: 1", "commitlog_sync": "periodic"} {
		if found := drivertest.Value(product.Settings, name); found != want {
			t.Errorf("%s is %q, want %q", name, found, want)
		}
	}
	if drivertest.Value(product.Changed, "concurrent_writes") == "" {
		t.Errorf("concurrent_writes is not told: %v", product.Changed)
	}
}

// testOwnTables: a user's table in our keyspace must not be dropped with it.
func testOwnTables(t *testing.T, address string) {
	ctx := t.Context()
	db := closing(t, address+"Mine")
	mark := store.Marker{Run: "it's", Workload: "availability", Created: time.Now().UTC(), Loaded: true}
	expect.NoError(t, db.Create(ctx, mark))
	if remains, err := db.Find(ctx); err != nil || remains == nil || remains.Marker.Run != "it's" {
		t.Errorf("found %+v, %v", remains, err)
	}
	admin(t, address, `CREATE TABLE "Mine".theirs (id int PRIMARY KEY)`)
	for name, err := range map[string]error{"Drop": db.Drop(ctx), "Create": db.Create(ctx, mark)} {
		if err == nil || !strings.Contains(err.Error(), "theirs") {
			t.Errorf("%s: %v; want it to name the table", name, err)
		}
	}
	admin(t, address, `DROP TABLE "Mine".theirs`)
	expect.NoError(t, db.Drop(ctx))
	if remains, err := db.Find(ctx); err != nil || remains != nil {
		t.Errorf("after Drop: %+v, %v", remains, err)
	}
}

// testSilentNode silences the network for good under calls without a deadline. They end when the
// connection is given up, and the client works again when the network does.
func testSilentNode(t *testing.T, server string) {
	proxy := drivertest.NewProxy(t, server)
	// More than gocql's 5 seconds between heartbeats.
	db, err := impatient(t, proxy.Addr(), 7*time.Second)
	expect.NoError(t, err)
	t.Cleanup(func() {
		proxy.Pass()
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	expect.NoError(t, db.Create(t.Context(), store.Marker{Run: "silent", Workload: "availability", Created: time.Now().UTC(), Loaded: true}))
	session := drivertest.OpenRecords(t, db)
	if r := session.Add(t.Context(), 1); r.Err != nil {
		t.Fatal(r.Err)
	}
	proxy.Freeze()
	r := session.Add(context.Background(), 2)
	if r.Outcome.String() != "unknown" || r.Class != "connection lost" || !r.Broken {
		t.Errorf("an insert into silence: %+v", r)
	}
	proxy.Pass()
	for key := int64(3); ; key++ {
		r := session.Add(t.Context(), key)
		if r.Err == nil {
			break
		}
		if t.Context().Err() != nil {
			t.Fatal(r.Err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	expect.NoError(t, db.Drop(t.Context()))
}

var _ gocql.RequestError = answer(0)
