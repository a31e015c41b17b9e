package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"assay/cluster/server"
	"assay/internal/expect"
)

func connect(t *testing.T, p *Server) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), p.Address())
	expect.NoError(t, err)
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func query(t *testing.T, conn *pgx.Conn, sql string) string {
	t.Helper()
	var value string
	if err := conn.QueryRow(t.Context(), sql).Scan(&value); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return value
}

func execute(t *testing.T, conn *pgx.Conn, sql string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func TestPostgresStartsDurableAndPrivate(t *testing.T) {
	p := expect.Started(t, Start, Options{User: "tester", Password: `p'w "x"/@`, Settings: []string{"max_connections=17"}})
	conn := connect(t, p)
	for name, want := range map[string]string{
		"fsync": "on", "wal_level": "replica", "listen_addresses": "127.0.0.1", "unix_socket_directories": "",
		"max_connections": "17", "password_encryption": "scram-sha-256",
	} {
		if got := query(t, conn, "SHOW "+name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if got := query(t, conn, "SELECT current_user::text"); got != "tester" {
		t.Errorf("user %q", got)
	}
	address, err := url.Parse(p.Address())
	expect.NoError(t, err)
	if host, _, _ := net.SplitHostPort(address.Host); host != "127.0.0.1" {
		t.Errorf("address %s", address.Host)
	}
	address.User = url.UserPassword("tester", "wrong")
	_, err = pgx.Connect(t.Context(), address.String())
	var refusal *pgconn.PgError
	if !errors.As(err, &refusal) || refusal.Code != "28P01" {
		t.Errorf("a wrong password gave %v", err)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(p.Log), "initial-password")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file with the password is still there: %v", err)
	}
}

func TestPostgresKeepsWhatItCommittedWhenKilled(t *testing.T) {
	p := expect.Started(t, Start, Options{})
	before := p.Address()
	conn := connect(t, p)
	if _, err := conn.Exec(t.Context(), "CREATE TABLE kept AS SELECT 42 AS n"); err != nil {
		t.Fatal(err)
	}
	expect.NoError(t, p.Kill())
	if err := conn.Ping(t.Context()); err == nil {
		t.Error("the killed server still answers")
	}
	for range 2 { // the second time it runs and is stopped first
		expect.NoError(t, p.Restart(t.Context()))
		if p.Address() != before {
			t.Errorf("address was %s, is %s", before, p.Address())
		}
		if got := query(t, connect(t, p), "SELECT n::text FROM kept"); got != "42" {
			t.Errorf("got %s", got)
		}
	}
}

func TestPostgresStopAndPause(t *testing.T) {
	p := expect.Started(t, Start, Options{})
	conn := connect(t, p)
	expect.NoError(t, p.Pause())
	answer := make(chan error, 1)
	go func() { answer <- conn.Ping(context.Background()) }()
	select {
	case err := <-answer:
		t.Errorf("a paused server answered: %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	expect.NoError(t, p.Resume())
	if err := <-answer; err != nil {
		t.Errorf("after Resume: %v", err)
	}
	if err := p.Stop(t.Context()); err != nil { // with a client connected
		t.Fatal(err)
	}
	expect.Text(t, "the end of the log", p.Tail(1), "database system is shut down")
	expect.NoError(t, p.Restart(t.Context()))
	query(t, connect(t, p), "SELECT version()")
}

func TestPostgresThatCannotStart(t *testing.T) {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("assay-test-%d-bad", os.Getpid()))
	_, err := Start(t.Context(), Options{Dir: dir, Settings: []string{"max_connections=none"}})
	if err == nil || !strings.Contains(err.Error(), "max_connections") {
		t.Errorf("the log is not in the error: %v", err)
	}
	if server.Exists(dir) {
		t.Errorf("%s is still there", dir)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Start(ctx, Options{Dir: dir}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if server.Exists(dir) {
		t.Errorf("%s is still there", dir)
	}
}

func TestPostgresMissing(t *testing.T) {
	program := serverProgram()
	program.Folders = nil
	t.Setenv("PATH", t.TempDir())
	t.Setenv("ASSAY_SERVERS", t.TempDir())
	_, err := program.Find("")
	for _, err := range []error{err, CanCopy(t.TempDir())} {
		if missing := (*server.MissingError)(nil); !errors.As(err, &missing) || !strings.Contains(err.Error(), "scripts/install-servers.sh postgres") {
			t.Errorf("got %v", err)
		}
	}
}

func TestAskPostgres(t *testing.T) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	expect.NoError(t, err)
	defer listener.Close()
	answers := []struct {
		send string
		want serverState
	}{
		{"R\x00\x00\x00\x08\x00\x00\x00\x0a", stateReady},
		{"E\x00\x00\x00\x0dSFATAL\x00\x00\x00", stateReady},
		{"E\x00\x00\x00\x0cC57P03\x00\x00", stateAnswers},
		{"HTTP/1.1 400 Bad Request\r\n", stateSilent},
		{"E\x00\x00", stateSilent},
		{"", stateSilent},
	}
	go func() {
		for _, a := range answers {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			conn.Write([]byte(a.send))
			conn.(*net.TCPConn).CloseWrite()
			defer conn.Close()
		}
	}()
	for _, a := range answers {
		got, err := askState(t.Context(), listener.Addr().String(), "assay")
		if got != a.want || (got != stateReady) != (err != nil) {
			t.Errorf("%q: state %d, error %v; want %d", a.send, got, err, a.want)
		}
	}
}
