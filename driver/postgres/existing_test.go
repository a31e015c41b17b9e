package postgres

import (
	"context"
	"errors"
	"strings"
	"testing"

	"assay/driver/drivertest"
	"assay/internal/expect"
	"assay/store"
)

func TestExisting(t *testing.T) {
	const name = "theirs"
	exec(t, admin(t), `CREATE DATABASE `+name)
	exec(t, admin(t), `CREATE ROLE reader`)
	t.Cleanup(func() { exec(t, admin(t), `DROP ROLE reader`) })
	t.Cleanup(func() { exec(t, admin(t), `DROP DATABASE `+name+` WITH (FORCE)`) })
	conn := connectTo(t, address(t, database(name)))
	for _, statement := range []string{
		`CREATE TABLE usertable (YCSB_KEY VARCHAR(255) PRIMARY KEY, FIELD0 TEXT, FIELD1 TEXT)`,
		`CREATE TABLE crooked (YCSB_KEY VARCHAR(255) PRIMARY KEY, FIELD0 INTEGER)`,
		`CREATE TABLE others (id INTEGER)`, `INSERT INTO others VALUES (7)`,
		`ALTER TABLE usertable ADD CONSTRAINT short CHECK (length(field0) < 9)`,
		`CREATE TABLE "order" (LIKE usertable INCLUDING INDEXES)`, `CREATE TABLE triggered (LIKE usertable INCLUDING INDEXES)`,
		`CREATE TABLE ruled (LIKE usertable INCLUDING INDEXES)`, `CREATE TABLE hidden (LIKE usertable INCLUDING INDEXES)`,
		`CREATE TABLE parent (LIKE usertable INCLUDING INDEXES)`, `CREATE TABLE younger () INHERITS (parent)`, `CREATE VIEW seen AS SELECT * FROM usertable`,
		`CREATE TABLE parted (ycsb_key text PRIMARY KEY, field0 text, field1 text) PARTITION BY HASH (ycsb_key)`, `CREATE TABLE part PARTITION OF parted FOR VALUES WITH (MODULUS 1, REMAINDER 0)`,
		`CREATE TABLE made (ycsb_key text PRIMARY KEY, field0 text, field1 text GENERATED ALWAYS AS (field0 || '!') STORED)`,
		`CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'`,
		`CREATE TRIGGER refusing BEFORE UPDATE ON triggered FOR EACH ROW EXECUTE FUNCTION nothing()`, `CREATE TRIGGER below BEFORE UPDATE ON part FOR EACH ROW EXECUTE FUNCTION nothing()`,
		`CREATE RULE dropping AS ON UPDATE TO ruled DO INSTEAD NOTHING`,
		`ALTER TABLE hidden ENABLE ROW LEVEL SECURITY`, `GRANT SELECT ON hidden, usertable TO reader`,
		`CREATE POLICY early ON hidden USING (field0 < 'x')`,
		`INSERT INTO usertable VALUES ('user1', 'one', 'two')`, `INSERT INTO "order" VALUES ('user1', 'one', 'two')`,
		`CREATE TRIGGER applying BEFORE UPDATE ON usertable FOR EACH ROW EXECUTE FUNCTION nothing()`, `ALTER TABLE usertable ENABLE REPLICA TRIGGER applying`,
	} {
		exec(t, conn, statement)
	}
	for _, mode := range []string{"", "exec"} {
		to := target(t, database(name))
		if mode != "" {
			to = target(t, database(name), parameter("default_query_exec_mode", mode))
		}
		drivertest.RunExisting(t, drivertest.Existing{Open: Open, Target: to, Key: "ycsb_key", Beside: "constraint short", Altered: map[string]string{
			"triggered": "trigger refusing", "ruled": "rule dropping", "parent": "child table younger", "seen": "view", "parted": "trigger below", "made": "field1 is generated",
		}, Others: func(t *testing.T) (all string) {
			expect.NoError(t, conn.QueryRow(context.Background(), `SELECT
				(SELECT string_agg(n.nspname || '.' || relname || relkind::text || relfilenode || coalesce(array_to_string(reloptions, ','), ''), ';' ORDER BY c.oid)
					FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname NOT LIKE 'pg_%' AND nspname <> 'information_schema')
				|| (SELECT string_agg(attrelid::text || attname || atttypid, ';' ORDER BY attrelid, attnum) FROM pg_attribute WHERE attrelid >= 16384 AND attnum > 0)
				|| (SELECT string_agg(nspname, ';' ORDER BY oid) FROM pg_namespace)
				|| (SELECT string_agg(id::text, ';') FROM others)`).Scan(&all))
			return all
		}})
		exec(t, conn, `DELETE FROM usertable WHERE ycsb_key = 'user2'; UPDATE usertable SET field1 = 'two'; DELETE FROM "order" WHERE ycsb_key = 'user2'; UPDATE "order" SET field1 = 'two'`)
	}
	testNamed(t, target(t, database(name), parameter("options", "-c role=reader")), map[string]string{"usertable": "", "hidden": "policy early"})
	testNamed(t, target(t, database(name), parameter("session_replication_role", "replica")), map[string]string{"usertable": "trigger applying", "triggered": ""})
}

// testNamed expects that what changes a table's rows unseen is named; by an empty word that nothing does.
func testNamed(t *testing.T, to store.Target, words map[string]string) {
	for table, word := range words {
		db, err := Open(t.Context(), to, store.Schema{Workload: "existing", Existing: true, Reads: true, Tables: []store.Table{{Name: table, Columns: []store.Column{
			{Name: "ycsb_key", Type: store.ASCII, Length: 20}, {Name: "field0", Type: store.String, Length: 10}, {Name: "field1", Type: store.String, Length: 10}}}}})
		expect.NoError(t, err)
		expect.AtEnd(t, db.Close)
		to.Written = []string{table}
		_, err = store.OnExisting(t.Context(), db, to, false)
		if word == "" {
			expect.NoError(t, err)
		} else if _, is := errors.AsType[*store.ShapeError](err); !is || !strings.Contains(err.Error(), word) {
			t.Errorf("%v does not name %s", err, word)
		}
	}
}
