package mysql

import (
	"fmt"
	"strings"
	"testing"

	"assay/driver/drivertest"
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
