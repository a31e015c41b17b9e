package bugs

import (
	"context"

	"assay/history"
	"assay/workload"
	"assay/workload/candles"
)

func candleBugs() []bugOf[callKinds] {
	return []bugOf[callKinds]{
		{Bug{Name: "truncated-read", Check: candles.CheckAnswers, Kinds: []string{"cut short"},
			Doc: "an answer to a query ends early and without an error"}, inGet},
		{Bug{Name: "altered-row", Check: candles.CheckAnswers, Kinds: []string{"altered"},
			Doc: "one row of an answer has another volume than was written"}, inGet},
		{Bug{Name: "extra-row", Check: candles.CheckAnswers, Kinds: []string{"foreign"},
			Doc: "an answer has a row twice"}, inGet},
		{Bug{Name: "lost-ack", Check: candles.CheckIngest, Kinds: []string{"lost"}, Or: candles.CheckAnswers,
			Doc: "a batch is acknowledged and one of its rows is not there"}, inInsert},
		{Bug{Name: "altered-write", Check: candles.CheckIngest, Kinds: []string{"altered"}, Or: candles.CheckAnswers,
			Doc: "a row is written with another closing price"}, inInsert},
		{Bug{Name: "failed-but-applied", Check: candles.CheckIngest, Kinds: []string{"failed"}, Or: candles.CheckAnswers,
			Doc: "a batch is written, and failed is answered"}, inInsert},
	}
}

// candleStore is a candles.Store with bugs.
type candleStore struct {
	*rowStore[candles.Session, int64, candles.Candle]
	inner candles.Store
}

func newCandles(inner candles.Store, seeded []Seeded, seed uint64) *candleStore {
	s := &candleStore{inner: inner}
	s.rowStore = newRowStore(newTrial(inner, nil, candleBugs(), seeded, seed), rowAccess[candles.Session, int64, candles.Candle]{
		session: inner.Session, read: inner.Read,
		wrap: func(session candles.Session) candles.Session { return &candleSession{session, s} },
		key:  func(c candles.Candle) int64 { return c.ID },
		altered: func(c candles.Candle) candles.Candle {
			c.Closing++
			return c
		},
	})
	return s
}

func (s *candleStore) Engines(ctx context.Context) ([]string, error) { return s.inner.Engines(ctx) }

func (s *candleStore) Create(ctx context.Context, marker workload.Marker, engine string) error {
	return s.anew(ctx, func() error { return s.inner.Create(ctx, marker, engine) })
}

func (s *candleStore) FinishLoad(ctx context.Context) error { return s.inner.FinishLoad(ctx) }

func (s *candleStore) Eventual() bool {
	e, ok := s.inner.(candles.Eventual)
	return ok && e.Eventual()
}

// candleSession is one client's.
type candleSession struct {
	candles.Session
	s *candleStore
}

func (n *candleSession) Insert(ctx context.Context, batch []candles.Candle) candles.Reply {
	return n.s.write(ctx, inInsert, n.Session, func(ctx context.Context, session candles.Session, _ string) workload.Reply {
		return session.Insert(ctx, batch)
	}, func(b *active[callKinds]) workload.Reply {
		return n.s.spoil(b.Name, batch[n.s.chance.IntN(len(batch))])
	})
}

// query gives the answer to a query, and its rows in what may be the wrong way.
func (n *candleSession) query(ctx context.Context, row func(*candles.Candle), ask func(row func(*candles.Candle)) candles.Reply) candles.Reply {
	s := n.s
	if err := s.begin(ctx); err != nil {
		return unsent(err)
	}
	defer s.done()
	var rows []candles.Candle
	reply := ask(func(c *candles.Candle) {
		if shown, differs := s.shown[c.ID]; differs {
			rows = append(rows, shown...)
		} else {
			rows = append(rows, *c)
		}
	})
	if reply.Outcome != history.Committed { // other goroutines may add rows still
		return reply
	}
	if b := drawn(s.trial, inGet); b != nil && len(rows) > 0 {
		b.strikes++
		one := s.chance.IntN(len(rows))
		switch b.Name {
		case "truncated-read":
			rows = rows[:one]
		case "altered-row":
			rows[one].Volume++
		case "extra-row":
			rows = append(rows, rows[0])
		}
	}
	for i := range rows {
		row(&rows[i])
	}
	return reply
}

func (n *candleSession) Latest(ctx context.Context, ticker string, limit int, row func(*candles.Candle)) candles.Reply {
	return n.query(ctx, row, func(row func(*candles.Candle)) candles.Reply { return n.Session.Latest(ctx, ticker, limit, row) })
}

func (n *candleSession) Interval(ctx context.Context, ticker string, from, to int64, row func(*candles.Candle)) candles.Reply {
	return n.query(ctx, row, func(row func(*candles.Candle)) candles.Reply { return n.Session.Interval(ctx, ticker, from, to, row) })
}

func (n *candleSession) Span(ctx context.Context, from, to int64, row func(*candles.Candle)) candles.Reply {
	return n.query(ctx, row, func(row func(*candles.Candle)) candles.Reply { return n.Session.Span(ctx, from, to, row) })
}
