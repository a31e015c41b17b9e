package mem

import (
	"context"
	"slices"

	"assay/workload"
	"assay/workload/candles"
)

// candleEngine is the only engine there is.
const candleEngine = "memory"

// candleStore is a candles.Store. Queries go through every row.
type candleStore struct {
	baseStore
	rows *table[int64, candles.Candle]
}

// OpenCandles is as OpenBank.
func OpenCandles(_ context.Context, target workload.Target) (candles.Store, error) {
	return opened(target, func(b baseStore) candles.Store { return &candleStore{b, newTable[int64, candles.Candle](b.d)} })
}

func (s *candleStore) Engines(context.Context) ([]string, error) { return []string{candleEngine}, nil }

func (s *candleStore) Create(ctx context.Context, marker workload.Marker, engine string) error {
	if _, err := candles.FindEngine(engine, []string{candleEngine}); err != nil {
		return err
	}
	return s.baseStore.Create(ctx, marker)
}

func (s *candleStore) FinishLoad(context.Context) error { return nil }

func (s *candleStore) Read(ctx context.Context, row func(candles.Candle) error) error {
	return s.locked(true, func() error { return s.rows.each(ctx, row) })
}

func (s *candleStore) Size(context.Context) (workload.Size, error) {
	return s.size(func() (bytes int64) {
		for _, v := range s.rows.rows {
			bytes += v.row.Bytes()
		}
		return bytes
	}, "candle")
}

// candleSession is one client's.
type candleSession struct{ *candleStore }

func (s *candleStore) Session(context.Context) (candles.Session, error) {
	return &candleSession{s}, s.ready()
}

func (n *candleSession) Insert(ctx context.Context, batch []candles.Candle) candles.Reply {
	return n.d.run(ctx, "insert", func(x *transaction) workload.Reply {
		for _, c := range batch {
			if _, there := get(x, n.rows, c.ID); there {
				return duplicate()
			}
			put(x, n.rows, c.ID, c)
		}
		return committed()
	})
}

// query gives the rows that are wanted, the last ones first, at most limit.
func (n *candleSession) query(ctx context.Context, row func(*candles.Candle), limit int, wanted func(*candles.Candle) bool) candles.Reply {
	if failed := n.d.enter(ctx, "query"); failed != nil {
		return *failed
	}
	var found []candles.Candle
	for _, v := range n.rows.rows {
		if wanted(&v.row) {
			found = append(found, v.row)
		}
	}
	n.d.mu.Unlock()
	slices.SortFunc(found, func(a, b candles.Candle) int { return int(b.Moment - a.Moment) })
	for i := range found[:min(limit, len(found))] {
		row(&found[i])
	}
	return committed()
}

const all = 1<<31 - 1

func (n *candleSession) Latest(ctx context.Context, ticker string, limit int, row func(*candles.Candle)) candles.Reply {
	return n.query(ctx, row, limit, func(c *candles.Candle) bool { return c.Ticker == ticker })
}

func (n *candleSession) Interval(ctx context.Context, ticker string, from, to int64, row func(*candles.Candle)) candles.Reply {
	return n.query(ctx, row, all, func(c *candles.Candle) bool { return c.Ticker == ticker && c.Moment >= from && c.Moment < to })
}

func (n *candleSession) Span(ctx context.Context, from, to int64, row func(*candles.Candle)) candles.Reply {
	return n.query(ctx, row, all, func(c *candles.Candle) bool { return c.Moment >= from && c.Moment < to })
}

func (n *candleSession) Close() {}
