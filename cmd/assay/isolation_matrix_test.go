package main

import (
	"encoding/json"
	"syscall"
	"testing"

	"assay/cluster/postgres"
	"assay/internal/expect"
)

// testIsolationMatrix: the rows are as documented, the password is nowhere, and
// nothing is left, not even of a matrix that was interrupted.
func testIsolationMatrix(t *testing.T, server *postgres.Server) {
	address := newDatabase(t, server, "matrix")
	dir := t.TempDir()
	matrix := func(args ...string) *process {
		return start(t, command{dir: dir, env: []string{"ASSAY_DB=" + address}, args: append([]string{"isolation-matrix"}, args...)})
	}
	left := func() (schemas int) {
		err := connect(t, address).QueryRow(patiently(t), "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'assay%'").Scan(&schemas)
		if err != nil {
			t.Error(err)
		}
		return schemas
	}

	e := matrix("--json", "--level", "repeatable read", "--level", "serializable").wait().want(t, exitValid)
	keepsSecret(t, e, dir)
	var rows []struct{ Level, Anomaly, Result, Promise string }
	expect.NoError(t, json.Unmarshal([]byte(e.stdout), &rows))
	shown := map[string]string{}
	for _, r := range rows {
		if r.Result == "shown" {
			shown[r.Level] += r.Anomaly + " "
		} else if r.Result != "prevented" {
			t.Errorf("%+v", r)
		}
	}
	if len(rows) != 28 || shown["repeatable read"] != "G2-item G2 G2-two-edges " || shown["serializable"] != "" {
		t.Errorf("%d rows, shown: %v", len(rows), shown)
	}
	if n := left(); n != 0 {
		t.Errorf("%d schemas are left", n)
	}

	cut := matrix()
	cut.until("playing read committed")
	cut.signal(syscall.SIGINT)
	e = cut.wait().want(t, exitNoVerdict)
	expect.Text(t, "interrupted", unwrapped(e.stderr), "interrupted while playing the scripts")
	if n := left(); n != 0 {
		t.Errorf("%d schemas are left of a matrix that was interrupted", n)
	}

	execute(t, connect(t, address), "CREATE SCHEMA assay_isolation")
	expect.Text(t, "a foreign schema", matrix().wait().want(t, exitCannotRun).complaint(t), "not made by assay")
	if n := left(); n != 1 {
		t.Errorf("the foreign schema is gone: %d", n)
	}
}
