package mysql

import (
	"context"
	"database/sql"
	"strings"
	"testing"

	"assay/driver/drivertest"
	"assay/internal/expect"
)

// others are a user's objects in our database, and on a table in it.
func others(schema string, admin func(*testing.T) *sql.Conn) (all []drivertest.Other) {
	table := func(t *testing.T, conn *sql.Conn) (name, column string) {
		t.Helper()
		err := conn.QueryRowContext(context.Background(), `SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = ?
			AND table_name NOT IN ('assay_lease', 'others') ORDER BY table_name = 'assay_mark', table_name, ordinal_position LIMIT 1`, schema).Scan(&name, &column)
		expect.NoError(t, err)
		return name, column
	}
	for _, o := range []struct{ name, make, intact, remove string }{
		{"view theirs.others", `CREATE VIEW theirs.others AS SELECT {column} FROM {table}`, `SELECT count(*) FROM theirs.others`, `DROP VIEW theirs.others`},
		{"view {schema}.others", `CREATE VIEW {schema}.others AS SELECT 1`, `SELECT count(*) FROM {schema}.others`, `DROP VIEW {schema}.others`},
		{"table {schema}.others", `CREATE TABLE {schema}.others (n INT)`, `SELECT count(*) FROM {schema}.others`, `DROP TABLE {schema}.others`},
		{"foreign key others on theirs.referring", `CREATE TABLE theirs.referring (id TINYINT, CONSTRAINT others FOREIGN KEY (id) REFERENCES {schema}.assay_mark (id))`,
			`SELECT count(*) FROM information_schema.referential_constraints WHERE constraint_name = 'others' HAVING count(*) = 1`, `DROP TABLE theirs.referring`},
		{"sequence {schema}.others", `CREATE SEQUENCE {schema}.others`, `SELECT table_name FROM information_schema.tables WHERE table_type = 'SEQUENCE' AND table_name = 'others'`, `DROP SEQUENCE {schema}.others`},
		{"procedure {schema}.others", `CREATE PROCEDURE {schema}.others() SELECT 1`, `SELECT name FROM mysql.proc WHERE name = 'others'`, `DROP PROCEDURE {schema}.others`},
		{"function {schema}.others", `CREATE FUNCTION {schema}.others() RETURNS INT RETURN 1`, `SELECT {schema}.others()`, `DROP FUNCTION {schema}.others`},
		{"event {schema}.others", `CREATE EVENT {schema}.others ON SCHEDULE EVERY 1 YEAR DISABLE DO SELECT 1`, `SELECT name FROM mysql.event WHERE name = 'others'`, `DROP EVENT {schema}.others`},
		{"index others on {schema}.", `CREATE INDEX others ON {table} ({column})`, `SELECT DISTINCT index_name FROM information_schema.statistics WHERE index_name = 'others'`, `DROP INDEX others ON {table}`},
		{"trigger {schema}.others", `CREATE TRIGGER {schema}.others BEFORE DELETE ON {table} FOR EACH ROW SET @n = 1`,
			`SELECT trigger_name FROM information_schema.triggers WHERE trigger_name = 'others'`, `DROP TRIGGER {schema}.others`},
	} {
		words := func(t *testing.T, conn *sql.Conn, text string) string {
			name, column := table(t, conn)
			return strings.NewReplacer("{schema}", schema, "{table}", schema+"."+name, "{column}", column).Replace(text)
		}
		all = append(all, drivertest.Other{
			Name: strings.ReplaceAll(o.name, "{schema}", schema),
			Make: func(t *testing.T) {
				conn := admin(t)
				exec(t, conn, `CREATE DATABASE IF NOT EXISTS theirs`)
				exec(t, conn, words(t, conn, o.make))
			},
			Intact: func(t *testing.T) {
				conn := admin(t)
				value(t, conn, words(t, conn, o.intact))
			},
			Remove: func(t *testing.T) {
				conn := admin(t)
				exec(t, conn, words(t, conn, o.remove))
				exec(t, conn, `DROP DATABASE theirs`)
			},
		})
	}
	return all
}
