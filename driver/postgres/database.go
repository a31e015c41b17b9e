package postgres

import (
	"assay/driver/sqldb"
	"assay/store"
)

const preparedPrefix = "assay_"

func (d *dialect) sqlOf(schema string) sqldb.Dialect {
	s := sqldb.Dialect{
		Prefix: schema + ".", Quote: `"`, Reserved: reserved(),
		Types: map[store.Type]string{
			store.Integer: "bigint", store.Boolean: "boolean", store.String: "text", store.ASCII: "text",
			store.UUID: "uuid", store.Ints: "bigint[]",
		},
		NotNull: " NOT NULL", Derived: " " + d.notNull,
		Key:            " CONSTRAINT %s_pkey PRIMARY KEY",
		LateIndexes:    d.lateKeys,
		UpdatedOptions: d.fillfactor,
		Returning:      true,
		ForUpdate:      " FOR UPDATE",
		In:             "= ANY (%s)",
		Upsert:         " ON CONFLICT (%s) DO UPDATE SET ",
		Sum:            "coalesce(sum(%s), 0)::bigint",
		NewList:        "ARRAY[%[3]s::bigint]",
		Append:         "%[2]s.%[1]s || %[3]s::bigint",
	}
	if d.lateKeys {
		s.LateKey = "ALTER TABLE %[2]s ADD CONSTRAINT %[1]s_pkey PRIMARY KEY (%[3]s)"
	}
	return s
}

func (d *dialect) catalogOf(schema string) sqldb.Catalog {
	return sqldb.Catalog{
		Noun:    "schema",
		Foreign: "rename it (ALTER SCHEMA " + schema + " RENAME TO ...), or name another database in the address",
		Owner: `SELECT coalesce((SELECT pg_catalog.pg_get_userbyid(nspowner)::text FROM pg_catalog.pg_namespace
			WHERE nspname = $1 AND NOT pg_catalog.pg_has_role(nspowner, 'USAGE')), ''), current_user::text`,
		OwnerAdvice: hintOwner,
		Advice:      hints(),
		Inspect: `SELECT CASE WHEN NOT EXISTS (SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1) THEN 0
				WHEN count(*) > 0 AND count(*) = count(*) FILTER (WHERE lease) THEN 0 ELSE greatest(1, count(*) FILTER (WHERE NOT lease)) END,
			count(*) FILTER (WHERE mark), count(*) FILTER (WHERE lease)
			FROM (SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid
					AND c.relname = 'assay_mark' AND c.relkind = 'r' AND a.attname = 'mark') AS mark,
				EXISTS (SELECT 1 FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid
					AND c.relname = 'assay_lease' AND a.attname = 'token') AS lease
				FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
				WHERE n.nspname = $1 AND c.relkind <> 'i') AS r`,
		Begin: "BEGIN ISOLATION LEVEL READ COMMITTED", Stepwise: d.stepwise,
		Make: []string{`CREATE SCHEMA IF NOT EXISTS ` + schema},
		Mark: []string{
			`COMMENT ON SCHEMA ` + schema + ` IS 'Made by assay, which drops it at its next run here. The mark is in assay_mark.'`,
			// Rows of a published table can only be updated if it has a key (manual, "Logical
			// Replication", "Publication").
			`CREATE TABLE IF NOT EXISTS ` + schema + `.assay_mark (id smallint PRIMARY KEY, mark jsonb NOT NULL)`,
		},
		Drop: []string{`DROP SCHEMA IF EXISTS ` + schema},
		Tables: `SELECT c.relname::text FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
			WHERE n.nspname = $1 AND c.relkind IN ('r', 'p') AND c.relname NOT IN ('assay_mark', 'assay_lease') ORDER BY 1`,
		Others: d.others,
		Kinds: []string{"view", "materialized view", "table", "foreign table", "sequence", "extension", "aggregate", "function", "procedure",
			"composite type", "type"},
		OtherHint:  "drop it or move it elsewhere, or name another database in the address",
		ReadMark:   "mark::text",
		InsertMark: `INSERT INTO ` + schema + `.assay_mark (id, mark) VALUES (1, $1::text::jsonb)`,
		UpdateMark: `UPDATE ` + schema + `.assay_mark SET mark = $1::text::jsonb WHERE id = 1`,
		Moment:     "timestamptz", Now: "now()", After: "now() + %s * interval '1 microsecond'",
		Microseconds: "(extract(epoch FROM %s) * 1000000)::bigint",
		Stored:       d.stored(),
		Located: `SELECT n.nspname::text, c.relname::text, CASE c.relkind WHEN 'r' THEN '' WHEN 'p' THEN '' WHEN 'v' THEN 'view' ELSE 'relation of another kind' END
			FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = coalesce(to_regclass($1), to_regclass(quote_ident($1)))`,
		LocatedHint: "name the database that has it in the address, or write SCHEMA.TABLE if it is not in the search path",
		Columns: `SELECT column_name::text, data_type::text, coalesce(character_maximum_length, 0)::bigint,
			is_nullable = 'NO' AND column_default IS NULL AND is_identity = 'NO' AND is_generated = 'NEVER',
			is_generated = 'ALWAYS' OR coalesce(identity_generation, '') = 'ALWAYS'
			FROM information_schema.columns WHERE table_schema = $1 AND table_name = $2 ORDER BY ordinal_position`,
		Keys: d.keys(), Attached: d.attached(),
		Refresh: d.refresh, Size: d.size, Sessions: d.sessions, EndSession: d.end,
	}
}

// stored is Catalog.Stored: unlogged tables with their partitions and sequences, foreign tables,
// and tables of other access methods. Only PostgreSQL has these.
func (d *dialect) stored() string {
	if !d.standbys {
		return ""
	}
	return `WITH schema AS (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = $1) SELECT way, name FROM (SELECT c.relname::text AS name, CASE WHEN c.relpersistence = 'u' THEN 'unlogged'
				WHEN c.relpersistence = 't' THEN 'temporary' WHEN c.relkind = 'f' THEN 'foreign'
				WHEN a.amname <> 'heap' AND c.relkind = 'r' THEN 'access method ' || a.amname END AS way
			FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_am a ON a.oid = c.relam
			WHERE c.relkind IN ('r', 'S', 'f') AND c.relname NOT IN ('assay_mark', 'assay_lease') AND (c.relnamespace IN (SELECT oid FROM schema)
				OR c.oid IN (SELECT i.inhrelid FROM pg_catalog.pg_inherits i JOIN pg_catalog.pg_class p ON p.oid = i.inhparent
					WHERE p.relnamespace IN (SELECT oid FROM schema)))) AS all_tables WHERE way IS NOT NULL ORDER BY 1, 2`
}
