package mysql

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/cluster/tidb"
	"assay/driver/drivertest"
	"assay/driver/sqldb"
	"assay/internal/expect"
	"assay/store"
	"assay/workload/bank"
	"assay/workload/churn"
	"assay/workload/definition"
	"assay/workload/isolation"
	"assay/workload/script"
	"assay/workload/smallbank"
	"assay/workload/tpcc"
)

// tidbServer is a TiDB server with its own store for tests (unistore), on this machine. Its build
// takes a quarter of an hour, so that `make tidb` has these tests alone.
type tidbServer struct{ *tidb.Server }

// startTiDB starts one that a user assay with the password secret may use.
func startTiDB(t *testing.T) *tidbServer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	s, err := tidb.Start(ctx, tidb.Options{Password: secret})
	expect.NoError(t, err)
	expect.AtEnd(t, s.Close)
	return &tidbServer{s}
}

// target is the server's, at a level and with these options of the address.
func (s *tidbServer) target(level string, options ...string) store.Target {
	query := url.Values{}
	for _, o := range options {
		name, value, _ := strings.Cut(o, "=")
		query.Set(name, value)
	}
	to := spot{hosts: s.Node.Address(), user: "assay", password: secret, query: query}
	return store.Target{Address: to.address(), ConnectTimeout: 30 * time.Second, Isolation: level}
}

// admin is a plain connection beside the driver.
func (s *tidbServer) admin(t *testing.T) *sql.Conn { return connectTo(t, s.Node.Address()) }

const optimistic, pessimistic = "tidb_txn_mode=optimistic", "tidb_txn_mode=pessimistic"

// TestTiDB does on a TiDB server what every driver passes, and runs every workload in
// transactions of both kinds.
func TestTiDB(t *testing.T) {
	s := startTiDB(t)
	t.Run("Settings", func(t *testing.T) { testTiDBSettings(t, s) })
	t.Run("Interleaving", func(t *testing.T) { testTiDBInterleaving(t, s) })
	t.Run("Descending", func(t *testing.T) { testTiDBDescending(t, s) })
	for _, mode := range []string{pessimistic, optimistic} {
		t.Run(mode, func(t *testing.T) { testTiDBWorkloads(t, s, mode) })
	}
	t.Run("Store", func(t *testing.T) { testTiDBStore(t, s) })
}

func testTiDBWorkloads(t *testing.T, s *tidbServer, mode string) {
	drivertest.ShortRuns(t, s.target("", mode), supportsOfTiDB(mode)...)
	open, lacks := Open, sqldb.Lacks()
	t.Run("read committed", func(t *testing.T) {
		drivertest.ShortRuns(t, s.target("read committed", mode), definition.SupportOf(bank.Definition(), open, lacks),
			definition.SupportOf(isolation.Definition(), open, lacks), definition.SupportOf(smallbank.Definition(), open, lacks),
			definition.SupportOf(tpcc.Definition(), open, lacks))
	})
}

// supportsOfTiDB are all workloads but churn, which TiDB has no statement for, script, whose
// example is for serializable transactions, and in optimistic transactions tpcc, which is
// violated; see testTiDBDescending.
func supportsOfTiDB(mode string) (all []definition.Support) {
	without := []string{churn.Name, script.Name}
	if mode == optimistic {
		without = append(without, tpcc.Name)
	}
	for _, support := range supports() {
		if !slices.Contains(without, support.Workload) {
			all = append(all, support)
		}
	}
	return all
}

// testTiDBDescending: TiDB's store for tests reads a range of keys backwards as it is now, and
// not as it was when the transaction began, which breaks every promise of a snapshot:
// DBReader.ReverseScan makes its iterator, which has the time to read at, before it sets
// that time. TPC-C finds it with its isolation test 9, where the server reads so.
func testTiDBDescending(t *testing.T, s *tidbServer) {
	reader, writer := s.admin(t), s.admin(t)
	exec(t, reader, `CREATE DATABASE descending`)
	defer exec(t, writer, `DROP DATABASE descending`)
	exec(t, reader, `CREATE TABLE descending.number (n INT PRIMARY KEY)`)
	exec(t, reader, `INSERT INTO descending.number VALUES (1), (2)`)
	exec(t, reader, `START TRANSACTION`)
	defer exec(t, reader, `COMMIT`)
	const upwards, downwards = `SELECT group_concat(n ORDER BY n) FROM descending.number`, `SELECT n FROM descending.number ORDER BY n DESC LIMIT 1`
	first := value(t, reader, downwards)
	exec(t, writer, `INSERT INTO descending.number VALUES (3)`)
	if up, down := value(t, reader, upwards), value(t, reader, downwards); first != "2" || up != "1,2" || down != "3" {
		t.Errorf("read %s, then %s upwards and %s downwards; want 2, 1,2, and 3 as long as the server is wrong", first, up, down)
	}
}

func testTiDBSettings(t *testing.T, s *tidbServer) {
	db, err := Open(t.Context(), s.target(""), bank.Schema())
	expect.NoError(t, err)
	defer db.Close()
	expect.NoError(t, db.Create(t.Context(), store.Marker{Run: "r", Workload: bank.Name, Created: time.Now()}))
	told, err := db.Describe(t.Context())
	expect.NoError(t, err)
	t.Logf("%s %s, %+v, %v", told.Name, told.Version, told.Topology, told.Settings)
	if told.Name != "TiDB" {
		t.Errorf("it is %s", told.Name)
	}
	size, err := db.Size(t.Context())
	t.Logf("%+v, %v", size, err)
	expect.NoError(t, db.Drop(t.Context()))
	var refused *store.OptionError
	if _, err := Open(t.Context(), s.target("serializable"), bank.Schema()); !errors.As(err, &refused) || refused.Option != "isolation level" {
		t.Errorf("serializable: %v", err)
	}
}

// testTiDBInterleaving: a pessimistic transaction changes what was committed last, as
// InnoDB's does; an optimistic one is of one snapshot.
func testTiDBInterleaving(t *testing.T, s *tidbServer) {
	drivertest.RunInterleaving(t, Open, func(level store.Level) store.Target { return s.target(level.Isolation, level.Options...) }, []drivertest.Shown{
		{Level: "read committed", Anomalies: "PMP PMP-write P4 G-single G-single-predicate G-single-write G2-item G2 G2-two-edges"},
		{Level: "repeatable read", Anomalies: "PMP-write P4 G-single-write G2-item G2 G2-two-edges"},
		{Level: "repeatable read (snapshot)", Anomalies: "G2-item G2 G2-two-edges"},
	})
}

// testTiDBStore runs what every driver passes. The network is broken where statements are sent
// apart: of several in one text TiDB does none after it has found that the client is gone,
// the COMMIT at their end included.
func testTiDBStore(t *testing.T, s *tidbServer) {
	const apart = "statements=" + statementsApart
	whole := drivertest.Store{
		Open: Open, Lacks: sqldb.Lacks(), Target: s.target("", apart), Secret: secret, CommitMarker: []byte("commit"),
		Others:      func(workload string) []drivertest.Other { return s.others("assay_" + workload) },
		MakeForeign: s.makeForeign,
		Server:      s.Node.Address(),
		Via: func(addr string) store.Target {
			to := s.target("", apart)
			to.Address = strings.Replace(to.Address, s.Node.Address(), addr, 1)
			return to
		},
		Restart: func(t *testing.T) {
			expect.NoError(t, s.Restart(t.Context()))
		},
	}
	drivertest.RunStore(t, whole)
	for _, mode := range []string{pessimistic, optimistic} {
		t.Run(mode, func(t *testing.T) { // an optimistic transaction would look for duplicates when it commits
			to := s.target("", mode, "tidb_constraint_check_in_place=ON")
			drivertest.RunOutcomes(t, drivertest.Store{Open: Open, Lacks: sqldb.Lacks(), Target: to})
		})
	}
}

// others are those of MySQL that TiDB has.
func (s *tidbServer) others(schema string) (all []drivertest.Other) {
	for _, o := range others(schema, s.admin) {
		kind, _, _ := strings.Cut(o.Name, " ")
		if !slices.Contains([]string{"procedure", "function", "event", "trigger"}, kind) {
			all = append(all, o)
		}
	}
	return all
}

func (s *tidbServer) makeForeign(t *testing.T, workload string) (intact func(t *testing.T)) {
	database := "assay_" + workload
	conn := s.admin(t)
	exec(t, conn, `CREATE DATABASE `+database)
	t.Cleanup(func() { exec(t, s.admin(t), `DROP DATABASE `+database) })
	exec(t, conn, `CREATE TABLE `+database+`.account (id INT, owner TEXT)`)
	exec(t, conn, `INSERT INTO `+database+`.account VALUES (1, 'mine')`)
	return func(t *testing.T) {
		if owner := value(t, s.admin(t), `SELECT min(owner) FROM `+database+`.account`); owner != "mine" {
			t.Errorf("the foreign database was touched: owner %q", owner)
		}
	}
}
