package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"assay/driver/drivertest"
	"assay/internal/expect"
	"assay/store"
	"assay/workload/bank"
)

// quiet fails if an error, however printed, shows the password or a telling part of it.
func quiet(t *testing.T, err error) {
	t.Helper()
	for _, text := range []string{err.Error(), fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", err)} {
		for _, part := range []string{secret, url.QueryEscape(secret), "s3cr", "hunter"} {
			if strings.Contains(text, part) {
				t.Errorf("the error tells the password: %s", text)
			}
		}
	}
}

func mustNotOpen(t *testing.T, to store.Target) error {
	t.Helper()
	db, err := Open(context.Background(), to, bank.Schema())
	if err == nil {
		db.Close()
		t.Fatalf("%s was opened", to.Address)
	}
	quiet(t, err)
	return err
}

func TestAddressesThatCannotBeUsed(t *testing.T) {
	for _, address := range []string{
		"postgres://assay:" + secret + "@127.0.0.1:5/x", // not percent-encoded
		"postgres://assay:hunter2@127.0.0.1:port/x",
		"postgres://assay:hunter2@127.0.0.1:1/x?sslmode=perhaps",
		"postgres://assay@127.0.0.1:1/x?password=hunter2&sslmode=perhaps",
		"postgres://assay:hunter%@127.0.0.1/",
		"postgres://assay:hunter2@[::1/x",
		"host=127.0.0.1 password=hunter2 sslmode=perhaps",
		"postgres://assay:hunter2@127.0.0.1:1/x?default_query_exec_mode=odd",
	} {
		var refused *store.OptionError
		if err := mustNotOpen(t, store.Target{Address: address}); !errors.As(err, &refused) {
			t.Errorf("%s: %v; want *store.OptionError", address, err)
		}
	}
}

func TestIsolationLevels(t *testing.T) {
	for given, want := range map[string]string{
		"": "", "read committed": "read committed", "Read-Committed": "read committed",
		"repeatable-read": "repeatable read", "SERIALIZABLE": "serializable",
	} {
		if got, err := isolationLevel(given, postgresql().levels); err != nil || got != want {
			t.Errorf("%q: %q, %v", given, got, err)
		}
	}
	to := target(t)
	to.Isolation = "snapshot"
	err := mustNotOpen(t, to)
	var refused *store.OptionError
	if !errors.As(err, &refused) || !strings.Contains(refused.Want, "repeatable read") || refused.Value != "snapshot" {
		t.Errorf("got %v", err)
	}
}

func TestRefusedUsers(t *testing.T) {
	for name, change := range map[string]func(*url.URL){
		"wrong password": user("assay", secret+"x"),
		"no password":    func(u *url.URL) { u.User = url.User("assay") },
		"unknown role":   user("nobody-here", secret),
	} {
		err := mustNotOpen(t, target(t, change))
		var refused *store.AuthError
		if !errors.As(err, &refused) || refused.User == "" || refused.Reason == "" {
			t.Errorf("%s: %v; want *store.AuthError", name, err)
		}
	}
}

func TestMissingDatabase(t *testing.T) {
	err := mustNotOpen(t, target(t, database("not there")))
	if !strings.Contains(err.Error(), `there is no database "not there"`) {
		t.Errorf("got %v", err)
	}
}

func TestUnreachable(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and is silent
	expect.NoError(t, err)
	defer listener.Close()
	to := target(t, host(listener.Addr().String()))
	to.ConnectTimeout = 100 * time.Millisecond
	refused := mustNotOpen(t, to)
	var unreachable *store.UnreachableError
	if !errors.As(refused, &unreachable) || !strings.Contains(unreachable.Address, listener.Addr().String()) {
		t.Errorf("got %v", refused)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Open(ctx, target(t), bank.Schema()); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
}

func TestNoConnectionLeft(t *testing.T) {
	conn := admin(t)
	exec(t, conn, `CREATE ROLE few LOGIN PASSWORD 'few' CONNECTION LIMIT 1`)
	t.Cleanup(func() { exec(t, admin(t), `DROP ROLE few`) })
	// Opening takes several connections, and a busy server still counts an ended one for a while.
	db, err := Open(t.Context(), target(t, user("few", "few")), bank.Schema())
	for end := time.Now().Add(expect.Patience); hasCode(err, codeTooManyConnections) && time.Now().Before(end); {
		time.Sleep(50 * time.Millisecond)
		db, err = Open(t.Context(), target(t, user("few", "few")), bank.Schema())
	}
	expect.NoError(t, err)
	defer db.Close()
	_, err = db.Session(context.Background(), nil)
	if !hasCode(err, codeTooManyConnections) || !strings.Contains(err.Error(), "raise max_connections") {
		t.Errorf("got %v", err)
	}
}

func TestUserWithoutPrivilege(t *testing.T) {
	conn := admin(t)
	exec(t, conn, `CREATE ROLE guest LOGIN PASSWORD 'guest'`)
	t.Cleanup(func() { exec(t, admin(t), `DROP ROLE guest`) })
	db := openBank(t, target(t, user("guest", "guest")))
	defer db.Close()
	err := db.Create(context.Background(), store.Marker{Workload: "bank"})
	if err == nil || !strings.Contains(err.Error(), "GRANT CREATE ON DATABASE") {
		t.Errorf("got %v", err)
	}
}

// TestSchemaOfAnotherUser: the error names the owner.
func TestSchemaOfAnotherUser(t *testing.T) {
	conn := admin(t)
	for _, role := range []string{"alice", "bob"} {
		exec(t, conn, `CREATE ROLE `+role+` LOGIN PASSWORD '`+role+`'`)
		exec(t, conn, `GRANT CREATE ON DATABASE `+conn.Config().Database+` TO `+role)
		t.Cleanup(func() { exec(t, admin(t), `DROP OWNED BY `+role); exec(t, admin(t), `DROP ROLE `+role) })
	}
	first := openBank(t, target(t, user("alice", "alice")))
	defer first.Close()
	expect.NoError(t, first.Create(context.Background(), store.Marker{Workload: "bank"}))
	second := openBank(t, target(t, user("bob", "bob")))
	defer second.Close()
	for name, do := range map[string]func() error{
		"Marker": func() error { _, err := second.Marker(context.Background()); return err },
		"Create": func() error { return second.Create(context.Background(), store.Marker{Workload: "bank"}) },
		"Drop":   func() error { return second.Drop(context.Background()) },
	} {
		err := do()
		if err == nil || !strings.Contains(err.Error(), "belongs to user alice") || strings.Contains(err.Error(), "GRANT CREATE") {
			t.Errorf("%s: %v", name, err)
		}
	}
	expect.NoError(t, first.Drop(context.Background()))
}

func TestReadOnlyCreate(t *testing.T) {
	db := openBank(t, target(t, parameter("default_transaction_read_only", "on")))
	defer db.Close()
	err := db.Create(context.Background(), store.Marker{Workload: "bank"})
	if err == nil || !strings.Contains(err.Error(), "target_session_attrs") {
		t.Errorf("got %v", err)
	}
}

// TestTimeLimitOfTheUser: it may end what assay itself does first, which says so.
func TestTimeLimitOfTheUser(t *testing.T) {
	err := openAndLoad(target(t, parameter("statement_timeout", "1")))
	if err == nil || !strings.Contains(err.Error(), "statement_timeout=0") {
		t.Errorf("got %v", err)
	}
}

// openAndLoad ends with the first statement that is too slow.
func openAndLoad(target store.Target) error {
	ctx := context.Background()
	db, err := Open(ctx, target, bank.Schema())
	if err != nil {
		return err
	}
	defer db.Close()
	if err := db.Create(ctx, store.Marker{Workload: "bank"}); err != nil {
		return err
	}
	return db.Load(ctx, store.Rows{Table: "account", Columns: []string{"id", "balance"}, Count: 200_000, Row: func(i int, into []store.Value) []store.Value {
		return append(into, store.OfInt(int64(i)), store.OfInt(1))
	}})
}

// TestAddressesAsPgxReadsThem: several hosts, and the environment of PostgreSQL's clients.
func TestAddressesAsPgxReadsThem(t *testing.T) {
	u, err := url.Parse(server.Address())
	expect.NoError(t, err)
	dead, err := net.Listen("tcp", "127.0.0.1:0")
	expect.NoError(t, err)
	deadHost := dead.Addr().String()
	dead.Close()
	several := "postgres://" + u.User.String() + "@" + deadHost + "," + u.Host + "/postgres?sslmode=disable&target_session_attrs=read-write"
	openBank(t, store.Target{Address: several}).Close()

	t.Setenv("PGHOST", u.Hostname())
	t.Setenv("PGPORT", u.Port())
	t.Setenv("PGUSER", "assay")
	t.Setenv("PGDATABASE", "postgres")
	t.Setenv("PGPASSWORD", secret)
	openBank(t, store.Target{Address: "postgres://"}).Close()
	t.Setenv("PGPASSWORD", secret+"x")
	var refused *store.AuthError
	if err := mustNotOpen(t, store.Target{Address: "postgres://"}); !errors.As(err, &refused) || refused.User != "assay" {
		t.Errorf("got %v", err)
	}
}

func TestApplicationName(t *testing.T) {
	s := setScene(t, target(t, parameter("application_name", "somebody")))
	for _, name := range []string{bankSessionName, applicationName} {
		var n int
		err := s.rival.QueryRow(s.ctx, `SELECT count(*) FROM pg_stat_activity WHERE application_name = $1`, name).Scan(&n)
		if err != nil || n == 0 {
			t.Errorf("%d connections named %q, %v", n, name, err)
		}
	}
}

func TestDescribe(t *testing.T) {
	to := target(t)
	to.Isolation = "serializable"
	for isolation, to := range map[string]store.Target{
		"read committed":  target(t),
		"repeatable read": target(t, parameter("default_transaction_isolation", "repeatable read")),
		"serializable":    to,
	} {
		db := openBank(t, to)
		product, err := db.Describe(context.Background())
		db.Close()
		expect.NoError(t, err)
		want := map[string]string{
			"isolation": isolation, "fsync": "on", "synchronous_commit": "on", "full_page_writes": "on",
			"wal_level": "replica", "shared_buffers": "128MB", "max_connections": "100",
			"synchronous_standby_names": "(none)", "in_recovery": "false", "standbys": "0",
		}
		for name, value := range want {
			if got := drivertest.Value(product.Settings, name); got != value {
				t.Errorf("%s is %q, want %q", name, got, value)
			}
		}
		if set := drivertest.Value(product.Changed, "deadlock_timeout"); set != "10ms" {
			t.Errorf("deadlock_timeout is told as %q of %v", set, product.Changed)
		}
		if product.Name != "PostgreSQL" || product.Version == "" || product.Embedded ||
			product.Topology != (store.Topology{Nodes: 1, Replicas: 1}) {
			t.Errorf("got %+v", product)
		}
	}
}

// TestForgedMarks: schemas that only look like ours.
func TestForgedMarks(t *testing.T) {
	for name, forge := range map[string][]string{
		"another column":   {`CREATE TABLE assay_bank.assay_mark (other int)`},
		"no row":           {`CREATE TABLE assay_bank.assay_mark (mark jsonb)`},
		"two rows":         {`CREATE TABLE assay_bank.assay_mark AS SELECT '{"workload":"bank"}'::jsonb AS mark FROM generate_series(1, 2)`},
		"another workload": {`CREATE TABLE assay_bank.assay_mark AS SELECT '{"workload":"banking"}'::jsonb AS mark`},
		"no object":        {`CREATE TABLE assay_bank.assay_mark AS SELECT 'ours'::text AS mark`},
		"a view":           {`CREATE VIEW assay_bank.assay_mark AS SELECT '{"workload":"bank"}'::jsonb AS mark`},
	} {
		t.Run(name, func(t *testing.T) {
			conn := admin(t)
			exec(t, conn, `CREATE SCHEMA assay_bank`)
			t.Cleanup(func() { exec(t, admin(t), `DROP SCHEMA assay_bank CASCADE`) })
			for _, statement := range forge {
				exec(t, conn, statement)
			}
			db := openBank(t, target(t))
			defer db.Close()
			var foreign *store.ForeignError
			if _, err := db.Find(context.Background()); !errors.As(err, &foreign) {
				t.Errorf("Find: %v", err)
			}
			if err := db.Drop(context.Background()); !errors.As(err, &foreign) {
				t.Errorf("Drop: %v", err)
			}
			err := db.Read(context.Background(), func(bank.Account) error { return nil }, func(bank.Entry) error { return nil })
			if !errors.As(err, &foreign) {
				t.Errorf("Read: %v", err)
			}
		})
	}
}
