package sqlite_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"

	"assay/driver/drivertest"
	"assay/driver/sqlite"
	"assay/internal/expect"
	"assay/store"
)

// TestExisting uses another program's file and keeps its journal mode.
func TestExisting(t *testing.T) {
	for _, journal := range []string{"delete", "wal"} {
		t.Run(journal, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "theirs.db")
			db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)")
			expect.NoError(t, err)
			expect.AtEnd(t, db.Close)
			for _, statement := range []string{
				"PRAGMA journal_mode = " + journal,
				"CREATE TABLE usertable (YCSB_KEY VARCHAR(255) PRIMARY KEY, FIELD0 TEXT, FIELD1 TEXT)",
				"CREATE TABLE crooked (YCSB_KEY VARCHAR(255) PRIMARY KEY, FIELD0 INTEGER)",
				"CREATE TABLE others (id INTEGER)", "INSERT INTO others VALUES (7)",
				"CREATE TABLE `order` (YCSB_KEY TEXT PRIMARY KEY, FIELD0 TEXT, FIELD1 TEXT) STRICT, WITHOUT ROWID",
				"CREATE TABLE triggered (YCSB_KEY TEXT PRIMARY KEY, FIELD0 TEXT, FIELD1 TEXT)", "CREATE VIEW seen AS SELECT * FROM usertable",
				"CREATE TRIGGER dropping BEFORE UPDATE ON triggered BEGIN SELECT RAISE(IGNORE); END",
				"CREATE TABLE lenient (YCSB_KEY TEXT PRIMARY KEY ON CONFLICT IGNORE, FIELD0 TEXT, FIELD1 TEXT)",
				"CREATE TABLE made (YCSB_KEY TEXT PRIMARY KEY, FIELD0 TEXT, FIELD1 TEXT AS (field0 || '!'))",
				"CREATE UNIQUE INDEX once ON usertable (FIELD0)",
				"INSERT INTO usertable VALUES ('user1', 'one', 'two')", "INSERT INTO `order` VALUES ('user1', 'one', 'two')",
			} {
				_, err := db.Exec(statement)
				expect.NoError(t, err)
			}
			drivertest.RunExisting(t, drivertest.Existing{Open: sqlite.Open, Target: store.Target{Address: "sqlite:" + path}, Key: "YCSB_KEY", Beside: "unique index once",
				Altered: map[string]string{"triggered": "trigger dropping", "seen": "view", "lenient": "ON CONFLICT", "made": "FIELD1 is generated"},
				Others: func(t *testing.T) string {
					var definitions, mode, id string
					var sum int
					expect.NoError(t, db.QueryRow("SELECT group_concat(sql, ';'), (SELECT sum(id) FROM others) FROM sqlite_schema").Scan(&definitions, &sum),
						db.QueryRow("PRAGMA journal_mode").Scan(&mode), db.QueryRow("PRAGMA application_id").Scan(&id))
					return fmt.Sprintln(definitions, sum, mode, id)
				}})
		})
	}
}
