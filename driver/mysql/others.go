package mysql

import "strings"

// othersQuery is sqldb.Catalog.Others: everything in a database, and other databases' views and
// foreign keys on it, as far as the user may see them. A view's definition has its tables' full
// names (MySQL manual, "The INFORMATION_SCHEMA VIEWS Table"). REFERENTIAL_CONSTRAINTS is not used
// for foreign keys: TiDB has the key's schema there in place of the table's. A privilege outlives
// its table.
func othersQuery() string {
	const own = "($2 = '' OR FIND_IN_SET(table_name, $2) > 0)"
	return `SELECT kind, name, thing FROM (
		SELECT CASE table_type WHEN 'VIEW' THEN 'view' WHEN 'SEQUENCE' THEN 'sequence' ELSE 'table' END AS kind,
			` + quoted("table_schema", "table_name") + ` AS name, $1 AS thing
			FROM information_schema.tables WHERE table_schema = $1 AND table_name NOT IN ('assay_mark', 'assay_lease')
				AND NOT (table_type = 'BASE TABLE' AND FIND_IN_SET(table_name, $2) > 0)
		UNION ALL SELECT LOWER(routine_type), ` + quoted("routine_schema", "routine_name") + `, $1
			FROM information_schema.routines WHERE routine_schema = $1
		UNION ALL SELECT 'event', ` + quoted("event_schema", "event_name") + `, $1
			FROM information_schema.events WHERE event_schema = $1
		UNION ALL SELECT 'trigger', ` + quoted("trigger_schema", "trigger_name") + `, ` + quoted("event_object_schema", "event_object_table") + `
			FROM information_schema.triggers WHERE event_object_schema = $1
		UNION ALL SELECT DISTINCT 'index', CONCAT(` + quoted("index_name") + `, ' on ', ` + quoted("table_schema", "table_name") + `),
			` + quoted("table_schema", "table_name") + `
			FROM information_schema.statistics WHERE table_schema = $1 AND index_name <> 'PRIMARY' AND ` + own + `
		UNION ALL SELECT DISTINCT 'foreign key', CONCAT(` + quoted("constraint_name") + `, ' on ', ` + quoted("table_schema", "table_name") + `),
			` + quoted("referenced_table_schema", "referenced_table_name") + `
			FROM information_schema.key_column_usage WHERE referenced_table_schema = $1 AND table_schema <> $1
		UNION ALL SELECT 'view', ` + quoted("table_schema", "table_name") + `, CONCAT('tables of ', $1)
			FROM information_schema.views WHERE table_schema <> $1 AND INSTR(view_definition, CONCAT(CHAR(96 USING utf8mb4), $1, CHAR(96 USING utf8mb4), '.')) > 0
		) AS found ORDER BY kind NOT IN ('table', 'view'), 1, 2`
}

// quoted is an SQL expression for a name of these parts, with backquotes if it needs them.
func quoted(parts ...string) string {
	for i, part := range parts {
		parts[i] = "IF(" + part + " REGEXP '^[0-9A-Za-z_]+$', " + part + ", CONCAT(CHAR(96 USING utf8mb4), REPLACE(" + part +
			", CHAR(96 USING utf8mb4), CONCAT(CHAR(96 USING utf8mb4), CHAR(96 USING utf8mb4))), CHAR(96 USING utf8mb4)))"
	}
	return "CONCAT(" + strings.Join(parts, ", '.', ") + ")"
}
