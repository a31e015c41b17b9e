package pgbouncer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"assay/cluster/postgres"
	"assay/cluster/server"
	"assay/internal/expect"
)

const secret = `pass"wörd`

func limited(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func startServer(t *testing.T) *postgres.Server {
	t.Helper()
	p, err := postgres.Start(limited(t), postgres.Options{User: "assay", Password: secret})
	expect.NoError(t, err)
	expect.AtEnd(t, p.Close)
	return p
}

// startPooler starts a pooler before a server and counts what it announces.
func startPooler(t *testing.T, mode string, before *postgres.Server) (*Pooler, *atomic.Int64) {
	t.Helper()
	announced := new(atomic.Int64)
	p, err := New(Options{Log: filepath.Join(t.TempDir(), "pgbouncer.log"), User: "assay", Password: secret, Mode: mode,
		Announce: func(text string) { announced.Add(1); t.Log(text) }})
	expect.NoError(t, err)
	expect.AtEnd(t, p.Close)
	p.Lead("n1", before.Node)
	expect.NoError(t, p.Start(limited(t)))
	return p, announced
}

// wantBehind waits until clients of the pooler reach this server.
func wantBehind(t *testing.T, p *Pooler, want *postgres.Server) {
	t.Helper()
	err := server.Until(limited(t), 20*time.Millisecond, "the other server", func(ctx context.Context) error {
		rows, err := p.query(ctx, p.Address(""), "SELECT inet_server_port()")
		if err == nil && rows[0][0] != strconv.Itoa(want.Port) {
			err = fmt.Errorf("clients reach port %s", rows[0][0])
		}
		return err
	})
	expect.NoError(t, err)
}

func TestClientsAreLedToAnotherServer(t *testing.T) {
	first, second := startServer(t), startServer(t)
	for _, mode := range []string{"transaction", "session"} {
		t.Run(mode, func(t *testing.T) {
			p, announced := startPooler(t, mode, first)
			if p.Mode() != mode || p.Size() != DefaultSize || !strings.HasPrefix(p.Version(), "PgBouncer ") {
				t.Errorf("%s in %s mode with %d connections", p.Version(), p.Mode(), p.Size())
			}
			wantBehind(t, p, first)
			client, err := pgconn.Connect(limited(t), p.Address(""))
			expect.NoError(t, err)
			defer client.Close(context.Background())
			_, err = client.Exec(limited(t), "SET application_name = 'stays'; SELECT 1").ReadAll()
			expect.NoError(t, err)
			p.Lead("n2", second.Node)
			wantBehind(t, p, second)
			// A session of the first server does not go on there.
			expect.NoError(t, server.Until(limited(t), 20*time.Millisecond, "the session", func(ctx context.Context) error {
				results, err := client.Exec(ctx, "SELECT inet_server_port()").ReadAll()
				if err == nil && string(results[0].Rows[0][0]) == strconv.Itoa(first.Port) {
					return errors.New("the session is still on the first server")
				}
				return nil
			}))

			expect.NoError(t, p.Pause())
			p.Lead("n1", first.Node)
			expect.NoError(t, p.Resume())
			wantBehind(t, p, first)

			expect.NoError(t, p.Kill())
			p.Lead("n2", second.Node)
			expect.NoError(t, p.Restart(limited(t)))
			wantBehind(t, p, second)
			expect.NoError(t, p.Ready(limited(t)))
			if announced.Load() < 2 {
				t.Errorf("%d announcements", announced.Load())
			}
		})
	}
}

// TestAPoolerKeepsThePassword: it asks clients for it, and tells it to nobody.
func TestAPoolerKeepsThePassword(t *testing.T) {
	behind := startServer(t)
	p, _ := startPooler(t, "", behind)
	wantBehind(t, p, behind)
	wrong := &Pooler{Node: p.Node, options: Options{User: "assay", Password: "another"}}
	for _, address := range []string{wrong.Address(""), wrong.url("pgbouncer", "")} {
		if rows, err := p.query(limited(t), address, "SHOW VERSION"); err == nil || strings.Contains(err.Error(), "another") {
			t.Errorf("with another password: %v, %v", rows, err)
		}
	}
	arguments, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.PID()))
	expect.NoError(t, err)
	settings, err := os.ReadFile(p.file("pgbouncer.ini"))
	expect.NoError(t, err)
	log, err := os.ReadFile(p.Log)
	expect.NoError(t, err)
	for _, text := range [][]byte{arguments, settings, log} {
		if len(text) == 0 || strings.Contains(string(text), "wörd") {
			t.Errorf("%s", text)
		}
	}
	users, err := os.Stat(p.file("users"))
	if err != nil || users.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", users, err)
	}
	pid := server.Identify(p.PID())
	expect.NoError(t, p.Close())
	if pid.Alive() || server.Exists(p.Dir) {
		t.Errorf("process %v or folder %s is left", pid, p.Dir)
	}
}

// TestAPoolerThatCannotStart says why.
func TestAPoolerThatCannotStart(t *testing.T) {
	p, err := New(Options{Log: filepath.Join(t.TempDir(), "pgbouncer.log"), User: "assay", Password: secret, Mode: "never"})
	expect.NoError(t, err)
	expect.AtEnd(t, p.Close)
	p.Lead("n1", &server.Node{Host: "127.0.0.1", Port: 1})
	if err := p.Start(limited(t)); err == nil || !strings.Contains(err.Error(), "pool_mode") {
		t.Errorf("got %v", err)
	}
}
