package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"

	"assay/driver/sqldb"
	"assay/workload"
	"assay/workload/candles"
)

// candleSchema is the database of workload candles.
const candleSchema = schemaPrefix + "candles"

// compressed is InnoDB with pages compressed by zlib (MySQL manual, "InnoDB
// Table Compression").
const compressed = "InnoDB-compressed"

// candleStore implements candles.Store.
type candleStore struct{ *schema }

// OpenCandles connects to the target and returns the Store on it, in the
// database assay_candles. Errors and the address are as with OpenBank; an engine
// in the address is the one that Create takes for none.
func OpenCandles(ctx context.Context, target workload.Target) (candles.Store, error) {
	p, err := openSchema(ctx, target, sqldb.CandlesSchema())
	if err != nil {
		return nil, err
	}
	return &candleStore{p}, nil
}

// Engines implements candles.Store: those with transactions that the server has
// loaded, and InnoDB with compressed rows unless it copies them to others by
// Galera.
func (s *candleStore) Engines(ctx context.Context) (names []string, err error) {
	err = s.use(ctx, func(c *conn) error {
		names = []string{s.engine}
		for _, engine := range []string{innodb, rocksdb} {
			found, err := chooseEngine(ctx, c, engine)
			if err == nil && !strings.EqualFold(found, s.engine) {
				names = append(names, found)
			}
			if refused := (*workload.OptionError)(nil); err != nil && !errors.As(err, &refused) {
				return err
			}
		}
		return nil
	})
	return append(names, compressed), operation("ask for the engines", err)
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
	if s.engine = found; found == compressed {
		s.engine = innodb
	}
	if _, err := s.chooseLevel(); err != nil {
		return err
	}
	s.sql = sqlOf(s.name, s.engine)
	if err := s.schema.Create(ctx, mark); err != nil || found != compressed {
		return err
	}
	return operation("compress the table", s.use(ctx, func(c *conn) error {
		return c.exec(ctx, `ALTER TABLE `+candleSchema+`.candle ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8`)
	}))
}

// FinishLoad implements candles.Store: the planner's statistics.
func (s *candleStore) FinishLoad(ctx context.Context) error {
	return operation("finish load", s.use(ctx, func(c *conn) error {
		return c.exec(ctx, `ANALYZE NO_WRITE_TO_BINLOG TABLE `+candleSchema+`.candle`)
	}))
}

// candleColumns are all columns, numbers first.
func candleColumns() string {
	return strings.Join(append(candles.NumberNames(), candles.TextNames()...), ", ")
}

// candleOf reads a row of candleColumns.
func candleOf(values []driver.Value, c *candles.Candle) error {
	into := c.Numbers()
	if len(values) != len(into)+len(c.Texts()) {
		return fmt.Errorf("a row of %d columns came", len(values))
	}
	if err := numbers(values[:len(into)], into...); err != nil {
		return err
	}
	for i, field := range c.Texts() {
		*field = text(values[len(into)+i])
	}
	return nil
}

// Read implements candles.Store.
func (s *candleStore) Read(ctx context.Context, row func(candles.Candle) error) error {
	var candle candles.Candle
	return s.view(ctx, nil, func(c *conn) error {
		return c.query(ctx, func(values []driver.Value) error {
			if err := candleOf(values, &candle); err != nil {
				return err
			}
			return stopped(row(candle))
		}, `SELECT `+candleColumns()+` FROM `+candleSchema+`.candle`)
	})
}

// candleSession implements candles.Session on one connection.
type candleSession struct{ *session }

// Session implements candles.Store.
func (s *candleStore) Session(ctx context.Context) (candles.Session, error) {
	l, err := s.dial(ctx)
	if err != nil {
		return nil, err
	}
	return &candleSession{l}, nil
}

// Insert implements candles.Session: one statement, committed by itself.
func (s *candleSession) Insert(ctx context.Context, batch []candles.Candle) candles.Reply {
	if err := ctx.Err(); err != nil { // nothing is sent
		return s.unsent(err)
	}
	quote := strings.NewReplacer(`\`, `\\`, `'`, `''`)
	var b strings.Builder
	b.Grow(400 * len(batch))
	b.WriteString(`INSERT INTO ` + candleSchema + `.candle (` + candleColumns() + `) VALUES `)
	for i := range batch {
		separator := "("
		if i > 0 {
			separator = ", ("
		}
		for _, n := range batch[i].Numbers() {
			fmt.Fprintf(&b, "%s%d", separator, *n)
			separator = ", "
		}
		for _, t := range batch[i].Texts() {
			fmt.Fprintf(&b, ", '%s'", quote.Replace(*t))
		}
		b.WriteString(")")
	}
	err := s.exec(ctx, b.String())
	reply := s.executed(operation("insert", err))
	if hasCode(err, codeDuplicateEntry) {
		reply.Class = workload.ClassDuplicate
	}
	return reply
}

// Latest implements candles.Session.
func (s *candleSession) Latest(ctx context.Context, ticker string, limit int, row func(*candles.Candle)) candles.Reply {
	return s.ask(ctx, "latest", row, `ticker = ? ORDER BY moment DESC LIMIT ?`, ticker, int64(limit))
}

// Interval implements candles.Session.
func (s *candleSession) Interval(ctx context.Context, ticker string, from, to int64, row func(*candles.Candle)) candles.Reply {
	return s.ask(ctx, "interval", row, `ticker = ? AND moment >= ? AND moment < ?`, ticker, from, to)
}

// Span implements candles.Session.
func (s *candleSession) Span(ctx context.Context, from, to int64, row func(*candles.Candle)) candles.Reply {
	return s.ask(ctx, "span", row, `moment >= ? AND moment < ?`, from, to)
}

// ask runs one query. A read has no effect, so that one without an answer has
// failed.
func (s *candleSession) ask(ctx context.Context, doing string, row func(*candles.Candle), where string, args ...any) candles.Reply {
	if err := ctx.Err(); err != nil {
		return s.unsent(err)
	}
	var c candles.Candle
	err := s.query(ctx, func(values []driver.Value) error {
		err := candleOf(values, &c)
		if err == nil {
			row(&c)
		}
		return err
	}, `SELECT `+candleColumns()+` FROM `+candleSchema+`.candle WHERE `+where, args...)
	return s.queried(operation(doing, err))
}
