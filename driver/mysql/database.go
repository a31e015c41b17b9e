package mysql

import (
	"context"
	"fmt"

	"assay/driver/sqldb"
	"assay/workload"
)

// sqlOf is the SQL for tables in this database and of this engine.
func sqlOf(database, engine string) sqldb.Dialect {
	return sqldb.Dialect{
		Prefix: database + ".",
		Types: map[sqldb.Type]string{
			sqldb.Integer: "BIGINT", sqldb.Boolean: "BOOLEAN", sqldb.String: "VARCHAR(%d)",
			// MyRocks compares indexed text byte by byte, and no other way.
			sqldb.ASCII: "VARCHAR(%d) CHARACTER SET latin1 COLLATE latin1_bin",
			sqldb.UUID:  "BINARY(16)",
			// A list is text, its elements separated by commas: to append is to
			// concatenate.
			sqldb.Ints: "LONGTEXT CHARACTER SET latin1",
		},
		NotNull: " NOT NULL", Derived: " NOT NULL",
		// InnoDB and MyRocks keep a table in the order of its primary key, which is
		// therefore made with it.
		Key:         " PRIMARY KEY",
		LateIndexes: true,
		Options:     " ENGINE=" + engine,
		In:          "IN (%s)",
		Upsert:      " ON DUPLICATE KEY UPDATE ",
		Sum:         "coalesce(sum(%s), 0)",
		NewList:     "%[3]s",
		Append:      "CONCAT(%[1]s, ',', %[3]s)",
	}
}

// Dialect implements sqldb.Database.
func (p *schema) Dialect() *sqldb.Dialect { return &p.sql }

// Create implements sqldb.Database.
func (p *schema) Create(ctx context.Context, mark workload.Marker) error {
	return p.create(ctx, mark, p.sql.Create(p.tables))
}

// Find implements workload.Store.
func (p *schema) Find(ctx context.Context) (*workload.Leftover, error) {
	return p.find(ctx, sqldb.Counted(p.tables)...)
}

// Load implements sqldb.Database by one INSERT.
func (p *schema) Load(ctx context.Context, rows sqldb.Rows) error {
	if rows.Count == 0 {
		return nil
	}
	err := p.use(ctx, func(c *conn) error {
		n, err := c.affected(ctx, string(appendInsert(nil, p.sql.Table(rows.Table), rows)))
		if err == nil && n != int64(rows.Count) {
			err = fmt.Errorf("the server took %d of %d rows of %s", n, rows.Count, rows.Table)
		}
		return err
	})
	return advise("load "+rows.Table+"s", err)
}

// FinishLoad implements sqldb.Database. It brings the statistics up to date now,
// which the server would else do in the middle of the run.
func (p *schema) FinishLoad(ctx context.Context) error {
	err := p.use(ctx, func(c *conn) error {
		for _, statement := range p.sql.Late(p.tables) {
			if err := c.exec(ctx, statement); err != nil {
				return err
			}
		}
		if err := p.setLoaded(ctx, c); err != nil {
			return err
		}
		for _, t := range p.tables {
			if !t.Loaded {
				continue
			}
			if err := c.exec(ctx, `ANALYZE NO_WRITE_TO_BINLOG TABLE `+p.sql.Table(t.Name)); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = p.everywhere(ctx)
	}
	return operation("finish loading", err)
}

// Connect implements sqldb.Database.
func (p *schema) Connect(ctx context.Context, statements []sqldb.Statement) (sqldb.Connection, error) {
	l, err := p.dial(ctx)
	if err != nil {
		return nil, err
	}
	l.statements = statements
	return l, nil
}

// View implements sqldb.Database.
func (p *schema) View(ctx context.Context, read func(sqldb.Reader) error) error {
	return p.viewFrom(ctx, nil, read)
}

func (p *schema) viewFrom(ctx context.Context, from *host, read func(sqldb.Reader) error) error {
	return p.view(ctx, from, func(c *conn) error { return read(reader{c}) })
}

// reader runs queries on a connection that is in a transaction.
type reader struct{ c *conn }

// Query implements sqldb.Reader.
func (r reader) Query(ctx context.Context, text string, row func(sqldb.Row) error, parameters ...sqldb.Value) error {
	return r.c.query(ctx, scanner(row), string(appendStatement(nil, text, parameters)))
}
