package postgres

import "assay/driver/sqldb"

// keys is sqldb.Catalog.Keys by pg_index. information_schema hides constraints from a user with
// only SELECT (manual 18, "table_constraints").
func (d *dialect) keys() string {
	if !d.standbys { // CockroachDB
		return sqldb.StandardKeys
	}
	return `SELECT a.attname::text FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
			CROSS JOIN LATERAL unnest(i.indkey) WITH ORDINALITY AS k (number, place) JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.number
		WHERE n.nspname = $1 AND c.relname = $2 AND i.indisprimary AND k.place <= i.indnkeyatts ORDER BY k.place`
}

// attached is sqldb.Catalog.Attached. Partitions share a key; inheriting tables do not (manual 18,
// "Inheritance", "Caveats"). A foreign key's own triggers are internal. Which triggers and rules fire
// follows session_replication_role, which a role can have.
func (d *dialect) attached() string {
	if !d.standbys {
		return ""
	}
	return `WITH RECURSIVE below (id, relkind, name, above, depth) AS (
			SELECT c.oid, c.relkind, c.relname::text, c.relkind, 0 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
				WHERE n.nspname = $1 AND c.relname = $2
			UNION ALL SELECT c.oid, c.relkind, c.relname::text, b.relkind, b.depth + 1 FROM below b
				JOIN pg_catalog.pg_inherits i ON i.inhparent = b.id JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid),
		here (fires) AS (SELECT (CASE current_setting('session_replication_role') WHEN 'replica' THEN 'R' ELSE 'O' END)::"char")
		SELECT text, alters FROM (
			SELECT 'row-level security (' || coalesce((SELECT string_agg('policy ' || polname, ', ' ORDER BY polname) FROM pg_catalog.pg_policy WHERE polrelid = id),
				'no policy') || ')' AS text, true AS alters FROM below WHERE depth = 0 AND row_security_active(id)
			UNION SELECT 'trigger ' || tgname, true FROM below CROSS JOIN here JOIN pg_catalog.pg_trigger ON tgrelid = id WHERE NOT tgisinternal AND tgenabled IN ('A', fires)
			UNION SELECT 'rule ' || rulename, true FROM below CROSS JOIN here JOIN pg_catalog.pg_rewrite r ON r.ev_class = id WHERE rulename <> '_RETURN' AND ev_enabled IN ('A', fires)
			UNION SELECT 'child table ' || name, true FROM below WHERE depth > 0 AND above <> 'p'
			UNION SELECT 'foreign partition ' || name, true FROM below WHERE depth > 0 AND above = 'p' AND relkind = 'f'
			UNION SELECT 'constraint ' || conname || ' ' || left(pg_get_constraintdef(k.oid), 100), false FROM below JOIN pg_catalog.pg_constraint k ON k.conrelid = id
				WHERE depth = 0 AND contype IN ('c', 'f', 'u', 'x')
			UNION SELECT 'foreign key ' || conname || ' of table ' || conrelid::regclass::text, false FROM below JOIN pg_catalog.pg_constraint ON confrelid = id WHERE depth = 0
			UNION SELECT 'unique index ' || indexrelid::regclass::text, false FROM below JOIN pg_catalog.pg_index i ON i.indrelid = id
				WHERE depth = 0 AND indisunique AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_constraint WHERE conindid = i.indexrelid)) AS attached ORDER BY 2 DESC, 1`
}
