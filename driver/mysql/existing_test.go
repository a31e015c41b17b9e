package mysql

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"assay/driver/drivertest"
	"assay/internal/expect"
	"assay/store"
	"assay/workload/script"
)

// TestExisting uses a user's tables in the address's database.
func TestExisting(t *testing.T) {
	const name = "theirs"
	conn := admin(t)
	exec(t, conn, `CREATE DATABASE `+name)
	t.Cleanup(func() { exec(t, admin(t), `DROP DATABASE `+name) })
	for _, statement := range []string{
		`CREATE TABLE theirs.usertable (YCSB_KEY VARCHAR(255) PRIMARY KEY, FIELD0 TEXT, FIELD1 TEXT)`,
		`CREATE TABLE theirs.crooked (YCSB_KEY VARCHAR(255) PRIMARY KEY, FIELD0 INTEGER)`,
		`CREATE TABLE theirs.others (id INTEGER)`, `INSERT INTO theirs.others VALUES (7)`,
		"CREATE TABLE theirs.`order` LIKE theirs.usertable", `CREATE TABLE theirs.triggered LIKE theirs.usertable`, `CREATE VIEW theirs.seen AS SELECT * FROM theirs.usertable`,
		`CREATE TABLE theirs.merged (YCSB_KEY VARCHAR(50) PRIMARY KEY, FIELD0 TEXT, FIELD1 TEXT) ENGINE=MRG_MyISAM UNION=()`,
		`CREATE TABLE theirs.made (YCSB_KEY VARCHAR(255) PRIMARY KEY, FIELD0 TEXT, FIELD1 TEXT AS (concat(field0, '!')) STORED)`,
		`ALTER TABLE theirs.usertable ADD CONSTRAINT short CHECK (length(field0) < 9)`,
		`CREATE TRIGGER theirs.tidy BEFORE UPDATE ON theirs.triggered FOR EACH ROW SET NEW.field1 = lower(NEW.field1)`,
		`INSERT INTO theirs.usertable VALUES ('user1', 'one', 'two')`, "INSERT INTO theirs.`order` VALUES ('user1', 'one', 'two')",
		"ALTER TABLE theirs.`order` ADD COLUMN kind ENUM('a', 'b') NOT NULL, ADD SYSTEM VERSIONING",
	} {
		exec(t, conn, statement)
	}
	to := target()
	to.Address = strings.Replace(to.Address, "/?", "/"+name+"?", 1)
	drivertest.RunExisting(t, drivertest.Existing{Open: Open, Target: to, Key: "YCSB_KEY", Beside: "constraint short", Altered: map[string]string{
		"triggered": "trigger tidy", "merged": "engine MRG_MyISAM", "seen": "view", "made": "FIELD1 is generated",
	}, Others: func(t *testing.T) string {
		tables := value(t, conn, `SELECT group_concat(table_name, engine, coalesce(create_time, ''), coalesce(table_comment, '') ORDER BY table_name)
			FROM information_schema.tables WHERE table_schema = 'theirs'`)
		columns := value(t, conn, `SELECT group_concat(table_name, column_name, column_type, is_nullable, column_key ORDER BY table_name, ordinal_position)
			FROM information_schema.columns WHERE table_schema = 'theirs'`)
		databases := value(t, conn, `SELECT group_concat(schema_name ORDER BY schema_name) FROM information_schema.schemata`)
		return fmt.Sprintln(tables, columns, databases, value(t, conn, `SELECT sum(id) FROM theirs.others`))
	}})
}

// TestTrialOnLastingTables: before a run on a user's tables nothing is written to one without
// transactions, not even by a trigger.
func TestTrialOnLastingTables(t *testing.T) {
	const name = "lasting"
	conn := admin(t)
	exec(t, conn, `CREATE DATABASE `+name)
	t.Cleanup(func() { exec(t, admin(t), `DROP DATABASE `+name) })
	for _, statement := range []string{
		`CREATE TABLE lasting.plain (id INTEGER)`, `CREATE TABLE lasting.old (id INTEGER) ENGINE=MyISAM`, `CREATE TABLE lasting.newer (id INTEGER) ENGINE=Aria`,
		`CREATE TRIGGER lasting.audit AFTER INSERT ON lasting.plain FOR EACH ROW INSERT INTO lasting.old VALUES (NEW.id)`,
	} {
		exec(t, conn, statement)
	}
	to := target()
	to.Address = strings.Replace(to.Address, "/?", "/"+name+"?", 1)
	to.Existing = true
	for table, refused := range map[string]string{"plain": "", "old": "table old has no transactions", "lasting.newer": "table lasting.newer has no transactions"} {
		c := script.Defaults()
		text, err := json.Marshal("-- assay: invariant few at_most 1000000: SELECT count(*) FROM lasting.plain\nBEGIN;\nINSERT INTO " + table + " (id) VALUES (1);\nEND;\n")
		expect.NoError(t, err, json.Unmarshal(text, &c.Text))
		c.File = "x.sql"
		c.UseExisting()
		expect.NoError(t, c.Validate())
		schema := script.Schema()
		schema.Existing = true
		of := to
		of.ReadOnly, of.Written = c.Touched()
		db, err := Open(t.Context(), of, schema)
		expect.NoError(t, err)
		expect.AtEnd(t, db.Close)
		existing, err := store.OnExisting(t.Context(), db, of, true)
		expect.NoError(t, err)
		work, err := c.Open(t.Context(), existing, 1, 1)
		expect.NoError(t, err)
		err = work.Create(t.Context(), store.Marker{Run: "r", Workload: script.Name, Created: time.Now()})
		if refused == "" {
			expect.NoError(t, err)
		} else if wrong := (*script.Error)(nil); !errors.As(err, &wrong) || !strings.Contains(wrong.Reason, refused) {
			t.Errorf("%s: %v; want it refused: %s", table, err, refused)
		}
		if rows := value(t, conn, `SELECT (SELECT count(*) FROM lasting.plain) + (SELECT count(*) FROM lasting.old) + (SELECT count(*) FROM lasting.newer)`); rows != "0" {
			t.Errorf("%s: %s rows were left", table, rows)
		}
	}
}
