package postgres

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"assay/cluster/server"
)

func startStandby(t *testing.T, p *Server, o StandbyOptions) *Server {
	t.Helper()
	s, err := p.StartStandby(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func execute(t *testing.T, conn *pgx.Conn, sql string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// awaitRow waits until a query gives this value.
func awaitRow(t *testing.T, conn *pgx.Conn, sql, want string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		var got string
		err := conn.QueryRow(ctx, sql).Scan(&got)
		if err == nil && got == want {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("%s: %q, %v; want %q", sql, got, err, want)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func TestPostgresStandby(t *testing.T) {
	p := startPostgres(t, Options{User: "tester", Password: `p'w "x"/@`, Settings: []string{"max_connections=140"}})
	conn := connect(t, p)
	execute(t, conn, "CREATE TABLE seen AS SELECT 1 AS n")
	s := startStandby(t, p, StandbyOptions{})
	replica := connect(t, s)
	if got := query(t, replica, "SELECT pg_is_in_recovery()::text"); got != "true" {
		t.Errorf("in recovery: %s", got)
	}
	awaitRow(t, replica, "SELECT n::text FROM seen", "1")
	execute(t, conn, "UPDATE seen SET n = 2")
	awaitRow(t, replica, "SELECT n::text FROM seen", "2")
	_, err := replica.Exec(t.Context(), "UPDATE seen SET n = 3")
	var refusal *pgconn.PgError
	if !errors.As(err, &refusal) || refusal.Code != "25006" {
		t.Errorf("a write on the standby: %v", err)
	}
	if got := query(t, conn, "SELECT sync_state FROM pg_stat_replication"); got != "async" {
		t.Errorf("the standby is %s", got)
	}

	// It catches up after it was paused, killed and stopped, and holds nobody up.
	if err := s.Pause(); err != nil {
		t.Fatal(err)
	}
	execute(t, conn, "UPDATE seen SET n = 3")
	if err := s.Resume(); err != nil {
		t.Fatal(err)
	}
	awaitRow(t, replica, "SELECT n::text FROM seen", "3")
	for _, end := range []func() error{s.Kill, func() error { return s.Stop(t.Context()) }} {
		if err := end(); err != nil {
			t.Fatal(err)
		}
		execute(t, conn, "UPDATE seen SET n = n + 1")
		if err := s.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		awaitRow(t, connect(t, s), "SELECT n::text FROM seen", query(t, conn, "SELECT n::text FROM seen"))
	}
	if err := p.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	execute(t, connect(t, p), "UPDATE seen SET n = 9")
	awaitRow(t, connect(t, s), "SELECT n::text FROM seen", "9")
}

func TestPostgresStandbySynchronous(t *testing.T) {
	p := startPostgres(t, Options{})
	first := startStandby(t, p, StandbyOptions{Synchronous: true})
	second := startStandby(t, p, StandbyOptions{Synchronous: true, Settings: []string{"work_mem=5MB"}})
	conn := connect(t, p)
	if got := query(t, conn, "SELECT count(*)::text FROM pg_stat_replication WHERE sync_state = 'sync'"); got != "2" {
		t.Errorf("%s synchronous standbys", got)
	}
	if got := query(t, connect(t, second), "SHOW work_mem"); got != "5MB" {
		t.Errorf("work_mem is %s", got)
	}
	execute(t, conn, "CREATE TABLE seen AS SELECT 1 AS n")
	for _, s := range []*Server{first, second} { // commits wait for both
		if err := s.Pause(); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() {
			_, err := conn.Exec(context.Background(), "UPDATE seen SET n = n + 1")
			done <- err
		}()
		awaitRow(t, connect(t, p), "SELECT count(*)::text FROM pg_stat_activity WHERE wait_event = 'SyncRep'", "1")
		select {
		case err := <-done:
			t.Errorf("a commit did not wait for the standby: %v", err)
		default:
		}
		if err := s.Resume(); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	named := startPostgres(t, Options{Settings: []string{"synchronous_standby_names=nobody", "synchronous_commit=local"}})
	if _, err := named.StartStandby(t.Context(), StandbyOptions{Synchronous: true}); err == nil || !strings.Contains(err.Error(), "of its own") {
		t.Errorf("got %v", err)
	}
}

func TestPostgresAddressWith(t *testing.T) {
	p := startPostgres(t, Options{})
	s := startStandby(t, p, StandbyOptions{})
	u, err := url.Parse(p.AddressWith(s))
	if err != nil || u.Host != p.Node.Address()+","+s.Node.Address() {
		t.Errorf("%s, %v", p.AddressWith(s), err)
	}
	conn, err := pgx.Connect(t.Context(), s.AddressWith(p)) // the standby first
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if got := query(t, conn, "SELECT pg_is_in_recovery()::text"); got != "false" {
		t.Error("the standby was chosen for writing")
	}
}

func TestPostgresStandbyThatCannotStart(t *testing.T) {
	p := startPostgres(t, Options{})
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("assay-test-%d-standby", os.Getpid()))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.StartStandby(ctx, StandbyOptions{Dir: dir}); err == nil {
		t.Error("a context that is over started a standby")
	}
	if server.Exists(dir) {
		t.Error("its folder is still there")
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := p.StartStandby(t.Context(), StandbyOptions{}); err == nil || strings.Contains(err.Error(), p.options.Password) {
		t.Errorf("a standby of nothing: %v", err)
	}
	empty := &Server{programs: t.TempDir()}
	if _, err := empty.StartStandby(t.Context(), StandbyOptions{}); !errors.As(err, new(*server.MissingError)) {
		t.Errorf("without pg_basebackup: %v", err)
	}
}
