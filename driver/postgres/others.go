package postgres

// othersOf is sqldb.Catalog.Others: everything in a schema, and everything that depends on it
// (manual, "pg_depend"; views depend by their rule). A table's constraints belong to the table, and
// default privileges go with the schema.
const othersOf = `WITH ours AS (
		SELECT c.oid, c.reltype, format('%I.%I', n.nspname, c.relname) AS name
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = $1 AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S') AND ($2 = '' OR c.relname = ANY (string_to_array($2, ',')))
	), used AS (
		SELECT 'pg_class'::regclass AS class, oid, name FROM ours
		UNION ALL SELECT 'pg_type'::regclass, t.oid, name FROM ours JOIN pg_type t ON t.oid = reltype OR t.typelem = reltype AND t.typcategory = 'A'
	), found AS (
		SELECT d.classid, d.objid, d.objsubid, n.nspname::text AS name
		FROM pg_depend d JOIN pg_namespace n ON d.refclassid = 'pg_namespace'::regclass AND d.refobjid = n.oid
		WHERE n.nspname = $1 AND d.classid <> 'pg_default_acl'::regclass
		UNION ALL SELECT CASE WHEN v.oid IS NULL THEN d.classid ELSE 'pg_class'::regclass END, coalesce(v.oid, d.objid),
			CASE WHEN v.oid IS NULL THEN d.objsubid ELSE 0 END, used.name
		FROM used JOIN pg_depend d ON d.refclassid = used.class AND d.refobjid = used.oid AND d.deptype <> 'i'
			LEFT JOIN pg_rewrite r ON d.classid = 'pg_rewrite'::regclass AND r.oid = d.objid
			LEFT JOIN pg_class v ON v.oid = r.ev_class AND v.relkind IN ('v', 'm')
		WHERE d.classid NOT IN ('pg_attrdef'::regclass, 'pg_type'::regclass)
	)
	SELECT o.type, o.identity, min(f.name) FROM found f, pg_identify_object(f.classid, f.objid, f.objsubid) AS o
	WHERE NOT EXISTS (SELECT 1 FROM ours WHERE $2 <> '' AND f.classid = 'pg_class'::regclass AND f.objid = ours.oid)
		AND NOT EXISTS (SELECT 1 FROM pg_constraint c JOIN ours ON ours.oid = c.conrelid WHERE f.classid = 'pg_constraint'::regclass AND f.objid = c.oid)
		AND NOT EXISTS (SELECT 1 FROM pg_trigger g WHERE f.classid = 'pg_trigger'::regclass AND f.objid = g.oid AND g.tgisinternal)
		AND NOT EXISTS (SELECT 1 FROM pg_depend e WHERE e.classid = f.classid AND e.objid = f.objid AND e.deptype = 'e')
		AND NOT EXISTS (SELECT 1 FROM pg_class c WHERE f.classid = 'pg_class'::regclass AND f.objid = c.oid AND c.relname IN ('assay_mark', 'assay_lease')
			AND c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1))
	GROUP BY 1, 2 ORDER BY o.type NOT IN ('table', 'view', 'materialized view'), 1, 2`

// othersPlain is othersOf for products with a smaller catalog: the schema's content with indexes,
// and views and foreign keys on it.
const othersPlain = `WITH ours AS (
		SELECT c.oid, c.relname::text AS table_name, n.nspname || '.' || c.relname AS name
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = $1 AND c.relkind IN ('r', 'p', 'v', 'm', 'S') AND ($2 = '' OR c.relname = ANY (string_to_array($2, ',')))
	)
	SELECT CASE c.relkind WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'S' THEN 'sequence' ELSE 'table' END,
		n.nspname || '.' || c.relname, n.nspname::text
	FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
	WHERE n.nspname = $1 AND c.relkind IN ('r', 'p', 'v', 'm', 'S') AND c.relname NOT IN ('assay_mark', 'assay_lease')
		AND ($2 = '' OR c.oid NOT IN (SELECT oid FROM ours))
	UNION SELECT 'function', n.nspname || '.' || p.proname || '(' || pg_get_function_identity_arguments(p.oid) || ')', n.nspname::text
		FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = $1
	UNION SELECT 'type', n.nspname || '.' || t.typname, n.nspname::text
		FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace WHERE n.nspname = $1 AND t.typtype IN ('e', 'd')
	UNION SELECT 'trigger', g.tgname || ' on ' || ours.name, ours.name FROM ours JOIN pg_trigger g ON g.tgrelid = ours.oid WHERE NOT g.tgisinternal
	UNION SELECT 'index', $1 || '.' || i.relname, ours.name FROM ours JOIN pg_index x ON x.indrelid = ours.oid JOIN pg_class i ON i.oid = x.indexrelid
		WHERE NOT x.indisprimary
	UNION SELECT CASE v.relkind WHEN 'm' THEN 'materialized view' ELSE 'view' END, n.nspname || '.' || v.relname, ours.name
		FROM ours JOIN pg_depend d ON d.refobjid = ours.oid JOIN pg_rewrite r ON r.oid = d.objid
			JOIN pg_class v ON v.oid = r.ev_class JOIN pg_namespace n ON n.oid = v.relnamespace
		WHERE v.relkind IN ('v', 'm')
	UNION SELECT 'table constraint', f.conname || ' on ' || n.nspname || '.' || c.relname, ours.name
		FROM ours JOIN pg_constraint f ON f.confrelid = ours.oid JOIN pg_class c ON c.oid = f.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE f.contype = 'f' AND f.conrelid NOT IN (SELECT oid FROM ours)
	ORDER BY 1, 2`
