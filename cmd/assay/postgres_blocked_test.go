package main

import (
	"path/filepath"
	"strings"
	"testing"

	"assay/cluster/postgres"
	"assay/internal/expect"
)

// testBlocked has others keep a run from going on: it ends by itself, and says who does.
func testBlocked(t *testing.T, server *postgres.Server) {
	address := newDatabase(t, server, "blocked")
	dir := t.TempDir()
	run := func(folder string, more ...string) ended {
		return ends(t, command{dir: dir, env: []string{"ASSAY_DB=" + address},
			args: append([]string{"run", "bank", "--accounts", "100", "--ops", "100", "--out", folder}, more...)})
	}
	run("run").sound(t, filepath.Join(dir, "run"))
	blocked := func(folder string, parts ...string) {
		t.Helper()
		said := run(folder, "--connect-timeout", "2s").want(t, exitCannotRun).complaint(t)
		expect.Text(t, "the complaint", said, parts...)
		if strings.Contains(said, "hidden") {
			t.Errorf("%q tells what others have written", said)
		}
	}
	for _, table := range []string{"assay_lease", "assay_mark", "account"} {
		conn := connect(t, address)
		execute(t, conn, "BEGIN; LOCK TABLE assay_bank."+table+"; SELECT 'hidden'")
		blocked(table, "of process", "idle in transaction", "pg_terminate_backend", "LOCK TABLE assay_bank."+table)
		execute(t, conn, "ROLLBACK")
	}
	admin := connect(t, address)
	execute(t, admin, "ALTER SYSTEM SET synchronous_standby_names = 'ghost'")
	execute(t, admin, "SELECT pg_reload_conf()")
	t.Cleanup(func() { // whatever else happens
		execute(t, connect(t, address), "ALTER SYSTEM RESET synchronous_standby_names")
		execute(t, connect(t, address), "SELECT pg_reload_conf()")
	})
	blocked("standby", "synchronous standby", "ghost")
}
