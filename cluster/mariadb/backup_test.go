package mariadb

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/cluster/server"
	"assay/cluster/servertest"
	"assay/internal/expect"
)

// TestBackupAndRestore: a backup of one server, and of a node of a Galera cluster, is complete, and
// no password is visible.
func TestBackupAndRestore(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{"one server": {}, "both engines": {MyRocks: true}, "Galera": shortly(Options{Layout: server.Layout{Nodes: 2}})} {
		t.Run(name, func(t *testing.T) {
			at, err := os.MkdirTemp("", "assay-test-") // t.TempDir lets no other user in
			expect.NoError(t, err, os.Chmod(at, 0o711))
			expect.AtEnd(t, func() error { return os.RemoveAll(at) })
			m := expect.Started(t, Start, o)
			expect.NoError(t, m.CheckBackup("", false))
			if m.CheckBackup("", true) == nil || m.CheckBackup("copy", false) == nil {
				t.Error("what it cannot do is not refused")
			}
			db, last := client(t, m, 0), len(m.Nodes())-1
			for _, text := range []string{"CREATE DATABASE d", "CREATE TABLE d.t (n INT PRIMARY KEY)", "INSERT INTO d.t VALUES (1)"} {
				servertest.Execute(t, db, text)
			}
			expect.NoError(t, m.Settled(expect.Patiently(t)))
			by, err := m.BackUp(expect.Patiently(t), last, "", filepath.Join(at, "backup"))
			if err != nil || by != "mariadb-backup" {
				t.Fatalf("%q, %v", by, err)
			}
			servertest.Execute(t, db, "INSERT INTO d.t VALUES (2)")
			address, end, err := m.Restore(expect.Patiently(t), filepath.Join(at, "backup"), filepath.Join(at, "restored"), time.Time{})
			expect.NoError(t, err)
			for _, line := range servertest.CommandLines(t) {
				if strings.Contains(line, m.login.Password) {
					t.Error("a command line has the password")
				}
			}
			restored := servertest.SQLAt(t, address)
			if got := servertest.Value(t, restored, "SELECT count(*) FROM d.t"); got != "1" {
				t.Errorf("%s rows were restored", got)
			}
			servertest.Execute(t, restored, "INSERT INTO d.t VALUES (9)") // it takes writes
			expect.NoError(t, end())
			if got := servertest.Value(t, db, "SELECT count(*) FROM d.t"); got != "2" {
				t.Errorf("the server has %s rows", got)
			}
		})
	}
}
