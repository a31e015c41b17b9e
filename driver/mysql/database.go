package mysql

import (
	"context"

	"assay/driver/sqldb"
	"assay/store"
)

func sqlOf(database, engine string) sqldb.Dialect {
	return sqldb.Dialect{
		Prefix: database + ".", Quote: "`", Reserved: reserved(),
		Types: map[store.Type]string{
			store.Integer: "BIGINT", store.Boolean: "BOOLEAN", store.String: "VARCHAR(%d)",
			// MyRocks only compares indexed text byte by byte.
			store.ASCII: "VARCHAR(%d) CHARACTER SET latin1 COLLATE latin1_bin",
			store.UUID:  "BINARY(16)",
			// A list is text with commas, so that appending is concatenation.
			store.Ints: "LONGTEXT CHARACTER SET latin1",
		},
		NotNull: " NOT NULL", Derived: " NOT NULL",
		// InnoDB and MyRocks store a table in the order of its primary key, which is therefore
		// made at once.
		Key:         " PRIMARY KEY",
		LateIndexes: true,
		Options:     " ENGINE=" + engine,
		ForUpdate:   " FOR UPDATE",
		In:          "IN (%s)",
		Upsert:      " ON DUPLICATE KEY UPDATE ",
		Sum:         "coalesce(sum(%s), 0)",
		NewList:     "%[3]s",
		Append:      "CONCAT(%[1]s, ',', %[3]s)",
	}
}

// catalogOf is the server's Catalog for a database. Definitions of data commit by themselves.
func catalogOf(database, engine string, d dialect) sqldb.Catalog {
	privilege := hintPrivilege()
	return sqldb.Catalog{
		Noun:    "database",
		Foreign: "move its tables to a database of another name (RENAME TABLE), or drop it if nobody needs it, or use another server",
		Advice: map[sqldb.ErrorKind]string{sqldb.NotAllowed: privilege, sqldb.NoWrites: "give the address of a server that takes writes",
			sqldb.TimedOut: "if a time limit of the server or the user ended it (max_statement_time, max_execution_time), have the user a longer one: it is for assay's own statements too"},
		Inspect: `SELECT (SELECT count(*) FROM information_schema.tables WHERE table_schema = $1 AND table_name <> 'assay_lease') +
			(SELECT count(*) FROM information_schema.routines WHERE routine_schema = $1) +
			(SELECT count(*) FROM information_schema.events WHERE event_schema = $1),
			(SELECT count(*) FROM information_schema.tables t JOIN information_schema.columns c USING (table_schema, table_name)
				WHERE table_schema = $1 AND table_name = 'assay_mark' AND table_type = 'BASE TABLE' AND column_name = 'mark'),
			(SELECT count(*) FROM information_schema.tables WHERE table_schema = $1 AND table_name = 'assay_lease')`,
		Make: []string{`CREATE DATABASE IF NOT EXISTS ` + database + ` CHARACTER SET utf8mb4`},
		Mark: []string{`CREATE TABLE IF NOT EXISTS ` + database + `.assay_mark (id TINYINT PRIMARY KEY, mark TEXT NOT NULL) ENGINE=` + engine +
			` COMMENT 'Made by assay, which drops the database at its next run here'`},
		Drop: []string{`DROP DATABASE IF EXISTS ` + database},
		Tables: `SELECT table_name FROM information_schema.tables WHERE table_schema = $1 AND table_type = 'BASE TABLE'
			AND table_name NOT IN ('assay_mark', 'assay_lease') ORDER BY 1`,
		Others:    othersQuery(),
		Kinds:     []string{"view", "table", "sequence", "procedure", "function", "event"},
		Unchecked: `SET SESSION foreign_key_checks = 0`, Checked: `SET SESSION foreign_key_checks = 1`,
		OtherHint: "drop it or move it to another database, or name another server",
		Cases:     true, Use: `USE ` + database,
		ReadMark:   "mark",
		InsertMark: `INSERT INTO ` + database + `.assay_mark (id, mark) VALUES (1, $1)`,
		UpdateMark: `UPDATE ` + database + `.assay_mark SET mark = $1 WHERE id = 1`,
		Moment:     "DATETIME(6)", Now: "UTC_TIMESTAMP(6)", After: "UTC_TIMESTAMP(6) + INTERVAL %s MICROSECOND",
		Microseconds: "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', %s)",
		Refresh:      d.refresh,
		Size: `SELECT coalesce(max(data_length), 0), coalesce(max(index_length), 0), (SELECT count(*) FROM %[1]s.%[2]s)
			FROM information_schema.tables WHERE table_schema = '%[1]s' AND table_name = '%[2]s'`,
		Stored: `SELECT engine, table_name FROM information_schema.tables WHERE table_schema = $1 AND engine IS NOT NULL
			AND table_type <> 'SEQUENCE' AND table_name NOT IN ('assay_mark', 'assay_lease') ORDER BY 1, 2`,
		Located: `SELECT table_schema, table_name, CASE WHEN table_type IN ('BASE TABLE', 'SYSTEM VERSIONED') THEN '' ELSE lower(table_type) END FROM information_schema.tables
			WHERE table_schema = database() AND table_name = $1 OR concat(table_schema, '.', table_name) = $1`,
		LocatedHint: "name the database that has it in the address (mysql://HOST/DATABASE), or write DATABASE.TABLE",
		Columns: `SELECT column_name, lower(data_type), coalesce(character_maximum_length, 0), is_nullable = 'NO' AND column_default IS NULL AND data_type <> 'enum' AND extra NOT REGEXP 'auto_increment|GENERATED',
			coalesce(generation_expression, '') <> ''
			FROM information_schema.columns WHERE table_schema = $1 AND table_name = $2 ORDER BY ordinal_position`,
		Keys:       keysQuery,
		Attached:   attachedQuery,
		Sessions:   d.sessions,
		EndSession: `KILL CONNECTION %s`,
	}
}

func (p *schema) Connect(ctx context.Context, statements []sqldb.Statement) (sqldb.Connection, error) {
	if p.Reads {
		return p.connectApart(ctx, statements)
	}
	l, err := p.dial(ctx, statements)
	if err != nil {
		return nil, err // and not a typed nil
	}
	return l, nil
}
