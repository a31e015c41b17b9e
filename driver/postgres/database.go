package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"assay/driver/sqldb"
	"assay/workload"
)

// text is a statement's name when it is prepared, and what it says.
type text struct{ name, sql string }

// preparedPrefix begins the names of prepared statements.
const preparedPrefix = "assay_"

// sqlOf is the SQL of a schema in this dialect. Words that only PostgreSQL has
// are in the dialect itself.
func (d *dialect) sqlOf(schema string) sqldb.Dialect {
	s := sqldb.Dialect{
		Prefix: schema + ".",
		Types: map[sqldb.Type]string{
			sqldb.Integer: "bigint", sqldb.Boolean: "boolean", sqldb.String: "text", sqldb.ASCII: "text",
			sqldb.UUID: "uuid", sqldb.Ints: "bigint[]",
		},
		NotNull: " NOT NULL", Derived: " " + d.notNull,
		Key:            " CONSTRAINT %s_pkey PRIMARY KEY",
		LateIndexes:    d.lateKeys,
		UpdatedOptions: d.fillfactor,
		Returning:      true,
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

// Dialect implements sqldb.Database.
func (p *schema) Dialect() *sqldb.Dialect { return &p.sql }

// Create implements sqldb.Database.
func (p *schema) Create(ctx context.Context, mark workload.Marker) error {
	return p.create(ctx, mark, p.sql.Create(p.tables))
}

// tableNames are the names of the workload's tables.
func (p *schema) tableNames() (names []string) {
	for _, t := range p.tables {
		names = append(names, t.Name)
	}
	return names
}

// Find implements workload.Store, with the rows of all tables but those that a
// run fills after others were loaded.
func (p *schema) Find(ctx context.Context) (*workload.Leftover, error) {
	return p.find(ctx, sqldb.Counted(p.tables)...)
}

// Size implements workload.Store. A table's size is that of its files, what is
// free in them included.
func (p *schema) Size(ctx context.Context) (workload.Size, error) {
	return p.size(ctx, p.tableNames()...)
}

// Connect implements sqldb.Database.
func (p *schema) Connect(ctx context.Context, statements []sqldb.Statement) (sqldb.Connection, error) {
	config := p.config
	if p.isolation != "" && !p.transactions {
		config = config.Copy()
		config.RuntimeParams["default_transaction_isolation"] = p.isolation
	}
	c, err := p.connectBy(ctx, config, statements)
	if err != nil {
		return nil, err // and not a typed nil
	}
	return c, nil
}

// connectBy is Connect with this configuration.
func (p *schema) connectBy(ctx context.Context, config *pgx.ConnConfig, statements []sqldb.Statement) (*connection, error) {
	texts := make([]text, len(statements))
	for i, s := range statements {
		texts[i] = text{preparedPrefix + s.Name, s.Text}
	}
	return p.dialTo(ctx, config, texts...)
}

// View implements sqldb.Database.
func (p *schema) View(ctx context.Context, read func(sqldb.Reader) error) error {
	return p.viewFrom(ctx, p.pool, read)
}

func (p *schema) viewFrom(ctx context.Context, from *pool, read func(sqldb.Reader) error) error {
	return p.view(ctx, from, func(conn *pgx.Conn) error { return read(reader{conn}) })
}

// reader runs queries on a connection that is in a transaction.
type reader struct{ conn *pgx.Conn }

// Query implements sqldb.Reader. Rows come from the socket as they are taken,
// which holds the server back if the callback is slow. After an error of the
// callback, which is returned, the connection is closed, because the alternative
// is to receive all the rows that are left.
func (r reader) Query(ctx context.Context, text string, row func(sqldb.Row) error, parameters ...sqldb.Value) error {
	ctx, abandon := context.WithCancel(ctx)
	defer abandon()
	var e encoder
	data, types := e.encode(parameters, nil)
	result := r.conn.PgConn().ExecParams(ctx, text, data, types, binaryFormats, binaryFormats)
	var values columns
	for result.NextRow() {
		values = result.Values()
		if err := row(&values); err != nil {
			abandon()
			_, _ = result.Close()
			return err
		}
	}
	_, err := result.Close()
	return err
}
