package redis

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	cluster "assay/cluster/redis"
	"assay/driver/drivertest"
	"assay/history"
	"assay/internal/expect"
	"assay/store"
	"assay/workload/availability"
)

func durable() []string { return []string{"appendonly yes", "appendfsync always"} }

func start(t *testing.T, o cluster.Options) *cluster.Cluster {
	t.Helper()
	c, err := cluster.Start(expect.Patiently(t), o)
	expect.NoError(t, err)
	expect.AtEnd(t, c.Close)
	return c
}

func somebody(t *testing.T, address string) *goredis.Client {
	client := goredis.NewClient(&goredis.Options{Addr: address, Protocol: 2, MaxRetries: -1, DisableIdentity: true, ReadTimeout: expect.Patience})
	expect.AtEnd(t, client.Close)
	return client
}

func tell(t *testing.T, client *goredis.Client, command ...any) any {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), expect.Patience) // also while the test ends
	defer cancel()
	answer, err := client.Do(ctx, command...).Result()
	if err != nil {
		t.Errorf("%v: %v", command, err)
	}
	return answer
}

func configure(t *testing.T, client *goredis.Client, name, value string) {
	t.Helper()
	before, _ := tell(t, client, "config", "get", name).([]any)
	if len(before) != 2 {
		t.Fatalf("the server has no parameter %s: %v", name, before)
	}
	tell(t, client, "config", "set", name, value)
	t.Cleanup(func() { tell(t, client, "config", "set", name, before[1]) })
}

const secret = "s3cret/and@"

func TestOneServer(t *testing.T) {
	t.Parallel()
	c := start(t, cluster.Options{Settings: append(durable(), "enable-debug-command yes", `user assay on ">`+secret+`" ~* &* +@all`)})
	t.Run("Store", func(t *testing.T) { testStore(t, c) })
	t.Run("Workloads", func(t *testing.T) {
		drivertest.ShortRuns(t, store.Target{Address: c.Address()}, drivertest.Supports(Open, Lacks())...)
	})
	t.Run("Statistics", func(t *testing.T) {
		drivertest.RunStatistics(t, drivertest.Statistics{
			Open: OpenStatistics, Target: store.Target{Address: c.Address(), ConnectTimeout: 30 * time.Second},
			Pause: c.Node(0).Pause, Resume: c.Node(0).Resume, Counter: "commands",
		})
	})
	t.Run("Refusals", func(t *testing.T) { testRefusals(t, c.Node(0).Address()) })
	t.Run("Changed", func(t *testing.T) { testChanged(t, c.Node(0).Address()) })
	t.Run("NotReplicated", func(t *testing.T) { testNotReplicated(t, c.Node(0).Address()) })
	t.Run("Killed", func(t *testing.T) { testKilled(t, c.Node(0).Address()) })
	t.Run("Settle", func(t *testing.T) { testSettle(t, c.Node(0).Address()) })
	t.Run("Blocked", func(t *testing.T) { testBlocked(t, c.Node(0).Address()) })
	t.Run("Users", func(t *testing.T) { testUsers(t, c.Node(0).Address()) })
}

func testStore(t *testing.T, c *cluster.Cluster) {
	server := c.Node(0).Address()
	client := somebody(t, server)
	at := func(address string) store.Target {
		return store.Target{Address: "redis://assay:s3cret%2Fand%40@" + address + "/", ConnectTimeout: 30 * time.Second}
	}
	drivertest.RunStore(t, drivertest.Store{
		Open: Open, Lacks: Lacks(), Target: at(server), Secret: secret, Server: server, Via: at, CommitMarker: []byte("exec"),
		Restart: func(t *testing.T) { expect.NoError(t, c.Node(0).Kill(), c.Restart(expect.Patiently(t), 0)) },
		Others: func(workload string) []drivertest.Other {
			return []drivertest.Other{
				theirs(client, "assay:"+workload+":theirs"), theirs(client, "assay:"+workload+":theirs:1"),
				theirs(client, "assay:"+workload+"#theirs"), theirs(client, "assay:"+workload+":goods:1:9"), theirs(client, "assay:"+workload+":record:9"),
			}
		},
		MakeForeign: func(t *testing.T, workload string) (intact func(t *testing.T)) {
			other := theirs(client, "assay:"+workload+":record:1")
			other.Make(t)
			t.Cleanup(func() { other.Remove(t) })
			return other.Intact
		},
	})
}

func theirs(client *goredis.Client, key string) drivertest.Other {
	return drivertest.Other{
		Name: key,
		Make: func(t *testing.T) { tell(t, client, "set", key, "another program's") },
		Intact: func(t *testing.T) {
			t.Helper()
			if got := tell(t, client, "get", key); got != "another program's" {
				t.Errorf("%s is %v", key, got)
			}
		},
		Remove: func(t *testing.T) { tell(t, client, "del", key) },
	}
}

// records makes a schema of records with a session that inserts and reads them.
func records(t *testing.T, address string) (*database, *session) {
	t.Helper()
	return made(t, opened(t, address))
}

func made(t *testing.T, d *database) (*database, *session) {
	t.Helper()
	ctx := expect.Patiently(t)
	expect.NoError(t, d.Create(ctx, store.Marker{Run: "tested", Workload: availability.Name, Created: time.Now()}))
	t.Cleanup(func() {
		if err := d.Drop(context.Background()); err != nil {
			t.Errorf("Drop: %v", err)
		}
	})
	return d, sessionOn(t, d)
}

func opened(t *testing.T, address string) *database {
	t.Helper()
	return openedAs(t, address, availability.Schema())
}

func openedAs(t *testing.T, address string, of store.Schema) *database {
	t.Helper()
	db, err := Open(expect.Patiently(t), store.Target{Address: address}, of)
	expect.NoError(t, err)
	expect.AtEnd(t, db.Close)
	return db.(*database)
}

const (
	insertOne = iota
	readOne
)

func sessionOn(t *testing.T, d *database) *session {
	t.Helper()
	table := &d.of.Tables[0]
	opened, err := d.Session(expect.Patiently(t), []store.Statement{
		insertOne: {Name: "insert", Verb: store.Insert, Table: table.Name, Columns: table.Names()},
		readOne:   {Name: "read", Verb: store.Read, Table: table.Name, Columns: table.Names(), Where: store.Where(table.Key()...)},
	})
	expect.NoError(t, err)
	t.Cleanup(opened.Close)
	return opened.(*session)
}

func values(table *store.Table, number int64) (all []store.Value) {
	for _, c := range table.Columns {
		switch c.Type {
		case store.Integer:
			all = append(all, store.OfInt(number))
		case store.Boolean:
			all = append(all, store.OfBool(true))
		default:
			all = append(all, store.OfText("x"))
		}
	}
	return all
}

func (n *session) insertRecord(ctx context.Context, number int64) store.Reply {
	return n.Run(ctx, store.Call{Statement: insertOne, Parameters: values(&n.of.Tables[0], number)})
}

func (n *session) transact(ctx context.Context, number int64, meanwhile func()) store.Reply {
	return n.Transaction(ctx, true, func(ctx context.Context, tx store.Transaction) error {
		_, err := tx.Do(ctx, insertOne, nil, values(&n.of.Tables[0], number)...)
		if err == nil && meanwhile != nil {
			meanwhile()
		}
		return err
	})
}

func (n *session) readRecord(ctx context.Context, number int64) (found int, r store.Reply) {
	r = n.Run(ctx, store.Call{Statement: readOne, Parameters: values(&n.of.Tables[0], number)[:n.of.Tables[0].Keys()],
		Row: func(store.Row) error { found++; return nil }})
	return found, r
}

// wantFailed requires that a write, and a transaction of another session, are refused.
func wantFailed(t *testing.T, alone, together *session, classes [2]string, number int64) {
	t.Helper()
	for i, r := range []store.Reply{alone.insertRecord(expect.Patiently(t), number), together.transact(expect.Patiently(t), number+1, nil)} {
		if r.Outcome != history.Failed || r.Class != classes[i] || r.Err == nil {
			t.Errorf("%+v; want it failed, %q", r, classes[i])
		}
	}
}

// wantNothing requires that wantFailed's records are absent.
func wantNothing(t *testing.T, s *session, number int64) {
	t.Helper()
	for _, n := range []int64{number, number + 1} {
		if found, r := s.readRecord(expect.Patiently(t), n); found != 0 || r.Outcome != history.Committed {
			t.Errorf("record %d, whose insert has failed: %d rows, %+v", n, found, r)
		}
	}
}

// testUsers refuses users without a password, with a wrong one, and without the right to
// transactions.
func testUsers(t *testing.T, address string) {
	client := somebody(t, address)
	tell(t, client, "acl", "setuser", "limited", "on", ">right", "~*", "&*", "+@all", "-multi")
	t.Cleanup(func() { tell(t, client, "acl", "deluser", "limited") })
	ctx := expect.Patiently(t)
	_, err := Open(ctx, store.Target{Address: "redis://limited:wrong@" + address}, availability.Schema())
	if _, is := errors.AsType[*store.AuthError](err); !is || strings.Contains(err.Error(), "wrong@") {
		t.Errorf("a wrong password: %v", err)
	}
	tell(t, client, "acl", "setuser", "lesser", "on", ">right", "~*", "+@all", "-@dangerous")
	t.Cleanup(func() { tell(t, client, "acl", "deluser", "lesser") })
	_, err = Open(ctx, store.Target{Address: "redis://lesser:right@" + address}, availability.Schema())
	if _, is := errors.AsType[*store.AuthError](err); is || err == nil || !strings.Contains(err.Error(), "+@all") {
		t.Errorf("a user who may not ask for the role: %v", err)
	}
	opened(t, "redis://default:any@"+address) // the user default, of whom the server wants none
	records(t, "redis://"+address)
	d := opened(t, "redis://limited:right@"+address)
	if _, err := d.Session(ctx, nil); err == nil || !strings.Contains(err.Error(), "multi") {
		t.Errorf("a session of a user who may not use MULTI: %v", err)
	}
}
