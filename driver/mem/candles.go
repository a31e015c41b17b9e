package mem

import (
	"context"
	"slices"

	"assay/history"
	"assay/workload"
	"assay/workload/candles"
)

// candleEngine is the only engine there is.
const candleEngine = "memory"

// Candles is one database of workload candles'. It is safe for concurrent use.
// All Stores that its method Candles returns share it. Queries go through every row.
type Candles struct {
	*site
	rows []candles.Candle
	ids  map[int64]bool
	// doomed is how many of the first rows of the last batch will be lost at
	// the next call.
	doomed []int64
}

// CandleBugs returns all that can be switched on in workload candles.
func CandleBugs() []Bug {
	return []Bug{
		{Name: "truncated-read", Check: candles.CheckAnswers, Kinds: []string{"cut short"},
			Doc: "an answer to a query ends early and without an error"},
		{Name: "altered-row", Check: candles.CheckAnswers, Kinds: []string{"altered"},
			Doc: "one row of an answer has another volume than was written"},
		{Name: "extra-row", Check: candles.CheckAnswers, Kinds: []string{"foreign"},
			Doc: "an answer has a row twice"},
		{Name: "lost-ack", Check: candles.CheckIngest, Kinds: []string{"lost"}, Or: candles.CheckAnswers,
			Doc: "a batch is acknowledged and one of its rows is lost at the next call"},
		{Name: "altered-write", Check: candles.CheckIngest, Kinds: []string{"altered"}, Or: candles.CheckAnswers,
			Doc: "a row is written with another closing price"},
		{Name: "failed-but-applied", Check: candles.CheckIngest, Kinds: []string{"failed"}, Or: candles.CheckAnswers,
			Doc: "a batch is written, and failed is answered"},
	}
}

// NewCandles returns an empty database of workload candles'. It returns
// *workload.OptionError for a bug that does not exist or a value out of range.
func NewCandles(o Options) (*Candles, error) {
	s, err := newSite(o, CandleBugs())
	if err != nil {
		return nil, err
	}
	d := &Candles{site: s}
	d.reset()
	return d, nil
}

// Candles returns a Store on this database.
func (d *Candles) Candles() candles.Store { return &candleStore{newShell(d.site, d), d} }

// reset empties the schema. The caller holds the lock, as for all methods
// below.
func (d *Candles) reset() {
	d.rows, d.ids, d.doomed, d.calls = nil, map[int64]bool{}, nil, 0
	d.forgetStrikes()
}

func (d *Candles) count() int64 { return int64(len(d.rows)) }

func (d *Candles) settle() { d.pass() }

// strikes reports whether a bug is switched on and strikes now.
func (d *Candles) strikes(bug string) bool {
	i := slices.IndexFunc(d.armed, func(a armed) bool { return a.Name == bug })
	if i < 0 || !d.hits(d.armed[i].probability) {
		return false
	}
	d.armed[i].strikes++
	return true
}

// pass brings about what the call before left for later.
func (d *Candles) pass() {
	d.calls++
	for _, id := range d.doomed {
		delete(d.ids, id)
		d.rows = slices.DeleteFunc(d.rows, func(c candles.Candle) bool { return c.ID == id })
	}
	d.doomed = nil
}

func (d *Candles) insert(batch []candles.Candle) candles.Reply {
	d.pass()
	for i := range batch {
		if d.ids[batch[i].ID] {
			return candles.Reply{Outcome: history.Failed, Class: workload.ClassDuplicate}
		}
	}
	reply := candles.Reply{Outcome: history.Committed}
	if d.hits(d.timeout) {
		reply = candles.Reply{Class: workload.ClassTimeout}
		batch = batch[:d.chance.IntN(len(batch)+1)]
	}
	for _, c := range batch {
		d.ids[c.ID] = true
		d.rows = append(d.rows, c)
	}
	if reply.Outcome == history.Unknown || len(batch) == 0 {
		return reply
	}
	switch {
	case d.strikes("lost-ack"):
		d.doomed = append(d.doomed, batch[d.chance.IntN(len(batch))].ID)
	case d.strikes("altered-write"):
		d.rows[len(d.rows)-1].Closing++
	case d.strikes("failed-but-applied"):
		return candles.Reply{Outcome: history.Failed, Class: workload.ClassOther}
	}
	return reply
}

// answer gives the rows, in what may be the wrong way.
func (d *Candles) answer(rows []candles.Candle, row func(*candles.Candle)) candles.Reply {
	rows = slices.Clone(rows)
	switch {
	case len(rows) == 0:
	case d.strikes("truncated-read"):
		rows = rows[:d.chance.IntN(len(rows))]
	case d.strikes("altered-row"):
		rows[d.chance.IntN(len(rows))].Volume++
	case d.strikes("extra-row"):
		rows = append(rows, rows[0])
	}
	for i := range rows {
		row(&rows[i])
	}
	return candles.Reply{Outcome: history.Committed}
}

func (d *Candles) between(ticker string, from, to int64) (found []candles.Candle) {
	for i := range d.rows {
		c := &d.rows[i]
		if (ticker == "" || c.Ticker == ticker) && c.Moment >= from && c.Moment < to {
			found = append(found, *c)
		}
	}
	return found
}

// candleStore is a candles.Store on a Candles.
type candleStore struct {
	shell
	d *Candles
}

// OpenCandles returns a Store on a new, empty database: two Stores opened so
// share nothing. The address and the errors are OpenBank's, with the bugs of
// CandleBugs.
func OpenCandles(_ context.Context, target workload.Target) (candles.Store, error) {
	o, err := parse(target, CandleBugs())
	if err != nil {
		return nil, err
	}
	d, err := NewCandles(o)
	if err != nil {
		return nil, err
	}
	return d.Candles(), nil
}

// Engines implements candles.Store.
func (s *candleStore) Engines(context.Context) ([]string, error) { return []string{candleEngine}, nil }

// Create implements candles.Store.
func (s *candleStore) Create(ctx context.Context, mark workload.Marker, engine string) error {
	if _, err := candles.FindEngine(engine, []string{candleEngine}); err != nil {
		return err
	}
	return s.shell.Create(ctx, mark)
}

// FinishLoad implements candles.Store.
func (s *candleStore) FinishLoad(context.Context) error { return nil }

// Read implements candles.Store. It holds up all other calls while it lasts,
// and the callback must make none.
func (s *candleStore) Read(ctx context.Context, row func(candles.Candle) error) error {
	return s.locked(true, func() error { return each(ctx, s.d.rows, row) })
}

// Size implements candles.Store. It is memory, there being no disk.
func (s *candleStore) Size(context.Context) (size workload.Size, err error) {
	err = s.locked(true, func() error {
		size.Rows = map[string]int64{"candle": s.d.count()}
		for i := range s.d.rows {
			size.Tables += s.d.rows[i].Bytes()
		}
		size.Bytes = size.Tables
		s.d.countStrikes(size.Rows)
		return nil
	})
	return size, err
}

// candleSession is one client's.
type candleSession struct{ d *Candles }

// Session implements candles.Store.
func (s *candleStore) Session(context.Context) (candles.Session, error) {
	if err := s.ready(); err != nil {
		return nil, err
	}
	return &candleSession{s.d}, nil
}

// Insert implements candles.Session.
func (n *candleSession) Insert(ctx context.Context, batch []candles.Candle) candles.Reply {
	return n.call(ctx, "insert", func() candles.Reply { return n.d.insert(batch) })
}

// Latest implements candles.Session.
func (n *candleSession) Latest(ctx context.Context, ticker string, limit int, row func(*candles.Candle)) candles.Reply {
	return n.call(ctx, "latest", func() candles.Reply {
		n.d.pass()
		found := n.d.between(ticker, -1<<63, 1<<63-1)
		slices.SortFunc(found, func(a, b candles.Candle) int { return int(b.Moment - a.Moment) })
		return n.d.answer(found[:min(limit, len(found))], row)
	})
}

// Interval implements candles.Session.
func (n *candleSession) Interval(ctx context.Context, ticker string, from, to int64, row func(*candles.Candle)) candles.Reply {
	return n.call(ctx, "interval", func() candles.Reply {
		n.d.pass()
		return n.d.answer(n.d.between(ticker, from, to), row)
	})
}

// Span implements candles.Session.
func (n *candleSession) Span(ctx context.Context, from, to int64, row func(*candles.Candle)) candles.Reply {
	return n.call(ctx, "span", func() candles.Reply {
		n.d.pass()
		return n.d.answer(n.d.between("", from, to), row)
	})
}

// call does something under the lock, after the latency.
func (n *candleSession) call(ctx context.Context, doing string, do func() candles.Reply) candles.Reply {
	if no := n.d.enter(ctx, doing); no != nil {
		return *no
	}
	defer n.d.mu.Unlock()
	return do()
}

// Close implements candles.Session.
func (n *candleSession) Close() {}
