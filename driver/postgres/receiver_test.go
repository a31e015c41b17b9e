package postgres

import (
	"bytes"
	"context"
	"errors"
	"net/url"
	"os"
	programs "os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	cluster "assay/cluster/postgres"
	nodes "assay/cluster/server"
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
	until(t, conn, "the receiver's stream", `SELECT count(*) > 0 FROM pg_stat_replication
		WHERE state = 'streaming' AND write_lsn IS NOT NULL AND replay_lsn IS NULL`)
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
	var said bytes.Buffer
	receiver.Stderr = &said
	expect.NoError(t, receiver.Start())
	t.Cleanup(func() {
		_ = receiver.Process.Kill()
		if err := receiver.Wait(); t.Failed() {
			t.Logf("pg_receivewal: %v, %s", err, &said)
		}
	})
}

// until waits until a query's only value is true.
func until(t *testing.T, conn *pgx.Conn, what, query string, args ...any) {
	t.Helper()
	expect.NoError(t, nodes.Until(expect.Patiently(t), 20*time.Millisecond, what, func(ctx context.Context) error {
		is := false
		if err := conn.QueryRow(ctx, query, args...).Scan(&is); err != nil {
			return nodes.Permanent(err)
		}
		if !is {
			return errors.New("it has not come yet")
		}
		return nil
	}))
}
