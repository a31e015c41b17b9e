//go:build unix

package streamingtest

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"assay/cluster/streaming"
	"assay/internal/expect"
)

// Folder makes a folder below which every user may have files.
func Folder(t *testing.T) string {
	t.Helper()
	at, err := os.MkdirTemp("", "assay-test-") // t.TempDir lets no other user in
	expect.NoError(t, err, os.Chmod(at, 0o711))
	expect.AtEnd(t, func() error { return os.RemoveAll(at) })
	return at
}

// Archived adds an archive whose name tests the quoting for the shell and the server.
func Archived(t *testing.T, p streaming.Placement) streaming.Placement {
	t.Helper()
	below := Folder(t)
	p.Dir, p.Archive = filepath.Join(below, "nodes"), filepath.Join(below, `archive's \100%`)
	return p
}

func backUp(t *testing.T, c Cluster, i int, kept string) {
	t.Helper()
	if by, err := c.BackUp(expect.Patiently(t), i, "", filepath.Join(kept, "backup")); err != nil || by != "pg_basebackup" {
		t.Fatalf("%q, %v", by, err)
	}
}

func killUnderBackup(t *testing.T, c Cluster, i int, kept string) {
	t.Helper()
	expect.NoError(t, c.Nodes()[i].Pause())
	ended := make(chan error)
	go func() {
		_, err := c.BackUp(expect.Patiently(t), i, "", filepath.Join(kept, "cut"))
		ended <- err
	}()
	expect.NoError(t, c.Nodes()[i].Kill())
	if err := <-ended; err == nil {
		t.Error("a node is backed up that was killed")
	}
}

// checkRestored restores the backup, to a moment unless until is zero. The result must have the
// rows, take writes, and have no trace of the program that leads the nodes.
func checkRestored(t *testing.T, c Cluster, kept string, until time.Time, rows int) {
	t.Helper()
	address, end, err := c.Restore(expect.Patiently(t), filepath.Join(kept, "backup"), filepath.Join(kept, "restored"), until)
	expect.NoError(t, err)
	defer func() { expect.NoError(t, end()) }()
	conn, err := pgx.Connect(expect.Patiently(t), address)
	expect.NoError(t, err)
	defer conn.Close(expect.Patiently(t))
	var got int
	if err := conn.QueryRow(expect.Patiently(t), "SELECT count(*) FROM probe").Scan(&got); err != nil || got != rows {
		t.Errorf("to %v %d rows are restored, %v; want %d", until, got, err, rows)
	}
	var led string
	err = conn.QueryRow(expect.Patiently(t), `SELECT concat_ws(' ', current_setting('synchronous_standby_names'), current_setting('primary_conninfo'),
		current_setting('shared_preload_libraries'), current_setting('archive_mode'), current_setting('archive_command'))`).Scan(&led)
	if _, writes := conn.Exec(expect.Patiently(t), "INSERT INTO probe VALUES (-1)"); err != nil || writes != nil {
		t.Errorf("%v, %v", err, writes)
	}
	if want := "   off (disabled)"; led != want {
		t.Errorf("restored with the settings %q", led)
	}
}
