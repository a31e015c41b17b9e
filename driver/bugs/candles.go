package bugs

import (
	"context"
	"slices"

	"assay/history"
	"assay/workload"
	"assay/workload/candles"
)

func candleBugs() []definition[place] {
	return []definition[place]{
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

// candleStore is a candles.Store with bugs. Calls go to the database at the same
// time, since no bug has to know their order.
type candleStore struct {
	*trial[place]
	inner candles.Store
}

func newCandles(inner candles.Store, seeded []Seeded, seed uint64) *candleStore {
	t := newTrial(inner, nil, candleBugs(), seeded, seed)
	t.reset = func() {}
	return &candleStore{t, inner}
}

// Engines implements candles.Store.
func (s *candleStore) Engines(ctx context.Context) ([]string, error) { return s.inner.Engines(ctx) }

// Create implements candles.Store.
func (s *candleStore) Create(ctx context.Context, marker workload.Marker, engine string) error {
	return s.anew(ctx, func() error { return s.inner.Create(ctx, marker, engine) })
}

// FinishLoad implements candles.Store.
func (s *candleStore) FinishLoad(ctx context.Context) error { return s.inner.FinishLoad(ctx) }

// Read implements candles.Store.
func (s *candleStore) Read(ctx context.Context, row func(candles.Candle) error) error {
	return s.inner.Read(ctx, row)
}

// Eventual implements candles.Eventual.
func (s *candleStore) Eventual() bool {
	e, ok := s.inner.(candles.Eventual)
	return ok && e.Eventual()
}

// candleSession is one client's.
type candleSession struct {
	candles.Session
	s *candleStore
}

// Session implements candles.Store.
func (s *candleStore) Session(ctx context.Context) (candles.Session, error) {
	session, err := s.inner.Session(ctx)
	if err != nil {
		return nil, err
	}
	return &candleSession{session, s}, nil
}

// draw is drawn for those who do not have the turn, and a number that says which
// of the rows the bug is about.
func (s *candleStore) draw(ctx context.Context, in place) (b *active[place], one uint64) {
	if s.take(ctx) != nil {
		return nil, 0 // the call ends with its context
	}
	defer s.done()
	if b = drawn(s.trial, in); b != nil {
		b.strikes++
	}
	return b, s.chance.Uint64()
}

// missed takes back that a bug took effect.
func (s *candleStore) missed(b *active[place]) {
	s.turn <- struct{}{}
	b.strikes--
	s.done()
}

// Insert implements candles.Session.
func (n *candleSession) Insert(ctx context.Context, batch []candles.Candle) candles.Reply {
	if len(batch) < 2 {
		return n.Session.Insert(ctx, batch)
	}
	b, number := n.s.draw(ctx, inInsert)
	if b == nil {
		return n.Session.Insert(ctx, batch)
	}
	sent := slices.Clone(batch)
	one := int(number % uint64(len(sent)))
	switch b.Name {
	case "lost-ack":
		sent = slices.Delete(sent, one, one+1)
	case "altered-write":
		sent[one].Closing++
	}
	reply := n.Session.Insert(ctx, sent)
	if reply.Outcome != history.Committed {
		n.s.missed(b)
	} else if b.Name == "failed-but-applied" {
		return failed()
	}
	return reply
}

// query gives the answer to a query, and its rows in what may be the wrong way.
func (n *candleSession) query(ctx context.Context, row func(*candles.Candle), ask func(row func(*candles.Candle)) candles.Reply) candles.Reply {
	b, number := n.s.draw(ctx, inGet)
	if b == nil {
		return ask(row)
	}
	var rows []candles.Candle
	reply := ask(func(c *candles.Candle) { rows = append(rows, *c) })
	if reply.Outcome != history.Committed || len(rows) == 0 { // if not, other goroutines may add rows still
		n.s.missed(b)
		return reply
	}
	one := int(number % uint64(len(rows)))
	switch b.Name {
	case "truncated-read":
		rows = rows[:one]
	case "altered-row":
		rows[one].Volume++
	case "extra-row":
		rows = append(rows, rows[0])
	}
	for i := range rows {
		row(&rows[i])
	}
	return reply
}

// Latest implements candles.Session.
func (n *candleSession) Latest(ctx context.Context, ticker string, limit int, row func(*candles.Candle)) candles.Reply {
	return n.query(ctx, row, func(row func(*candles.Candle)) candles.Reply { return n.Session.Latest(ctx, ticker, limit, row) })
}

// Interval implements candles.Session.
func (n *candleSession) Interval(ctx context.Context, ticker string, from, to int64, row func(*candles.Candle)) candles.Reply {
	return n.query(ctx, row, func(row func(*candles.Candle)) candles.Reply { return n.Session.Interval(ctx, ticker, from, to, row) })
}

// Span implements candles.Session.
func (n *candleSession) Span(ctx context.Context, from, to int64, row func(*candles.Candle)) candles.Reply {
	return n.query(ctx, row, func(row func(*candles.Candle)) candles.Reply { return n.Session.Span(ctx, from, to, row) })
}
