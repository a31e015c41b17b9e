package runner

import (
	"path/filepath"
	"strings"
	"testing"

	"assay/workload/script"
)

// TestATableWithoutTransactions: a rollback's remains do not count as setup.
func TestATableWithoutTransactions(t *testing.T) {
	t.Parallel() // it mostly waits
	c := onServers(t, "mariadb:1")
	config := listings()["pgbench"]
	config.SetupText = "CREATE TABLE journal (id bigint PRIMARY KEY, amount bigint) ENGINE=MyISAM;"
	config.Text = "-- assay: counted journal:\nBEGIN;\nINSERT INTO journal VALUES (:operation_id, 1);\nEND;\n"
	s := small(c.Address(), 3, 10)
	become(&s, script.Definition())
	s.Config = &config
	_, err := Run(t.Context(), s, Options{Version: "test", Out: filepath.Join(t.TempDir(), "run"), Progress: &diary{}})
	if err == nil || !strings.Contains(err.Error(), "MyISAM") || strings.Contains(err.Error(), "as start") {
		t.Errorf("the run ended with %v", err)
	}
}
