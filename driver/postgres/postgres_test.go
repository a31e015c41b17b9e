package postgres

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	cluster "assay/cluster/postgres"
	"assay/driver/drivertest"
	"assay/driver/sqldb"
	"assay/driver/uri"
	"assay/internal/expect"
	"assay/store"
	"assay/workload/bank"
	"assay/workload/definition"
	"assay/workload/isolation"
	"assay/workload/smallbank"
)

// secret is the test server's password, which no error may show.
const secret = "s3cr:t/of@the#test?"

// bankSessionName is the server's name for sessions of provoked_test.go.
const bankSessionName = "assay bank session provoked"

// server is this package's only server. It looks for deadlocks at once, not after a second, and
// compiles no query: with enable_seqscan off, which makes queries seem costly, it would compile most.
var server *cluster.Server

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	ctx, cancel := context.WithTimeout(context.Background(), expect.Patience)
	defer cancel()
	var err error
	server, err = cluster.Start(ctx, cluster.Options{Password: secret, Settings: []string{"deadlock_timeout=10ms", "jit=off"}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if err := server.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// address is the test server's with these changes to the URL.
func address(t *testing.T, changes ...func(*url.URL)) string {
	t.Helper()
	u, err := url.Parse(server.Address())
	expect.NoError(t, err)
	for _, change := range changes {
		change(u)
	}
	return u.String()
}

func host(hostport string) func(*url.URL) { return func(u *url.URL) { u.Host = hostport } }

func database(name string) func(*url.URL) { return func(u *url.URL) { u.Path = "/" + name } }

func user(name, password string) func(*url.URL) {
	return func(u *url.URL) { u.User = url.UserPassword(name, password) }
}

func parameter(name, value string) func(*url.URL) {
	return func(u *url.URL) {
		query := u.Query()
		query.Set(name, value)
		u.RawQuery = uri.Query(query)
	}
}

func target(t *testing.T, changes ...func(*url.URL)) store.Target {
	t.Helper()
	return store.Target{Address: address(t, changes...), ConnectTimeout: 30 * time.Second}
}

// bankStore is a schema and its Store.
type bankStore struct {
	bank.Store
	store.Replicated
	below *connects
}

// connects is a schema that keeps the connection of the session opened last.
type connects struct {
	*schema
	last atomic.Value // sessions are opened at the same time
}

func keepLast(s *schema) *connects {
	c := &connects{schema: s}
	s.Server = c
	return c
}

func (s *connects) Connect(ctx context.Context, statements []sqldb.Statement) (sqldb.Connection, error) {
	c, err := s.schema.Connect(ctx, statements)
	if err == nil {
		s.last.Store(c)
	}
	return c, err
}

func (s *connects) session() *sqldb.Session { return s.last.Load().(*sqldb.Session) }

func (s *connects) routed() *sqldb.Routed { return s.last.Load().(*sqldb.Routed) }

func openOf(t *testing.T, target store.Target, schema store.Schema) store.Database {
	t.Helper()
	db, err := Open(t.Context(), target, schema)
	expect.NoError(t, err)
	return db
}

func openBank(t *testing.T, target store.Target) *bankStore {
	t.Helper()
	p, err := openSchema(context.Background(), target, bank.Schema())
	expect.NoError(t, err)
	below, db := keepLast(p), bank.Over(p)
	replicated, is := store.As[store.Replicated](db.Database)
	if !is {
		t.Fatal("it has no replicas")
	}
	return &bankStore{db, replicated, below}
}

func admin(t *testing.T) *pgx.Conn {
	t.Helper()
	return connectTo(t, server.Address())
}

func connectTo(t *testing.T, address string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), address)
	expect.NoError(t, err)
	expect.AtEnd(t, func() error { return conn.Close(context.Background()) })
	return conn
}

func exec(t *testing.T, conn *pgx.Conn, sql string, args ...any) {
	t.Helper()
	if _, err := conn.Exec(context.Background(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func TestStore(t *testing.T) {
	u, err := url.Parse(server.Address())
	expect.NoError(t, err)
	whole := drivertest.Store{
		Open: Open, Lacks: sqldb.Lacks(), Target: target(t), Secret: secret,
		Others:       func(workload string) []drivertest.Other { return others("assay_" + workload) },
		MakeForeign:  makeForeign,
		Server:       u.Host,
		CommitMarker: []byte("commit"),
		Via:          func(addr string) store.Target { return target(t, host(addr)) },
		Restart: func(t *testing.T) {
			expect.NoError(t, server.Kill())
			expect.NoError(t, server.Restart(context.Background()))
		},
	}
	drivertest.RunStore(t, whole)
	t.Run("serializable, in a loop", func(t *testing.T) { // one event loop sends for all sessions
		looped := whole
		looped.Open, looped.Target = drivertest.InLoop(t, Open), at(t, "serializable")
		looped.Via = func(addr string) store.Target { return at(t, "serializable", host(addr)) }
		drivertest.RunOutcomes(t, looped)
	})
	// Behind a pooler, where no statement is prepared either, are the outcomes.
	t.Run("without prepared statements", func(t *testing.T) {
		drivertest.RunStatements(t, drivertest.Store{Open: Open, Lacks: whole.Lacks, Target: target(t, parameter("default_query_exec_mode", "exec"))})
	})
}

// TestWorkloads runs each workload, and dependent statements also at other levels. Without prepared
// statements they run behind poolers.
func TestWorkloads(t *testing.T) {
	open, lacks := Open, sqldb.Lacks()
	drivertest.ShortRuns(t, target(t), supports()...)
	for _, level := range []string{"repeatable read", "serializable"} {
		t.Run(level, func(t *testing.T) {
			drivertest.ShortRuns(t, at(t, level), definition.SupportOf(bank.Definition(), open, lacks), definition.SupportOf(isolation.Definition(), open, lacks), definition.SupportOf(smallbank.Definition(), open, lacks))
		})
	}
}

func makeForeign(t *testing.T, workload string) (intact func(t *testing.T)) {
	conn, schema := admin(t), "assay_"+workload
	exec(t, conn, `CREATE SCHEMA `+schema)
	t.Cleanup(func() { exec(t, admin(t), `DROP SCHEMA `+schema+` CASCADE`) })
	exec(t, conn, `CREATE TABLE `+schema+`.account AS SELECT 1::bigint AS id, 'mine'::text AS owner`)
	return func(t *testing.T) {
		var owner string
		var relations int
		err := admin(t).QueryRow(context.Background(), fmt.Sprintf(`SELECT min(owner), (SELECT count(*) FROM pg_class c
			WHERE c.relnamespace = '%[1]s'::regnamespace) FROM %[1]s.account`, schema)).Scan(&owner, &relations)
		if err != nil || owner != "mine" || relations != 1 {
			t.Errorf("the foreign schema was touched: owner %q, %d relations, %v", owner, relations, err)
		}
	}
}
