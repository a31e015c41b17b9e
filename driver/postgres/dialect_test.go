package postgres

import (
	"errors"
	"net"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"assay/driver/drivertest"
	"assay/driver/sqldb"
	"assay/internal/expect"
	"assay/store"
)

func TestTakeDialect(t *testing.T) {
	for address, want := range map[string][2]string{
		"postgres://h/d":                                         {"postgres://h/d", ""},
		"postgres://h/d?":                                        {"postgres://h/d?", ""},
		"postgres://h/d?sslmode=disable":                         {"postgres://h/d?sslmode=disable", ""},
		"postgres://h/d?dialect=cockroachdb":                     {"postgres://h/d", "cockroachdb"},
		"postgres://h/d?a=1&dialect=cockroachdb&b=x%20y":         {"postgres://h/d?a=1&b=x%20y", "cockroachdb"},
		"postgres://h/d?dialect=postgresql&dialect=cockroachdb":  {"postgres://h/d", "cockroachdb"},
		"postgres://h/d?dialect=postgresql":                      {"postgres://h/d", "postgresql"},
		"postgres://h/d?application_name=dialect%3Dcockroachdb":  {"postgres://h/d?application_name=dialect%3Dcockroachdb", ""},
		"postgres://h/d?old_dialect=cockroachdb&dialect_of=that": {"postgres://h/d?old_dialect=cockroachdb&dialect_of=that", ""},
	} {
		if rest, name, err := takeDialect(address); err != nil || rest != want[0] || name != want[1] {
			t.Errorf("%s: %q, %q, %v", address, rest, name, err)
		}
	}
	config, name, err := parse(store.Target{Address: "postgres://h/d?dialect=cockroachdb&statement_timeout=5"})
	if err != nil || name != "cockroachdb" {
		t.Fatalf("%q, %v", name, err)
	}
	if _, there := config.RuntimeParams["dialect"]; there || config.RuntimeParams["statement_timeout"] != "5" {
		t.Errorf("the server is sent %v", config.RuntimeParams)
	}
}

// TestUnknownDialect is refused before the server is asked.
func TestUnknownDialect(t *testing.T) {
	for _, by := range drivertest.Supports(Open, sqldb.Lacks()) {
		for _, value := range []string{"oracle", "", "CockroachDB", "%zz"} {
			var refused *store.OptionError
			_, err := by.Open(t.Context(), store.Target{Address: "postgres://u:hunter2@127.0.0.1:1/x?sslmode=disable&dialect=" + value})
			if !errors.As(err, &refused) || refused.Option != "dialect" || refused.Value != value || refused.Want != "postgresql, cockroachdb" {
				t.Errorf("%s of %q: %v", by.Workload, value, err)
			}
			quiet(t, err)
		}
	}
}

// The version strings are from the vendors' documentation and from servers.
func TestVersions(t *testing.T) {
	for banner, want := range map[string][3]string{
		"PostgreSQL 15.13 (Debian 15.13-0+deb12u1) on x86_64-pc-linux-gnu, compiled by gcc":  {"postgresql", "PostgreSQL", "reported"},
		"CockroachDB CCL v24.1.0 (x86_64-pc-linux-gnu, built 2024/05/15 21:28:29, go1.22.2)": {"cockroachdb", "CockroachDB", "v24.1.0"},
		"CockroachDB OSS v23.1.11 (aarch64-apple-darwin21.2, built 2023/09/27, go1.19.10)":   {"cockroachdb", "CockroachDB", "v23.1.11"},
		"CockroachDB v25.2.1":            {"cockroachdb", "CockroachDB", "v25.2.1"},
		"CockroachDB very new":           {"cockroachdb", "CockroachDB", "very new"},
		"CockroachDB":                    {"cockroachdb", "CockroachDB", "unknown"},
		"PostgreSQL 13.0 as CockroachDB": {"postgresql", "PostgreSQL", "reported"},
		"":                               {"postgresql", "unknown", "reported"},
	} {
		name, version := productOf(banner, "reported")
		if got := dialectOf(banner).name; got != want[0] || name != want[1] || version != want[2] {
			t.Errorf("%q: %s, %s %s; want %v", banner, got, name, version, want)
		}
	}
}

// TestDialectIsFound: a function version before the server's own calls it CockroachDB.
func TestDialectIsFound(t *testing.T) {
	conn := admin(t)
	exec(t, conn, `CREATE SCHEMA disguise`)
	t.Cleanup(func() { exec(t, admin(t), `DROP SCHEMA disguise CASCADE`) })
	exec(t, conn, `CREATE FUNCTION disguise.version() RETURNS text LANGUAGE sql AS
		$$ SELECT 'CockroachDB CCL v25.2.1 (x86_64-pc-linux-gnu, built 2025/06/01 00:00:00, go1.23.7)' $$`)
	disguised := parameter("search_path", "disguise,pg_catalog")
	for name, c := range map[string]struct {
		to            store.Target
		dialect, said string
		product       string
	}{
		"nothing told":           {target(t), "postgresql", "", "PostgreSQL"},
		"found":                  {target(t, disguised), "cockroachdb", "cockroachdb", "CockroachDB"},
		"told against the name":  {target(t, disguised, parameter("dialect", "postgresql")), "postgresql", "postgresql", "CockroachDB"},
		"told where none hides":  {target(t, parameter("dialect", "cockroachdb")), "cockroachdb", "cockroachdb", "PostgreSQL"},
		"told what it is anyway": {target(t, parameter("dialect", "postgresql")), "postgresql", "postgresql", "PostgreSQL"},
	} {
		db := openBank(t, c.to)
		product, err := db.Describe(t.Context())
		db.Close()
		at := slices.IndexFunc(product.Settings, func(s store.Setting) bool { return s.Name == "dialect" })
		said := ""
		if at >= 0 {
			said = product.Settings[at].Value
		}
		if err != nil || db.below.dialect.name != c.dialect || said != c.said || product.Name != c.product {
			t.Errorf("%s: %s, said to be %q, %+v, %v", name, db.below.dialect.name, said, product, err)
		}
		if c.product == "CockroachDB" && product.Version != "v25.2.1" {
			t.Errorf("%s: version %q", name, product.Version)
		}
		if c.dialect == "cockroachdb" && (product.Topology != store.Topology{} || len(product.Settings) != 3) {
			t.Errorf("%s: it claims to know %+v", name, product)
		}
	}
}

// TestNobodyAsksCockroachDBForAPrimary: the first reachable host is used, without a query.
func TestNobodyAsksCockroachDBForAPrimary(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	expect.NoError(t, err)
	defer listener.Close()
	done := make(chan error, 1)
	go func() { done <- greet(listener) }()
	config, _, err := parse(store.Target{Address: "postgres://u@" + listener.Addr().String() + ",127.0.0.1:1/x?sslmode=disable"})
	if err != nil || config.ValidateConnect == nil {
		t.Fatalf("%+v, %v", config, err)
	}
	conn, err := pgconn.ConnectConfig(t.Context(), &config.Config)
	expect.NoError(t, err)
	expect.NoError(t, conn.Close(t.Context()), <-done)
	told, _, err := parse(store.Target{Address: "postgres://u@a,b/x?dialect=cockroachdb"})
	if err != nil || told.ValidateConnect != nil {
		t.Errorf("where CockroachDB was told, something is asked of the server; %v", err)
	}
}

// greet greets one connection as CockroachDB does.
func greet(listener net.Listener) error {
	conn, err := listener.Accept()
	if err != nil {
		return err
	}
	defer conn.Close()
	server := pgproto3.NewBackend(conn, conn)
	if _, err := server.ReceiveStartupMessage(); err != nil {
		return err
	}
	server.Send(&pgproto3.AuthenticationOk{})
	server.Send(&pgproto3.ParameterStatus{Name: "crdb_version", Value: "CockroachDB CCL v25.2.1"})
	server.Send(&pgproto3.BackendKeyData{ProcessID: 1, SecretKey: []byte{0, 0, 0, 1}})
	server.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	if err := server.Flush(); err != nil {
		return err
	}
	message, err := server.Receive()
	if err != nil {
		return err
	}
	if _, ok := message.(*pgproto3.Terminate); !ok {
		return errors.New("a query came")
	}
	return nil
}

// TestCockroachDBsOwnStatements compares texts that PostgreSQL cannot parse, for want of a server.
func TestCockroachDBsOwnStatements(t *testing.T) {
	d := cockroachdb()
	for text, words := range map[string][]string{
		d.session:  {"current_setting('session_id')"},
		d.sessions: {"SHOW CLUSTER SESSIONS", "SELECT session_id, coalesce(status, '')", "application_name = $1"},
		d.end:      {"CANCEL SESSIONS IF EXISTS (", "SHOW CLUSTER SESSIONS", "application_name = $1", "session_id = '%s')"},
		d.size:     {"SHOW RANGES FROM TABLE %[1]s.%[2]s WITH INDEXES, DETAILS", "approximate_disk_bytes", "%[2]s_pkey"},
	} {
		for _, word := range words {
			if !strings.Contains(text, word) {
				t.Errorf("%q is not in %s", word, text)
			}
		}
		for _, word := range []string{"pg_stat", "pg_table_size", "pg_terminate", "pid"} {
			if strings.Contains(text, word) {
				t.Errorf("%q is in %s", word, text)
			}
		}
	}
	p := &schema{Namespace: &sqldb.Namespace{Schema: store.Schema{Workload: "bank"}}, dialect: d}
	p.config, _, _ = parse(store.Target{Address: "postgres://u@h/accounts"})
	if got := p.SessionName("run-1"); got != "assay bank session run-1 in accounts" {
		t.Errorf("sessions are called %q", got)
	}
}

func inDialect(u *url.URL) { parameter("dialect", "cockroachdb")(u) }
