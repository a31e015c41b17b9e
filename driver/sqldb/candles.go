package sqldb

import (
	"context"
	"strings"

	"assay/workload"
	"assay/workload/candles"
)

// CandlesSchema is the Schema of workload candles. Its key and indexes are there
// while rows are written, as in a database in use.
func CandlesSchema() Schema {
	var columns []Column
	for _, name := range candles.NumberNames() {
		columns = append(columns, Column{Name: name})
	}
	for i, name := range candles.TextNames() {
		columns = append(columns, Column{Name: name, Type: ASCII, Length: []int{8, 8, 32, 255}[i]})
	}
	return Schema{Workload: "candles", Tables: []Table{{
		Name: "candle", Columns: columns, Loaded: true,
		Indexes: []Index{
			{Name: "candle_moment", Columns: []string{"moment"}},
			{Name: "candle_ticker", Columns: []string{"ticker", "moment"}},
			{Name: "candle_market", Columns: []string{"market", "moment"}},
		},
	}}}
}

// Candles is the Store on a Database of CandlesSchema.
func Candles(db Database) candles.Store { return &candleStore{db} }

type candleStore struct{ Database }

func (s *candleStore) Create(ctx context.Context, mark workload.Marker, engine string) error {
	engines, err := s.Engines(ctx)
	if err != nil {
		return err
	}
	found, err := candles.FindEngine(engine, engines)
	if err != nil {
		return err
	}
	return s.CreateOn(ctx, mark, found, engine != "" && len(engines) > 1)
}

func (s *candleStore) Read(ctx context.Context, row func(candles.Candle) error) error {
	return readAll(ctx, s.Database, "candle", candles.Columns(), row)
}

// The statements of a session.
const (
	latestCandles = iota
	intervalCandles
	spanCandles
)

func (s *candleStore) Session(ctx context.Context) (candles.Session, error) {
	from := "SELECT " + strings.Join(candles.Columns().Names, ", ") + " FROM " + s.Dialect().Table("candle") + " WHERE "
	c, err := s.Connect(ctx, []Statement{
		latestCandles:   {"latest", from + "ticker = $1 ORDER BY moment DESC LIMIT $2"},
		intervalCandles: {"interval", from + "ticker = $1 AND moment >= $2 AND moment < $3"},
		spanCandles:     {"span", from + "moment >= $1 AND moment < $2"},
	})
	if err != nil {
		return nil, err
	}
	return candleSession{c}, nil
}

type candleSession struct{ connection Connection }

func (s candleSession) Close() { s.connection.Close() }

func (s candleSession) Insert(ctx context.Context, batch []candles.Candle) candles.Reply {
	r := s.connection.Load(ctx, rowsOf("candle", candles.Columns(), batch))
	if r.Violated == Unique {
		r.Class = workload.ClassDuplicate
	}
	return r.Reply
}

func (s candleSession) Latest(ctx context.Context, ticker string, limit int, row func(*candles.Candle)) candles.Reply {
	return s.query(ctx, latestCandles, row, OfText(ticker), OfInt(int64(limit)))
}

func (s candleSession) Interval(ctx context.Context, ticker string, from, to int64, row func(*candles.Candle)) candles.Reply {
	return s.query(ctx, intervalCandles, row, OfText(ticker), OfInt(from), OfInt(to))
}

func (s candleSession) Span(ctx context.Context, from, to int64, row func(*candles.Candle)) candles.Reply {
	return s.query(ctx, spanCandles, row, OfInt(from), OfInt(to))
}

func (s candleSession) query(ctx context.Context, which int, row func(*candles.Candle), parameters ...Value) candles.Reply {
	var c candles.Candle
	fields := candles.Columns().Fields(&c)
	return s.connection.Query(ctx, which, func(found Row) error {
		err := found.Scan(fields...)
		if err == nil {
			row(&c)
		}
		return err
	}, parameters...)
}
