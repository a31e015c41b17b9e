package postgres

import (
	"net/url"
	"os"
	programs "os/exec"
	"path/filepath"
	"testing"

	cluster "assay/cluster/postgres"
	"assay/driver/drivertest"
	"assay/internal/expect"
	"assay/store"
	"assay/workload/entity"
)

// TestLogReceivers: a program that archives the log as it is written is no standby. Nobody waits for
// it to replay anything, and it is not counted.
func TestLogReceivers(t *testing.T) {
	receive(t)
	conn := admin(t)
	for streams := false; !streams && t.Context().Err() == nil; {
		expect.NoError(t, conn.QueryRow(t.Context(), `SELECT count(*) > 0 FROM pg_stat_replication
			WHERE state = 'streaming' AND write_lsn IS NOT NULL AND replay_lsn IS NULL`).Scan(&streams))
	}
	db, err := openSchema(t.Context(), target(t), entity.Schema())
	expect.NoError(t, err)
	defer db.Close()
	expect.NoError(t, db.Create(t.Context(), store.Marker{Workload: "entity", Run: "one"}))
	product, err := db.Describe(t.Context())
	if got := drivertest.Value(product.Settings, "standbys"); err != nil || got != "0" || product.Topology.Nodes != 1 {
		t.Errorf("standbys: %q, %+v, %v", got, product.Topology, err)
	}
	expect.NoError(t, db.Drop(t.Context()))
}

// receive starts pg_receivewal on the test's server, until the test ends.
func receive(t *testing.T) {
	t.Helper()
	folder, err := cluster.FindPrograms("")
	expect.NoError(t, err)
	u, err := url.Parse(server.Address())
	expect.NoError(t, err)
	password, _ := u.User.Password()
	receiver := programs.Command(filepath.Join(folder, "pg_receivewal"), "--directory="+t.TempDir(), "--no-loop", "--no-password",
		"--host="+u.Hostname(), "--port="+u.Port(), "--username="+u.User.Username())
	receiver.Env = append(os.Environ(), "PGPASSWORD="+password)
	expect.NoError(t, receiver.Start())
	t.Cleanup(func() {
		_ = receiver.Process.Kill()
		_ = receiver.Wait() // it was killed
	})
}
