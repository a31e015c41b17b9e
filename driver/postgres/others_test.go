package postgres

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"assay/driver/drivertest"
	"assay/internal/expect"
)

// others are a user's objects in our schema, and on a table in it.
func others(schema string) (all []drivertest.Other) {
	table := func(t *testing.T) (name, column string) {
		t.Helper()
		err := once(t, `SELECT table_name, column_name FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
			WHERE table_schema = $1 AND table_type = 'BASE TABLE' AND table_name NOT IN ('assay_lease')
			ORDER BY table_name = 'assay_mark', table_name, ordinal_position LIMIT 1`, []any{schema}, &name, &column)
		expect.NoError(t, err)
		return name, column
	}
	for _, o := range []struct{ name, make, intact, remove string }{
		{"view public.others", `CREATE VIEW public.others AS SELECT {column} FROM {table}`, `SELECT count(*) FROM public.others`, `DROP VIEW public.others`},
		{"materialized view public.others", `CREATE MATERIALIZED VIEW public.others AS SELECT {column} FROM {table}`, `SELECT count(*) FROM public.others`, `DROP MATERIALIZED VIEW public.others`},
		{"view {schema}.others", `CREATE VIEW {schema}.others AS SELECT 1`, `SELECT count(*) FROM {schema}.others`, `DROP VIEW {schema}.others`},
		{"table {schema}.others", `CREATE TABLE {schema}.others AS SELECT 7 AS n`, `SELECT n FROM {schema}.others`, `DROP TABLE {schema}.others`},
		{"table public.others", `CREATE TABLE public.others () INHERITS ({table})`, `SELECT count(*) FROM public.others`, `DROP TABLE public.others`},
		{"table column public.others.o", `CREATE TABLE public.others (o {table})`, `SELECT count(o) FROM public.others`, `DROP TABLE public.others`},
		{"table constraint others on public.referring", `CREATE TABLE public.referring (id int CONSTRAINT others REFERENCES {schema}.assay_mark (id))`,
			`SELECT conname FROM pg_constraint WHERE conname = 'others'`, `DROP TABLE public.referring`},
		{"sequence {schema}.others", `CREATE SEQUENCE {schema}.others`, `SELECT last_value FROM {schema}.others`, `DROP SEQUENCE {schema}.others`},
		{"type {schema}.others", `CREATE TYPE {schema}.others AS ENUM ('a')`, `SELECT 'a'::{schema}.others`, `DROP TYPE {schema}.others`},
		{"function {schema}.others(integer)", `CREATE FUNCTION {schema}.others(int) RETURNS int LANGUAGE sql AS 'SELECT 1'`, `SELECT {schema}.others(1)`, `DROP FUNCTION {schema}.others`},
		{"function public.others()", `CREATE FUNCTION public.others() RETURNS bigint LANGUAGE sql BEGIN ATOMIC SELECT count({column}) FROM {table}; END`, `SELECT public.others()`, `DROP FUNCTION public.others`},
		{"index {schema}.others", `CREATE INDEX others ON {table} ({column})`, `SELECT '{schema}.others'::regclass`, `DROP INDEX {schema}.others`},
		{"trigger others on", `CREATE TRIGGER others BEFORE TRUNCATE ON {table} EXECUTE FUNCTION suppress_redundant_updates_trigger()`,
			`SELECT tgname FROM pg_trigger WHERE tgname = 'others'`, `DROP TRIGGER others ON {table}`},
		{"rule others on", `CREATE RULE others AS ON DELETE TO {table} DO ALSO NOTHING`, `SELECT rulename FROM pg_rules WHERE rulename = 'others'`, `DROP RULE others ON {table}`},
		{"policy others on", `CREATE POLICY others ON {table}`, `SELECT policyname FROM pg_policies WHERE policyname = 'others'`, `DROP POLICY others ON {table}`},
		{"publication relation", `CREATE PUBLICATION others FOR TABLE {table}`, `SELECT tablename FROM pg_publication_tables WHERE pubname = 'others'`, `DROP PUBLICATION others`},
		{"publication namespace", `CREATE PUBLICATION others FOR TABLES IN SCHEMA {schema}`, `SELECT min(tablename) FROM pg_publication_tables WHERE pubname = 'others'`, `DROP PUBLICATION others`},
	} {
		words := func(t *testing.T, text string) string {
			name, column := table(t)
			return strings.NewReplacer("{schema}", schema, "{table}", schema+"."+name, "{column}", column).Replace(text)
		}
		all = append(all, drivertest.Other{
			Name: strings.ReplaceAll(o.name, "{schema}", schema),
			Make: func(t *testing.T) { alone(t, words(t, o.make)) },
			Intact: func(t *testing.T) {
				var found any
				if err := once(t, words(t, o.intact), nil, &found); err != nil || found == nil {
					t.Errorf("%s was touched: %v, %v", o.name, found, err)
				}
			},
			Remove: func(t *testing.T) { alone(t, words(t, o.remove)) },
		})
	}
	return all
}

// alone runs a statement, and a query of one row, on connections of its own.
func alone(t *testing.T, text string) {
	t.Helper()
	if err := once(t, text, nil); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

func once(t *testing.T, text string, parameters []any, into ...any) error {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), server.Address())
	expect.NoError(t, err)
	defer conn.Close(context.Background())
	if into == nil {
		_, err = conn.Exec(context.Background(), text, parameters...)
		return err
	}
	return conn.QueryRow(context.Background(), text, parameters...).Scan(into...)
}

// othersPlainly are those found without PostgreSQL's own catalog.
func othersPlainly(all []drivertest.Other) (plain []drivertest.Other) {
	for _, o := range all {
		kind, _, _ := strings.Cut(o.Name, " ")
		if o.Name != "function public.others()" && slices.Contains([]string{"view", "materialized", "index", "sequence", "type", "function", "trigger"}, kind) || strings.HasPrefix(o.Name, "table assay_") ||
			strings.HasPrefix(o.Name, "table constraint") {
			plain = append(plain, o)
		}
	}
	return plain
}
