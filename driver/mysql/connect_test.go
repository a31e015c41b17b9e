package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"assay/driver/drivertest"
	"assay/internal/expect"
	"assay/store"
	"assay/workload/bank"
)

func mustNotOpen(t *testing.T, to store.Target) error {
	t.Helper()
	db, err := Open(context.Background(), to, bank.Schema())
	if err == nil {
		db.Close()
		t.Fatalf("%s was opened", to.Address)
	}
	quietError(t, err)
	return err
}

// deadHost is an address without a listener.
func deadHost(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	expect.NoError(t, err)
	defer listener.Close()
	return listener.Addr().String()
}

func TestRefusedUsers(t *testing.T) {
	for name, change := range map[string]func(*spot){
		"wrong password": user("assay", secret+"x"), "no password": user("assay", ""), "unknown user": user("nobody-here", secret),
	} {
		err := mustNotOpen(t, target(change))
		if refused := (*store.AuthError)(nil); !errors.As(err, &refused) || refused.User == "" || refused.Reason == "" {
			t.Errorf("%s: %v; want *store.AuthError", name, err)
		}
	}
}

func TestUnreachable(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and is silent
	expect.NoError(t, err)
	defer listener.Close()
	silent := listener.Addr().String()
	for _, hosts := range [][]string{{silent}, {deadHost(t)}, {deadHost(t), silent}} {
		to := target(atHosts(hosts...))
		to.ConnectTimeout = 100 * time.Millisecond
		refused := mustNotOpen(t, to)
		if unreachable := (*store.UnreachableError)(nil); !errors.As(refused, &unreachable) || !strings.Contains(unreachable.Address, hosts[0]) {
			t.Errorf("%v: %v", hosts, refused)
		}
		for _, host := range hosts {
			if !strings.Contains(refused.Error(), host) {
				t.Errorf("%v does not tell of %s", refused, host)
			}
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Open(ctx, target(), bank.Schema()); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
}

func TestTheFirstHostThatAnswersIsUsed(t *testing.T) {
	db := openBank(t, target(atHosts(deadHost(t), node.Node(0).Address())))
	defer db.Close()
	ctx, cancel := context.WithTimeout(context.Background(), expect.Patience)
	defer cancel()
	load(t, ctx, db)
	session, err := db.Session(ctx)
	expect.NoError(t, err)
	session.Close()
	members, unreachable, err := db.Replicas(ctx)
	if err != nil || len(unreachable) != 0 || len(members) != 1 || members[0] != (bank.Replica{Name: node.Node(0).Address(), Primary: true}) {
		t.Errorf("members %+v, unreachable %v, %v", members, unreachable, err)
	}
	expect.NoError(t, db.Settle(ctx), db.Drop(ctx))
}

func TestReadOnlyServersAreNotUsed(t *testing.T) {
	exec(t, admin(t), `SET GLOBAL read_only = 1`)
	t.Cleanup(func() { exec(t, admin(t), `SET GLOBAL read_only = 0`) })
	db := openBank(t, target()) // what is there can be read
	defer db.Close()
	err := db.TakeLease(t.Context(), store.Holder{Token: "one"}, time.Minute, "")
	if unreachable := (*store.UnreachableError)(nil); !errors.As(err, &unreachable) || !strings.Contains(err.Error(), "read only") {
		t.Errorf("got %v", err)
	}
	if left, err := db.Lease(t.Context()); err != nil || left != nil {
		t.Errorf("a lease is there: %+v, %v", left, err)
	}
}

// answers are results of one row each, as a server gives them to askLook.
type answers [][]driver.Value

func (a *answers) Columns() []string { return make([]string, len((*a)[0])) }

func (a *answers) Close() error { return nil }

func (a *answers) Next(into []driver.Value) error {
	if copy(into, (*a)[0]) == 0 {
		return io.EOF
	}
	(*a)[0] = nil
	return nil
}

func (a *answers) HasNextResultSet() bool { return len(*a) > 1 }

func (a *answers) NextResultSet() error {
	*a = (*a)[1:]
	return nil
}

// TestValuesOfReadOnly: MariaDB has two more than MySQL from 12.0 on, and tells words.
func TestValuesOfReadOnly(t *testing.T) {
	for value, want := range map[driver.Value]bool{
		int64(0): false, int64(1): true, "OFF": false, "ON": true, "NO_LOCK": true, "NO_LOCK_NO_ADMIN": true,
	} {
		found, err := readLook(&answers{{int64(7), value}, {"wsrep_on", "OFF"}, nil, nil})
		if err != nil || found.readOnly != want || found.id != 7 || (found.takesWrites() != nil) != want {
			t.Errorf("read_only=%v: %+v, %v", value, found, err)
		}
	}
}

func TestNoConnectionLeft(t *testing.T) {
	conn := admin(t)
	exec(t, conn, `CREATE USER few@'%' IDENTIFIED BY 'few' WITH MAX_USER_CONNECTIONS 1`)
	exec(t, conn, "GRANT ALL ON `assay\\_%`.* TO few@'%'")
	t.Cleanup(func() { exec(t, admin(t), `DROP USER few@'%'`) })
	db := openBank(t, target(user("few", "few")))
	defer db.Close()
	_, err := db.Session(context.Background())
	if !hasCode(err, codeUserLimit) || !strings.Contains(err.Error(), "raise max_connections") {
		t.Errorf("got %v", err)
	}
}

func TestOptionsOfTheServer(t *testing.T) {
	for name, to := range map[string]store.Target{
		"MyISAM": target(parameter("engine", "MyISAM")), "abacus": target(parameter("engine", "abacus")),
		"serializable": at("serializable", parameter("engine", "RocksDB")),
	} {
		err := mustNotOpen(t, to)
		if refused := (*store.OptionError)(nil); !errors.As(err, &refused) || !strings.EqualFold(refused.Value, name) ||
			name != "serializable" && refused.Want != "InnoDB, ROCKSDB" {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, change := range []func(*spot){parameter("no_such_variable", "1"), parameter("innodb_lock_wait_timeout", "often"),
		parameter("innodb_buffer_pool_size", "1"), parameter("version", "1")} {
		if err := mustNotOpen(t, target(change)); !errors.As(err, new(*store.OptionError)) {
			t.Errorf("got %v", err)
		}
	}
	err := mustNotOpen(t, target(parameter("tls", "true"))) // the server has no certificate
	if !strings.Contains(err.Error(), "TLS") {
		t.Errorf("got %v", err)
	}
	openBank(t, target(parameter("tls", "preferred"))).Close()
	if schemas := value(t, admin(t), `SELECT count(*) FROM information_schema.schemata WHERE schema_name LIKE 'assay%'`); schemas != "0" {
		t.Errorf("%s databases were made", schemas)
	}
}

func TestUserWithoutPrivilege(t *testing.T) {
	conn := admin(t)
	exec(t, conn, `CREATE USER guest@'%' IDENTIFIED BY 'guest'`)
	t.Cleanup(func() { exec(t, admin(t), `DROP USER guest@'%'`) })
	db := openBank(t, target(user("guest", "guest")))
	defer db.Close()
	err := db.Create(context.Background(), store.Marker{Workload: "bank"})
	if err == nil || !strings.Contains(err.Error(), "GRANT ALL ON") {
		t.Errorf("got %v", err)
	}
}

func TestDescribe(t *testing.T) {
	for _, c := range []struct {
		to   store.Target
		want map[string]string
	}{
		{target(), map[string]string{"engine": "InnoDB", "isolation": "repeatable read", "innodb_flush_log_at_trx_commit": "1",
			"log_bin": "OFF", "innodb_buffer_pool_size": "134217728", "rocksdb_flush_log_at_trx_commit": "", "wsrep_sync_wait": ""}},
		{at("read committed", parameter("engine", "rocksdb")), map[string]string{"engine": "ROCKSDB", "isolation": "read committed",
			"rocksdb_flush_log_at_trx_commit": "1", "innodb_flush_log_at_trx_commit": ""}},
	} {
		db := openBank(t, c.to)
		product, err := db.Describe(context.Background())
		db.Close()
		expect.NoError(t, err)
		for name, value := range c.want {
			if got := drivertest.Value(product.Settings, name); got != value {
				t.Errorf("%s is %q, want %q", name, got, value)
			}
		}
		if product.Name != "MariaDB" || !strings.Contains(product.Version, "MariaDB") || product.Embedded ||
			product.Topology != (store.Topology{Nodes: 1}) {
			t.Errorf("got %+v", product)
		}
	}
}

// TestMarks: databases that only look like ours, and halves of ours.
func TestMarks(t *testing.T) {
	const marked = `CREATE TABLE assay_bank.assay_mark (id TINYINT PRIMARY KEY, mark TEXT)`
	for name, c := range map[string]struct {
		statements []string
		foreign    bool
	}{
		"empty":              {nil, false},
		"half made":          {[]string{marked}, false},
		"another column":     {[]string{`CREATE TABLE assay_bank.assay_mark (other INT)`}, true},
		"no row, and a data": {[]string{marked, `CREATE TABLE assay_bank.account (id INT)`}, true},
		"two rows":           {[]string{marked, `INSERT INTO assay_bank.assay_mark VALUES (1, '{"workload":"bank"}'), (2, '{"workload":"bank"}')`}, true},
		"another workload":   {[]string{marked, `INSERT INTO assay_bank.assay_mark VALUES (1, '{"workload":"banking"}')`}, true},
		"no object":          {[]string{marked, `INSERT INTO assay_bank.assay_mark VALUES (1, 'ours')`}, true},
		"a view":             {[]string{`CREATE VIEW assay_bank.assay_mark AS SELECT 1 AS id, '{"workload":"bank"}' AS mark`}, true},
		"a function":         {[]string{`CREATE FUNCTION assay_bank.f() RETURNS INT RETURN 1`}, true},
	} {
		t.Run(name, func(t *testing.T) {
			conn := admin(t)
			exec(t, conn, `CREATE DATABASE assay_bank`)
			t.Cleanup(func() { exec(t, admin(t), `DROP DATABASE IF EXISTS assay_bank`) })
			for _, statement := range c.statements {
				exec(t, conn, statement)
			}
			db := openBank(t, target())
			defer db.Close()
			ctx := context.Background()
			remains, found := db.Find(ctx)
			dropped := db.Drop(ctx)
			read := db.Read(ctx, func(bank.Account) error { return nil }, func(bank.Entry) error { return nil })
			if c.foreign {
				for _, err := range []error{found, dropped, read, db.Create(ctx, store.Marker{Workload: "bank"})} {
					if !errors.As(err, new(*store.ForeignError)) {
						t.Errorf("got %v", err)
					}
				}
				return
			}
			if remains != nil || found != nil || dropped != nil || !errors.As(read, new(*store.NoSchemaError)) {
				t.Errorf("Find: %+v, %v; Drop: %v; Read: %v", remains, found, dropped, read)
			}
			if err := db.Create(ctx, store.Marker{Workload: "bank"}); err != nil {
				t.Errorf("Create: %v", err)
			}
			if err := db.Drop(ctx); err != nil {
				t.Error(err)
			}
			if n := value(t, conn, `SELECT count(*) FROM information_schema.schemata WHERE schema_name = 'assay_bank'`); n != "0" {
				t.Error("the database is still there")
			}
		})
	}
}
