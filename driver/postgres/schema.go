package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"assay/driver/sqldb"
	"assay/workload"
)

// schema is one workload's schema in a database, and the way there. All that
// the workloads have in common is here; the Store of each embeds one.
type schema struct {
	workload string // as in the mark
	name     string
	config   *pgx.ConnConfig
	dialect  dialect
	sql      sqldb.Dialect
	tables   []sqldb.Table
	// transactions is whether sessions name their isolation level with BEGIN.
	transactions bool
	told         bool   // the dialect, by the address
	address      string // printable
	isolation    string // that is asked for, in SQL's words, "" for the server's default
	level        string // that is in force, in SQL's words
	pool         *pool
	servers      []addressed // each server of the address by itself

	taken workload.Taken
	// created is the run whose schema this Store has made last; nil for none.
	created atomic.Pointer[string]

	mu          sync.Mutex
	connections map[*connection]struct{} // the sessions' connections that are open
}

// openSchema connects to the target. Its errors are those of OpenBank.
func openSchema(ctx context.Context, target workload.Target, of sqldb.Schema) (*schema, error) {
	config, named, err := parse(target)
	if err != nil {
		return nil, err
	}
	isolation, err := isolationLevel(target.Isolation, postgresql().levels)
	if err != nil {
		return nil, err
	}
	p := &schema{
		workload: of.Workload, name: "assay_" + of.Workload, tables: of.Tables, transactions: of.Transactions,
		config: config, address: workload.Redact(target.Address), isolation: isolation, told: named != "",
		connections: make(map[*connection]struct{}),
	}
	p.pool, p.servers = newPool(config, p.address), serversOf(config)
	err = p.pool.use(ctx, func(conn *pgx.Conn) (err error) {
		if p.dialect, err = findDialect(ctx, conn, named); err != nil {
			return err
		}
		p.sql = p.dialect.sqlOf(p.name)
		if p.level = isolation; p.level != "" {
			return nil
		}
		return conn.QueryRow(ctx, `SELECT lower(current_setting('default_transaction_isolation'))`).Scan(&p.level)
	})
	if err == nil { // the dialect may have fewer levels
		_, err = isolationLevel(target.Isolation, p.dialect.levels)
	}
	if err != nil {
		p.pool.close()
		return nil, operation("connect", err)
	}
	return p, nil
}

// Close closes what is not in use; a session is closed by whoever opened it.
func (p *schema) Close() error {
	p.pool.close()
	for _, server := range p.servers {
		server.pool.close()
	}
	return nil
}

// Describe asks the server what it is.
func (p *schema) Describe(ctx context.Context) (workload.Product, error) {
	var product workload.Product
	err := p.pool.use(ctx, func(conn *pgx.Conn) (err error) {
		product, err = p.describe(ctx, conn)
		return err
	})
	if err != nil {
		return workload.Product{}, operation("describe", err)
	}
	return product, nil
}

// querier is a connection or a transaction.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// readMark returns the mark, nil if there is no schema of the name or nothing in
// it but a lease, and *workload.ForeignError if there is one that is not ours.
func (p *schema) readMark(ctx context.Context, db querier) (*workload.Marker, error) {
	const look = `SELECT
		EXISTS (SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1),
		EXISTS (SELECT 1 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
			WHERE n.nspname = $1 AND c.relname = 'assay_mark' AND c.relkind = 'r'),
		EXISTS (SELECT 1 FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
			JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
			WHERE n.nspname = $1 AND c.relname = 'assay_mark' AND a.attname = 'mark'),
		EXISTS (SELECT 1 FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
			JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
			WHERE n.nspname = $1 AND c.relname = 'assay_lease' AND a.attname = 'token'),
		(SELECT count(*) FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
			WHERE n.nspname = $1 AND c.relkind <> 'i')`
	var there, table, column, lease bool
	var relations int
	if err := db.QueryRow(ctx, look, p.name).Scan(&there, &table, &column, &lease, &relations); err != nil {
		return nil, err
	}
	if !there || lease && relations == 1 {
		return nil, nil
	}
	foreign := &workload.ForeignError{
		Name: fmt.Sprintf("schema %q", p.name),
		Hint: "rename it (ALTER SCHEMA " + p.name + " RENAME TO ...), or name another database in the address",
	}
	if !table || !column {
		return nil, foreign
	}
	var rows int
	var text string
	err := db.QueryRow(ctx, `SELECT count(*), coalesce(min(mark::text), '') FROM `+p.name+`.assay_mark`).Scan(&rows, &text)
	if err != nil {
		return nil, err
	}
	var mark workload.Marker
	if rows != 1 || json.Unmarshal([]byte(text), &mark) != nil || mark.Workload != p.workload {
		return nil, foreign
	}
	mark.Created = mark.Created.UTC()
	return &mark, nil
}

// mustMark is readMark, with *workload.NoSchemaError if there is nothing.
func (p *schema) mustMark(ctx context.Context, db querier) error {
	mark, err := p.readMark(ctx, db)
	if err == nil && mark == nil {
		err = p.missing()
	}
	return err
}

func (p *schema) missing() error {
	return &workload.NoSchemaError{Name: fmt.Sprintf("schema %q", p.name)}
}

// find reads the mark and counts the rows of these tables together.
func (p *schema) find(ctx context.Context, tables ...string) (*workload.Leftover, error) {
	var remains *workload.Leftover
	err := p.pool.use(ctx, func(conn *pgx.Conn) error {
		mark, err := p.readMark(ctx, conn)
		if err != nil || mark == nil {
			return err
		}
		remains = &workload.Leftover{Marker: *mark}
		counts := make([]string, len(tables))
		for i, table := range tables {
			counts[i] = `(SELECT count(*) FROM ` + p.name + `.` + table + `)`
		}
		err = conn.QueryRow(ctx, `SELECT `+strings.Join(counts, " + ")).Scan(&remains.Rows)
		if p.dialect.stepwise && hasCode(err, codeUndefinedTable) {
			return nil // it was not made to the end
		}
		return err
	})
	if err != nil {
		return nil, operation("look for an earlier run", err)
	}
	return remains, nil
}

// executor is a querier that also does what has no answer.
type executor interface {
	querier
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// create makes the schema in one transaction: it is there with its mark or not
// at all. What an earlier run left under our mark is dropped in the same, except
// for the lease, which is looked at first. Where the dialect changes a schema
// stepwise, the mark goes last and comes before the tables, so that what is there
// if it ends halfway is known as ours; only if it ends before the mark, without a
// lease, somebody has to drop an empty schema.
func (p *schema) create(ctx context.Context, mark workload.Marker, tables []string) error {
	mark.Created = mark.Created.UTC()
	text, err := json.Marshal(mark)
	if err != nil {
		return operation("create schema", err)
	}
	made := []string{
		`CREATE SCHEMA IF NOT EXISTS ` + p.name,
		`COMMENT ON SCHEMA ` + p.name + ` IS 'Made by assay, which drops it at its next run here. The mark is in assay_mark.'`,
		`CREATE TABLE ` + p.name + `.assay_mark (mark jsonb NOT NULL)`,
	}
	err = p.changeSchema(ctx, func(db executor) error {
		if err := p.clearOurs(ctx, db); err != nil {
			return err
		}
		if err := all(ctx, db, made); err != nil {
			return err
		}
		_, err := db.Exec(ctx, `INSERT INTO `+p.name+`.assay_mark (mark) VALUES ($1::text::jsonb)`, string(text))
		if err != nil {
			return err
		}
		return all(ctx, db, tables)
	})
	if err == nil {
		p.created.Store(&mark.Run)
	}
	return p.advise("create schema", err)
}

// runOn is owner or, if that is not known, the run of the mark; known is false if
// there is none.
func (p *schema) runOn(ctx context.Context, db querier) (run string, known bool, err error) {
	if run := p.owner(); run != "" {
		return run, true, nil
	}
	mark, err := p.readMark(ctx, db)
	if mark == nil || err != nil {
		return "", false, err
	}
	return mark.Run, true, nil
}

// owner is the run that this Store works for, empty if it does not know.
func (p *schema) owner() string {
	if created := p.created.Load(); created != nil {
		return *created
	}
	return p.taken.Holder().Run
}

// setLoaded sets the mark's Loaded.
func (p *schema) setLoaded(ctx context.Context, tx pgx.Tx) error {
	tag, err := tx.Exec(ctx, `UPDATE `+p.name+`.assay_mark SET mark = jsonb_set(mark, '{loaded}', 'true')`)
	if err == nil && tag.RowsAffected() != 1 {
		err = errors.New("the mark is gone")
	}
	return err
}

// clearOurs drops all tables but the lease's, if the schema carries our mark and
// no lease keeps us out. The mark's goes last.
func (p *schema) clearOurs(ctx context.Context, db executor) error {
	mark, err := p.readMark(ctx, db)
	if err != nil {
		return err
	}
	if err := p.admit(ctx, db); err != nil || mark == nil {
		return err
	}
	var tables []string
	err = db.QueryRow(ctx, `SELECT coalesce(array_agg(relname::text ORDER BY relname = 'assay_mark', relname), '{}')
		FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = $1 AND relname <> 'assay_lease' AND (relkind = 'p' OR relkind = 'r' AND NOT EXISTS (
			SELECT 1 FROM pg_catalog.pg_inherits i WHERE i.inhrelid = c.oid))`, p.name).Scan(&tables)
	if err != nil {
		return err
	}
	for _, table := range tables {
		if _, err := db.Exec(ctx, `DROP TABLE `+pgx.Identifier{p.name, table}.Sanitize()+` CASCADE`); err != nil {
			return err
		}
	}
	return nil
}

// dropOurs drops the schema, with the lease, if it carries our mark or nothing but
// a lease, and no lease keeps us out.
func (p *schema) dropOurs(ctx context.Context, db executor) error {
	if _, err := p.readMark(ctx, db); err != nil {
		return err
	}
	if err := p.admit(ctx, db); err != nil {
		return err
	}
	_, err := db.Exec(ctx, `DROP SCHEMA IF EXISTS `+p.name+` CASCADE`)
	return err
}

// Marker reads the mark.
func (p *schema) Marker(ctx context.Context) (mark *workload.Marker, err error) {
	err = p.pool.use(ctx, func(conn *pgx.Conn) error {
		mark, err = p.readMark(ctx, conn)
		return err
	})
	return mark, operation("look for an earlier run", err)
}

// Drop removes the schema if it carries our mark.
func (p *schema) Drop(ctx context.Context) error {
	err := p.changeSchema(ctx, func(db executor) error { return p.dropOurs(ctx, db) })
	return p.advise("drop schema", err)
}

// changeSchema runs work in one transaction or, where the dialect wants that, in
// none, so that each of its statements is one.
func (p *schema) changeSchema(ctx context.Context, work func(executor) error) error {
	return p.pool.use(ctx, func(conn *pgx.Conn) error {
		if p.dialect.stepwise {
			return work(conn)
		}
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return work(tx) })
	})
}

// all does these statements, up to the first that fails.
func all(ctx context.Context, db executor, statements []string) error {
	for _, statement := range statements {
		if _, err := db.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// size asks the server what these tables take on disk.
func (p *schema) size(ctx context.Context, tables ...string) (workload.Size, error) {
	size := workload.Size{Rows: make(map[string]int64)}
	err := p.pool.use(ctx, func(conn *pgx.Conn) error {
		for _, table := range tables {
			var onDisk, indexes, rows int64
			err := conn.QueryRow(ctx, fmt.Sprintf(p.dialect.size, p.name, table)).Scan(&onDisk, &indexes, &rows)
			switch {
			case hasCode(err, codeUndefinedTable, codeInvalidSchemaName):
				return p.missing()
			case hasCode(err, codeInsufficientPrivilege) && p.dialect.hintSize != "":
				return fmt.Errorf("%w; %s", err, p.dialect.hintSize)
			case err != nil:
				return err
			}
			size.Tables += onDisk
			size.Indexes += indexes
			size.Rows[table] = rows
		}
		size.Bytes = size.Tables + size.Indexes
		return nil
	})
	if err != nil {
		return workload.Size{}, operation("size", err)
	}
	return size, nil
}

// advise adds to an error what the user can do about it.
func (p *schema) advise(name string, err error) error {
	switch {
	case hasCode(err, codeInsufficientPrivilege):
		err = fmt.Errorf("%w; %s", err, hintPrivilege)
	case hasCode(err, codeReadOnlyTransaction):
		err = fmt.Errorf("%w; %s", err, hintReadOnly)
	}
	return operation(name, err)
}
