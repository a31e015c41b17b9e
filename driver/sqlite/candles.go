package sqlite

import (
	"context"
	"database/sql"
	"strings"

	"assay/workload"
	"assay/workload/candles"
)

// candleEngine is what SQLite stores tables in; it has no other.
const candleEngine = "btree"

// candleSchema is the table and its three indexes beside the rowid's own.
func candleSchema() string {
	var columns []string
	for _, name := range candles.NumberNames() {
		columns = append(columns, name+" INTEGER NOT NULL")
	}
	for _, name := range candles.TextNames() {
		columns = append(columns, name+" TEXT NOT NULL")
	}
	columns[0] = "id INTEGER PRIMARY KEY"
	return `CREATE TABLE assay_candle (` + strings.Join(columns, ", ") + `) STRICT;
CREATE INDEX assay_candle_moment ON assay_candle (moment);
CREATE INDEX assay_candle_ticker ON assay_candle (ticker, moment);
CREATE INDEX assay_candle_market ON assay_candle (market, moment);`
}

// candleStore is a candles.Store on one file.
type candleStore struct{ *file }

// OpenCandles returns the Store of the file that target.Address names, which
// must not hold another workload's run. Address and errors are as with
// OpenBank.
func OpenCandles(_ context.Context, target workload.Target) (candles.Store, error) {
	o, err := parse(target)
	if err != nil {
		return nil, err
	}
	return &candleStore{newFile(o, file{
		tables: []string{"assay_candle"}, schema: candleSchema(), begin: "begin immediate, a batch each; begin, if it only reads",
	})}, nil
}

// Engines implements candles.Store.
func (s *candleStore) Engines(context.Context) ([]string, error) { return []string{candleEngine}, nil }

// Create implements candles.Store.
func (s *candleStore) Create(ctx context.Context, mark workload.Marker, engine string) error {
	if _, err := candles.FindEngine(engine, []string{candleEngine}); err != nil {
		return err
	}
	return s.file.Create(ctx, mark)
}

// FinishLoad implements candles.Store: the planner's statistics, and the log is
// copied into the file.
func (s *candleStore) FinishLoad(ctx context.Context) error {
	if err := s.write(ctx); err != nil {
		return s.explain("finish load", err)
	}
	defer s.done()
	return s.explain("finish load", using(s.writing, func(db *sql.DB) error {
		if _, err := db.ExecContext(ctx, "ANALYZE"); err != nil {
			return err
		}
		_, err := db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
		return err
	}))
}

// candleColumns are all columns, numbers first.
func candleColumns() string {
	return strings.Join(append(candles.NumberNames(), candles.TextNames()...), ", ")
}

// candleFields are where a row of candleColumns goes.
func candleFields(c *candles.Candle) []any {
	var fields []any
	for _, n := range c.Numbers() {
		fields = append(fields, n)
	}
	for _, t := range c.Texts() {
		fields = append(fields, t)
	}
	return fields
}

// Read implements candles.Store.
func (s *candleStore) Read(ctx context.Context, row func(candles.Candle) error) error {
	return s.view(ctx, func(tx *sql.Tx) error {
		var c candles.Candle
		fields := candleFields(&c)
		return each(ctx, tx, "SELECT "+candleColumns()+" FROM assay_candle", func(rows *sql.Rows) error {
			if err := rows.Scan(fields...); err != nil {
				return err
			}
			return stopped(row(c))
		})
	})
}

// candleSession is one client's of workload candles.
type candleSession struct {
	*connection
	insert, latest, interval, span *sql.Stmt
}

// Session implements candles.Store.
func (s *candleStore) Session(ctx context.Context) (candles.Session, error) {
	columns := candleColumns()
	marks := strings.Repeat("?, ", strings.Count(columns, ",")) + "?"
	l, err := s.dial(ctx, "INSERT INTO assay_candle ("+columns+") VALUES ("+marks+")",
		"SELECT "+columns+" FROM assay_candle WHERE ticker = ? ORDER BY moment DESC LIMIT ?",
		"SELECT "+columns+" FROM assay_candle WHERE ticker = ? AND moment >= ? AND moment < ?",
		"SELECT "+columns+" FROM assay_candle WHERE moment >= ? AND moment < ?")
	if err != nil {
		return nil, err
	}
	return &candleSession{connection: l, insert: l.statements[0], latest: l.statements[1], interval: l.statements[2], span: l.statements[3]}, nil
}

// Insert implements candles.Session: one transaction.
func (n *candleSession) Insert(ctx context.Context, batch []candles.Candle) candles.Reply {
	e := n.do(ctx, &run{writes: true, doing: "insert", work: func(ctx context.Context) (bool, error) {
		var c candles.Candle
		fields := candleFields(&c)
		values := make([]any, len(fields))
		for _, c = range batch {
			for i, field := range fields {
				switch field := field.(type) {
				case *int64:
					values[i] = *field
				case *string:
					values[i] = *field
				}
			}
			if _, err := n.insert.ExecContext(ctx, values...); err != nil {
				return false, err
			}
		}
		return true, nil
	}})
	return e.Reply
}

// Latest implements candles.Session.
func (n *candleSession) Latest(ctx context.Context, ticker string, limit int, row func(*candles.Candle)) candles.Reply {
	return n.ask(ctx, "latest", n.latest, row, ticker, limit)
}

// Interval implements candles.Session.
func (n *candleSession) Interval(ctx context.Context, ticker string, from, to int64, row func(*candles.Candle)) candles.Reply {
	return n.ask(ctx, "interval", n.interval, row, ticker, from, to)
}

// Span implements candles.Session.
func (n *candleSession) Span(ctx context.Context, from, to int64, row func(*candles.Candle)) candles.Reply {
	return n.ask(ctx, "span", n.span, row, from, to)
}

func (n *candleSession) ask(ctx context.Context, doing string, query *sql.Stmt, row func(*candles.Candle), args ...any) candles.Reply {
	caller := ctx
	e := n.do(ctx, &run{doing: doing, work: func(ctx context.Context) (bool, error) {
		rows, err := query.QueryContext(ctx, args...)
		if err != nil {
			return true, err
		}
		defer rows.Close()
		var c candles.Candle
		fields := candleFields(&c)
		for rows.Next() {
			if caller.Err() != nil { // nobody waits for the rest
				return true, caller.Err()
			}
			if err := rows.Scan(fields...); err != nil {
				return true, err
			}
			row(&c)
		}
		return true, rows.Err()
	}})
	return e.read()
}
