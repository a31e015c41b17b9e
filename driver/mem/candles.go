package mem

import (
	"cmp"
	"context"
	"math"

	"assay/workload"
	"assay/workload/candles"
)

// candleEngine is the only engine there is.
const candleEngine = "memory"

// candleStore is a candles.Store, with its rows in the orders that its queries ask for.
type candleStore struct {
	baseStore
	rows     *table[int64, candles.Candle]
	byTicker *candleOrder
	byMoment *candleOrder
}

type candleOrder = order[int64, candles.Candle, place]

// place is where a candle is in an order; the ticker is empty in that by moments.
type place struct {
	ticker     string
	moment, id int64
}

func (p place) less(other place) bool {
	return cmp.Or(cmp.Compare(p.ticker, other.ticker), cmp.Compare(p.moment, other.moment), cmp.Compare(p.id, other.id)) < 0
}

// OpenCandles is as OpenBank.
func OpenCandles(_ context.Context, target workload.Target) (candles.Store, error) {
	return opened(target, func(b baseStore) candles.Store {
		rows := newTable[int64, candles.Candle](b.d)
		return &candleStore{
			baseStore: b, rows: rows,
			byTicker: ordered(rows, func(id int64, c candles.Candle) place { return place{c.Ticker, c.Moment, id} }, place.less),
			byMoment: ordered(rows, func(id int64, c candles.Candle) place { return place{"", c.Moment, id} }, place.less),
		}
	})
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

// query gives the rows of a ticker, which is empty for all in the order by moments, from
// a moment until before another, the last ones first, at most limit.
func (n *candleSession) query(ctx context.Context, row func(*candles.Candle), by *candleOrder, ticker string, from, to int64, limit int) candles.Reply {
	if failed := n.d.enter(ctx, "query"); failed != nil {
		return *failed
	}
	var found []*candles.Candle // versions that are never changed
	by.down(place{ticker, to, math.MinInt64}, func(p place) bool {
		if p.ticker != ticker || p.moment < from || len(found) == limit {
			return false
		}
		found = append(found, &n.rows.rows[p.id].row)
		return true
	})
	n.d.mu.Unlock()
	var given candles.Candle
	for _, c := range found {
		given = *c
		row(&given)
	}
	return committed()
}

func (n *candleSession) Latest(ctx context.Context, ticker string, limit int, row func(*candles.Candle)) candles.Reply {
	return n.query(ctx, row, n.byTicker, ticker, math.MinInt64, math.MaxInt64, limit)
}

func (n *candleSession) Interval(ctx context.Context, ticker string, from, to int64, row func(*candles.Candle)) candles.Reply {
	return n.query(ctx, row, n.byTicker, ticker, from, to, math.MaxInt)
}

func (n *candleSession) Span(ctx context.Context, from, to int64, row func(*candles.Candle)) candles.Reply {
	return n.query(ctx, row, n.byMoment, "", from, to, math.MaxInt)
}

func (n *candleSession) Close() {}
