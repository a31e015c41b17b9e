//go:build foundationdb

package foundationdb

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/apple/foundationdb/bindings/go/src/fdb"

	"assay/history"
	"assay/workload"
	"assay/workload/candles"
)

// candleStore is a candles.Store, under ("assay", "candles"):
//
//	("candle", id) = the other numbers; the texts
//	("moment", moment, id) = nothing
//	("ticker", ticker, moment, id) = nothing
//	("market", market, moment, id) = nothing
//
// the value as appendRecord makes it. FoundationDB has no index but the order of
// its keys; the last three tables are the indexes, kept as its manual says that
// applications are to keep them: "By updating the data element and all of its
// associated indexes together within a single ACID transaction we can guarantee
// that the data and indexes stay in sync" ("Design Recipes", "Simple Indexes").
// A query reads one of them and then the rows that it names.
type candleStore struct {
	*schema
	// page is how many rows of a query are on their way at once, and renew how
	// old a transaction may be that the next page is read in; see
	// candleSession.ask.
	page  int
	renew time.Duration
}

// renewAfter is what candleStore.renew is. A page has the last three of the five seconds of
// a transaction.
const renewAfter = 2 * time.Second

// OpenCandles connects to the cluster and returns its Store. Errors are as with
// Open.
func OpenCandles(ctx context.Context, target workload.Target) (candles.Store, error) {
	p, err := openSchema(ctx, target, "candles", append([]string{tableCandle}, candleIndexes()...)...)
	if err != nil {
		return nil, err
	}
	p.indexes = len(candleIndexes())
	return &candleStore{schema: p, page: pageRows, renew: renewAfter}, nil
}

// candleIndexes are the tables that stand for indexes.
func candleIndexes() []string { return []string{tableMarket, tableMoment, tableTicker} }

// Engines implements candles.Store. The storage engine is one for the whole
// cluster and the administrator's to choose (manual, "Configuration", "Choosing
// a storage engine"); so there is the one that the status tells.
func (s *candleStore) Engines(ctx context.Context) ([]string, error) {
	product, err := s.Describe(ctx)
	if err != nil {
		return nil, err
	}
	return engines(product), nil
}

func (s *candleStore) Create(ctx context.Context, mark workload.Marker, engine string) error {
	if engine != "" {
		there, err := s.Engines(ctx)
		if err != nil {
			return err
		}
		if _, err := candles.FindEngine(engine, there); err != nil {
			return err
		}
	}
	return s.schema.Create(ctx, mark)
}

// FinishLoad implements candles.Store. There are no statistics of a planner.
func (s *candleStore) FinishLoad(context.Context) error { return nil }

// Read implements candles.Store. A candle is never written twice, as schema.read
// takes for granted.
func (s *candleStore) Read(ctx context.Context, row func(candles.Candle) error) error {
	return s.read(ctx, rows(tableCandle, s.candle, row))
}

// candleSession is a candles.Session.
type candleSession struct {
	session
	store *candleStore
}

func (s *candleStore) Session(ctx context.Context) (candles.Session, error) {
	n, err := s.session(ctx)
	return &candleSession{n, s}, err
}

// candlesWritten is how many rows one transaction writes at most. With their
// index entries and all conflict ranges they are some 1.1 MB; the limit is 10
// MB, and 1 MB what the manual advises (see partBytes).
const candlesWritten = 1000

// Insert implements candles.Session. A batch of up to candlesWritten rows is one
// transaction; a larger one is several, of which the first that does not commit
// ends the batch.
func (n *candleSession) Insert(ctx context.Context, batch []candles.Candle) candles.Reply {
	begun := false
	for part := range slices.Chunk(batch, candlesWritten) {
		r := n.insert(ctx, part)
		if r.Outcome != history.Committed {
			if begun {
				r.Outcome = history.Unknown // those before it are there
			}
			return r
		}
		begun = true
	}
	return candles.Reply{Outcome: history.Committed}
}

// insert writes rows and their index entries in one transaction, after looking
// whether one of them is there: writing it anew would leave the entries of what
// it was before.
func (n *candleSession) insert(ctx context.Context, part []candles.Candle) candles.Reply {
	return n.transact(ctx, "insert", func(t *transaction) (reply workload.Reply, err error) {
		before := make([]fdb.FutureByteSlice, len(part))
		for i := range part {
			before[i] = t.Get(fdb.Key(n.key(tableCandle, part[i].ID)))
		}
		for i, f := range before {
			value, err := f.Get()
			if err != nil {
				return reply, err
			}
			if value != nil {
				return refused(workload.ClassDuplicate, "insert", fmt.Errorf("candle %d is there already", part[i].ID)), nil
			}
		}
		for i := range part {
			c := &part[i]
			t.Set(fdb.Key(n.key(tableCandle, c.ID)), candleValue(c))
			for _, entry := range n.entries(c) {
				t.Set(fdb.Key(entry), []byte{})
			}
		}
		return committed(), nil
	})
}

func (n *candleSession) Latest(ctx context.Context, ticker string, limit int, row func(*candles.Candle)) candles.Reply {
	prefix := n.textKey(tableTicker, ticker)
	begin, end := within(prefix)
	return n.ask(ctx, "latest", &query{prefix: prefix, begin: begin, end: end, backwards: true, left: limit, limited: true, row: row})
}

func (n *candleSession) Interval(ctx context.Context, ticker string, from, to int64, row func(*candles.Candle)) candles.Reply {
	prefix := n.textKey(tableTicker, ticker)
	begin, end := between(prefix, from, to)
	return n.ask(ctx, "interval", &query{prefix: prefix, begin: begin, end: end, row: row})
}

func (n *candleSession) Span(ctx context.Context, from, to int64, row func(*candles.Candle)) candles.Reply {
	prefix := n.key(tableMoment)
	begin, end := between(prefix, from, to)
	return n.ask(ctx, "span", &query{prefix: prefix, begin: begin, end: end, row: row})
}
