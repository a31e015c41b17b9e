package postgres

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"assay/internal/expect"
)

// TestBackupAndRestore: a backup is complete, and the archive restores a later moment.
func TestBackupAndRestore(t *testing.T) {
	at, err := os.MkdirTemp("", "assay-test-") // t.TempDir lets no other user in
	expect.NoError(t, err, os.Chmod(at, 0o711))
	expect.AtEnd(t, func() error { return os.RemoveAll(at) })
	p := expect.Started(t, Start, Options{Archive: filepath.Join(at, "archive's 100%")})
	expect.NoError(t, p.CheckBackup("", true))
	conn := connect(t, p)
	execute(t, conn, "CREATE TABLE t AS SELECT 1 AS n")
	by, err := p.BackUp(t.Context(), 0, "", filepath.Join(at, "backup"))
	if err != nil || by != "pg_basebackup" {
		t.Fatalf("%q, %v", by, err)
	}
	execute(t, conn, "INSERT INTO t VALUES (2)")
	moment := time.Now().Truncate(time.Microsecond)
	execute(t, conn, "INSERT INTO t VALUES (3)")
	for want, until := range map[string]time.Time{"1": {}, "2": moment} {
		address, end, err := p.Restore(t.Context(), filepath.Join(at, "backup"), filepath.Join(at, "restored-"+want), until)
		expect.NoError(t, err)
		restored, err := pgx.Connect(t.Context(), address)
		expect.NoError(t, err)
		if got := query(t, restored, "SELECT count(*)::text FROM t"); got != want {
			t.Errorf("%v: %s rows, want %s", until, got, want)
		}
		execute(t, restored, "INSERT INTO t VALUES (9)") // it takes writes
		expect.NoError(t, restored.Close(t.Context()))
		expect.NoError(t, end())
	}
	if got := query(t, conn, "SELECT count(*)::text FROM t"); got != "3" {
		t.Errorf("the server has %s rows", got)
	}
}
