package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	library "github.com/go-sql-driver/mysql"

	cluster "assay/cluster/mariadb"
	"assay/driver/drivertest"
	"assay/driver/sqldb"
	"assay/driver/uri"
	"assay/internal/expect"
	"assay/store"
	"assay/workload/bank"
	"assay/workload/candles"
	"assay/workload/churn"
	"assay/workload/definition"
	"assay/workload/isolation"
	"assay/workload/smallbank"
)

const secret = `s3cr:t/of@the#test?'\`

// node is the package's only single node, with MyRocks.
var node *cluster.Cluster

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	ctx, cancel := context.WithTimeout(context.Background(), expect.Patience)
	defer cancel()
	var err error
	node, err = cluster.Start(ctx, cluster.Options{Password: secret, MyRocks: true})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if err := node.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

type spot struct {
	hosts, user, password string
	query                 url.Values
}

func (s spot) address() string {
	return "mysql://" + url.UserPassword(s.user, s.password).String() + "@" + s.hosts + "/?" + uri.Query(s.query)
}

func address(changes ...func(*spot)) string {
	s := spot{hosts: node.Node(0).Address(), user: "assay", password: secret, query: url.Values{}}
	for _, change := range changes {
		change(&s)
	}
	return s.address()
}

func atHosts(hosts ...string) func(*spot) {
	return func(s *spot) { s.hosts = strings.Join(hosts, ",") }
}

func user(name, password string) func(*spot) {
	return func(s *spot) { s.user, s.password = name, password }
}

func parameter(name, value string) func(*spot) { return func(s *spot) { s.query.Set(name, value) } }

func target(changes ...func(*spot)) store.Target {
	return store.Target{Address: address(changes...), ConnectTimeout: 30 * time.Second}
}

func at(level string, changes ...func(*spot)) store.Target {
	to := target(changes...)
	to.Isolation = level
	return to
}

// bankStore is a schema and its Store, which keeps the last session's connection.
type bankStore struct {
	bank.Store
	store.Replicated
	below *bankConnects
}

type bankConnects struct {
	*schema
	last atomic.Pointer[session] // sessions are opened at the same time
}

func (s *bankConnects) Connect(ctx context.Context, statements []sqldb.Statement) (sqldb.Connection, error) {
	c, err := s.schema.Connect(ctx, statements)
	if err == nil {
		s.last.Store(c.(*sqldb.Session).Wire.(*session))
	}
	return c, err
}

func openBank(t *testing.T, target store.Target) *bankStore {
	t.Helper()
	p, err := openSchema(context.Background(), target, bank.Schema())
	expect.NoError(t, err)
	below := &bankConnects{schema: p}
	p.Server = below
	db := bank.Over(p)
	replicated, is := store.As[store.Replicated](db.Database)
	if !is {
		t.Fatal("it has no replicas")
	}
	return &bankStore{db, replicated, below}
}

func admin(t *testing.T) *sql.Conn {
	t.Helper()
	return connectTo(t, node.Node(0).Address())
}

func connectTo(t *testing.T, hostPort string) *sql.Conn {
	t.Helper()
	config := library.NewConfig()
	config.User, config.Passwd, config.Net, config.Addr = "assay", secret, "tcp", hostPort
	config.Logger, config.InterpolateParams = &library.NopLogger{}, true
	connector, err := library.NewConnector(config)
	expect.NoError(t, err)
	db := sql.OpenDB(connector)
	t.Cleanup(func() { db.Close() })
	conn, err := db.Conn(context.Background())
	expect.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return conn
}

func exec(t *testing.T, conn *sql.Conn, text string, args ...any) {
	t.Helper()
	if _, err := conn.ExecContext(context.Background(), text, args...); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

func value(t *testing.T, conn *sql.Conn, text string, args ...any) (v string) {
	t.Helper()
	if err := conn.QueryRowContext(context.Background(), text, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func makeForeign(t *testing.T, admin func(*testing.T) *sql.Conn, schema, table string) {
	t.Helper()
	conn := admin(t)
	exec(t, conn, `CREATE DATABASE `+schema)
	t.Cleanup(func() { exec(t, admin(t), `DROP DATABASE `+schema) })
	exec(t, conn, `CREATE TABLE `+schema+`.`+table+` AS SELECT 1 AS id, 'mine' AS owner`)
}

func foreignIntact(t *testing.T, conn *sql.Conn, schema, table string) {
	t.Helper()
	owner := value(t, conn, `SELECT min(owner) FROM `+schema+`.`+table)
	tables := value(t, conn, `SELECT count(*) FROM information_schema.tables WHERE table_schema = ?`, schema)
	if owner != "mine" || tables != "1" {
		t.Errorf("the foreign database was touched: owner %q, %s tables", owner, tables)
	}
}

// TestStore uses a node of its own, because it kills it.
func TestStore(t *testing.T) {
	t.Parallel()
	node, err := cluster.Start(t.Context(), cluster.Options{Password: secret, MyRocks: true})
	expect.NoError(t, err)
	expect.AtEnd(t, node.Close)
	here := atHosts(node.Node(0).Address())
	admin := func(t *testing.T) *sql.Conn {
		t.Helper()
		return connectTo(t, node.Node(0).Address())
	}
	whole := drivertest.Store{
		Open: Open, Lacks: sqldb.Lacks(), Target: target(here), Secret: secret,
		Others: func(workload string) []drivertest.Other { return others("assay_"+workload, admin) },
		MakeForeign: func(t *testing.T, workload string) (intact func(t *testing.T)) {
			makeForeign(t, admin, "assay_"+workload, "account")
			return func(t *testing.T) { foreignIntact(t, admin(t), "assay_"+workload, "account") }
		},
		Server:       node.Node(0).Address(),
		CommitMarker: []byte("commit"),
		Via:          func(addr string) store.Target { return target(atHosts(addr)) },
		Restart: func(t *testing.T) {
			expect.NoError(t, node.Node(0).Kill())
			expect.NoError(t, node.Restart(context.Background(), 0))
		},
	}
	drivertest.RunStore(t, whole)
	// From here on in an event loop.
	t.Run("RocksDB", func(t *testing.T) {
		to := target(here, parameter("engine", "RocksDB"), parameter("rocksdb_deadlock_detect", "ON"))
		drivertest.RunOutcomes(t, drivertest.Store{Open: drivertest.InLoop(t, Open), Lacks: whole.Lacks, Target: to}, drivertest.Conformance)
	})
	t.Run("serializable, statements apart", func(t *testing.T) {
		apart := whole
		apart.Open = drivertest.InLoop(t, Open)
		apart.Target = at("serializable", here, parameter("statements", statementsApart))
		apart.Via = func(addr string) store.Target {
			return at("serializable", atHosts(addr), parameter("statements", statementsApart))
		}
		drivertest.RunOutcomes(t, apart)
	})
}

// TestWorkloads runs each workload, those of many rows or dependent statements also on RocksDB, and
// the latter at other levels.
func TestWorkloads(t *testing.T) {
	t.Parallel()
	open, lacks := Open, sqldb.Lacks()
	drivertest.ShortRuns(t, target(), supports()...)
	t.Run("RocksDB", func(t *testing.T) {
		drivertest.ShortRuns(t, target(parameter("engine", "rocksdb"), parameter("rocksdb_deadlock_detect", "ON")), definition.SupportOf(bank.Definition(), open, lacks),
			definition.SupportOf(isolation.Definition(), open, lacks), definition.SupportOf(churn.Definition(), open, lacks), definition.SupportOf(candles.Definition(), open, lacks))
	})
	for name, to := range map[string]store.Target{
		"read uncommitted": at("read uncommitted"), "read committed": at("read committed"), "serializable": at("serializable"),
		"snapshots": at("repeatable read", parameter("innodb_snapshot_isolation", "ON")),
	} {
		t.Run(name, func(t *testing.T) {
			drivertest.ShortRuns(t, to, definition.SupportOf(bank.Definition(), open, lacks), definition.SupportOf(isolation.Definition(), open, lacks), definition.SupportOf(smallbank.Definition(), open, lacks))
		})
	}
}
