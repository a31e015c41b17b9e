package pgbouncer

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/cluster/postgres"
	"assay/cluster/server"
	"assay/internal/expect"
)

const secret = `pass"wörd`

func startServer(t *testing.T) *postgres.Server {
	t.Helper()
	return expect.Started(t, postgres.Start, postgres.Options{User: "assay", Password: secret})
}

func startPooler(t *testing.T, mode string, before *postgres.Server) *Pooler {
	t.Helper()
	p, err := New(Options{Log: filepath.Join(t.TempDir(), "pgbouncer.log"), User: "assay", Password: secret, Mode: mode})
	expect.NoError(t, err)
	expect.AtEnd(t, p.Close)
	expect.NoError(t, p.Start(expect.Patiently(t), before.Node))
	return p
}

// TestAPoolerBeforeAServerThatIsLost lets clients through as soon as the server is back.
func TestAPoolerBeforeAServerThatIsLost(t *testing.T) {
	behind := startServer(t)
	for _, mode := range []string{"transaction", "session"} {
		t.Run(mode, func(t *testing.T) {
			p := startPooler(t, mode, behind)
			if p.Mode() != mode || p.Size() != DefaultSize || !strings.HasPrefix(p.Version(), "PgBouncer ") {
				t.Errorf("%s in %s mode with %d connections", p.Version(), p.Mode(), p.Size())
			}
			expect.NoError(t, p.Ready(expect.Patiently(t)), behind.Kill())
			if rows, err := p.query(t.Context(), p.Address(""), "SELECT 1"); err == nil {
				t.Errorf("a server that was killed answers %v", rows)
			}
			expect.NoError(t, behind.Restart(expect.Patiently(t)), p.Ready(expect.Patiently(t)))
			expect.NoError(t, p.Kill(), p.Restart(expect.Patiently(t)), p.Ready(expect.Patiently(t)))
		})
	}
}

// TestAPoolerKeepsThePassword: clients need it, and nothing shows it.
func TestAPoolerKeepsThePassword(t *testing.T) {
	behind := startServer(t)
	p := startPooler(t, "", behind)
	expect.NoError(t, p.Ready(expect.Patiently(t)))
	wrong := &Pooler{Node: p.Node, options: Options{User: "assay", Password: "another"}}
	for _, address := range []string{wrong.Address(""), wrong.url("pgbouncer", "")} {
		if rows, err := p.query(expect.Patiently(t), address, "SHOW VERSION"); err == nil || strings.Contains(err.Error(), "another") {
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

func TestAPoolerThatCannotStart(t *testing.T) {
	p, err := New(Options{Log: filepath.Join(t.TempDir(), "pgbouncer.log"), User: "assay", Password: secret, Mode: "never"})
	expect.NoError(t, err)
	expect.AtEnd(t, p.Close)
	if err := p.Start(expect.Patiently(t), &server.Node{Host: "127.0.0.1", Port: 1}); err == nil || !strings.Contains(err.Error(), "pool_mode") {
		t.Errorf("got %v", err)
	}
}
