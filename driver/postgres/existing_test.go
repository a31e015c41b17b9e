package postgres

import (
	"context"
	"testing"

	"assay/driver/drivertest"
	"assay/internal/expect"
)

// TestExisting works on tables that somebody else has made, in the schema public.
func TestExisting(t *testing.T) {
	const name = "theirs"
	exec(t, admin(t), `CREATE DATABASE `+name)
	t.Cleanup(func() { exec(t, admin(t), `DROP DATABASE `+name+` WITH (FORCE)`) })
	conn := connectTo(t, address(t, database(name)))
	for _, statement := range []string{
		`CREATE TABLE usertable (YCSB_KEY VARCHAR(255) PRIMARY KEY, FIELD0 TEXT, FIELD1 TEXT)`,
		`CREATE TABLE crooked (YCSB_KEY VARCHAR(255) PRIMARY KEY, FIELD0 INTEGER)`,
		`CREATE TABLE others (id INTEGER)`, `INSERT INTO others VALUES (7)`,
		`INSERT INTO usertable VALUES ('user1', 'one', 'two')`,
	} {
		exec(t, conn, statement)
	}
	for _, mode := range []string{"", "exec"} {
		to := target(t, database(name))
		if mode != "" {
			to = target(t, database(name), parameter("default_query_exec_mode", mode))
		}
		drivertest.RunExisting(t, drivertest.Existing{Open: Open, Target: to, Key: "ycsb_key", Others: func(t *testing.T) (all string) {
			expect.NoError(t, conn.QueryRow(context.Background(), `SELECT
				(SELECT string_agg(n.nspname || '.' || relname || relkind::text || relfilenode || coalesce(array_to_string(reloptions, ','), ''), ';' ORDER BY c.oid)
					FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname NOT LIKE 'pg_%' AND nspname <> 'information_schema')
				|| (SELECT string_agg(attrelid::text || attname || atttypid, ';' ORDER BY attrelid, attnum) FROM pg_attribute WHERE attrelid >= 16384 AND attnum > 0)
				|| (SELECT string_agg(nspname, ';' ORDER BY oid) FROM pg_namespace)
				|| (SELECT string_agg(id::text, ';') FROM others)`).Scan(&all))
			return all
		}})
		exec(t, conn, `DELETE FROM usertable WHERE ycsb_key = 'user2'; UPDATE usertable SET field1 = 'two'`)
	}
}
