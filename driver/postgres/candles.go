package postgres

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"assay/driver/sqldb"
	"assay/workload"
	"assay/workload/candles"
)

// candleSchema is the place of workload candles in the database.
const candleSchema = "assay_candles"

// candleStore implements candles.Store.
type candleStore struct{ *schema }

// OpenCandles connects to the target and returns the Store on it, in the schema
// assay_candles of the address's database. Errors are as with OpenBank.
//
// The engines are the compressors of values that are stored out of line
// (default_toast_compression). Only rows of more than two kilobytes have such
// (PostgreSQL manual, "TOAST"), so that they change nothing of rows as small as
// these.
func OpenCandles(ctx context.Context, target workload.Target) (candles.Store, error) {
	p, err := openSchema(ctx, target, sqldb.Schema{Workload: "candles", Transactions: true})
	if err != nil {
		return nil, err
	}
	return &candleStore{p}, nil
}

// Engines implements candles.Store.
func (s *candleStore) Engines(ctx context.Context) (names []string, err error) {
	if s.dialect.engine != "" {
		return []string{s.dialect.engine}, nil
	}
	err = s.pool.use(ctx, func(conn *pgx.Conn) error {
		// An empty answer: a server before 14, which has no choice.
		rows, err := conn.Query(ctx, `SELECT v FROM pg_settings, unnest(enumvals) v
			WHERE name = 'default_toast_compression' AND v IN ('pglz', 'lz4') ORDER BY v <> boot_val, v`)
		if err != nil {
			return err
		}
		names, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	if err == nil && len(names) == 0 {
		names = []string{"pglz"}
	}
	return names, operation("ask for the compressors", err)
}

// Create implements candles.Store.
func (s *candleStore) Create(ctx context.Context, mark workload.Marker, engine string) error {
	engines, err := s.Engines(ctx)
	if err != nil {
		return err
	}
	found, err := candles.FindEngine(engine, engines)
	if err != nil {
		return err
	}
	compression := ""
	if engine != "" && len(engines) > 1 {
		compression = " COMPRESSION " + found
	}
	var columns []string
	for _, name := range candles.NumberNames() {
		columns = append(columns, name+" bigint NOT NULL")
	}
	for _, name := range candles.TextNames() {
		columns = append(columns, name+" text"+compression+" NOT NULL")
	}
	return s.create(ctx, mark, []string{
		`CREATE TABLE ` + candleSchema + `.candle (` + strings.Join(columns, ", ") + `, PRIMARY KEY (id))`,
		`CREATE INDEX candle_moment ON ` + candleSchema + `.candle (moment)`,
		`CREATE INDEX candle_ticker ON ` + candleSchema + `.candle (ticker, moment)`,
		`CREATE INDEX candle_market ON ` + candleSchema + `.candle (market, moment)`,
	})
}

// Find implements candles.Store.
func (s *candleStore) Find(ctx context.Context) (*workload.Leftover, error) {
	return s.find(ctx, "candle")
}

// Size implements candles.Store.
func (s *candleStore) Size(ctx context.Context) (workload.Size, error) { return s.size(ctx, "candle") }

// FinishLoad implements candles.Store.
func (s *candleStore) FinishLoad(ctx context.Context) error {
	return operation("finish load", s.pool.use(ctx, func(conn *pgx.Conn) error {
		return s.refresh(ctx, conn, "candle")
	}))
}

// candleColumns are all columns, numbers first.
func candleColumns() string {
	return strings.Join(append(candles.NumberNames(), candles.TextNames()...), ", ")
}

// Read implements candles.Store.
func (s *candleStore) Read(ctx context.Context, row func(candles.Candle) error) error {
	var c candles.Candle
	return s.view(ctx, s.pool, func(conn *pgx.Conn) error {
		return stream(ctx, conn, `SELECT `+candleColumns()+` FROM `+candleSchema+`.candle`, func(columns [][]byte) error {
			if err := candleOf(columns, &c); err != nil {
				return err
			}
			return stopped(row(c))
		})
	})
}

// candleOf decodes a row of candleColumns.
func candleOf(columns [][]byte, c *candles.Candle) error {
	numbers, texts := c.Numbers(), c.Texts()
	if err := bigints(columns[:min(len(numbers), len(columns))], numbers...); err != nil {
		return err
	}
	for i, text := range texts {
		*text = string(columns[len(numbers)+i])
	}
	return nil
}
