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

var _ candles.Store = (*candleStore)(nil)

// What candleStore.page and renew are. A page has the last three of the five
// seconds of a transaction.
const (
	pageRows   = 1000
	renewAfter = 2 * time.Second
)

// OpenCandles connects to the cluster and returns its Store. Errors are as with
// OpenBank.
func OpenCandles(ctx context.Context, target workload.Target) (candles.Store, error) {
	if err := primaryOnly(target); err != nil {
		return nil, err
	}
	p, err := openSchema(ctx, target, "candles", append([]string{tableCandle}, candleIndexes()...)...)
	if err != nil {
		return nil, err
	}
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
	return s.read(ctx, span{tableCandle, func(key, value []byte) error {
		var c candles.Candle
		if err := s.candle(key, value, &c); err != nil {
			return fmt.Errorf("foundationdb: read: %w", err)
		}
		return row(c)
	}})
}

// Size implements candles.Store: what schema.Size says, of the rows and of the
// indexes by themselves.
func (s *candleStore) Size(ctx context.Context) (workload.Size, error) {
	if _, err := s.look(ctx, "size", s.ours); err != nil {
		return workload.Size{}, err
	}
	rows, bytes, err := s.count(ctx, tableCandle)
	if err != nil {
		return workload.Size{}, explain(ctx, "size", err)
	}
	size := workload.Size{Rows: map[string]int64{tableCandle: rows}, Measured: measured, Tables: bytes}
	for _, index := range candleIndexes() {
		entries, bytes, err := s.count(ctx, index)
		if err != nil {
			return workload.Size{}, explain(ctx, "size", err)
		}
		size.Rows[index] = entries
		size.Indexes += bytes
	}
	size.Bytes = size.Tables + size.Indexes
	return size, nil
}

// candleSession is a candles.Session.
type candleSession struct{ store *candleStore }

func (s *candleStore) Session(ctx context.Context) (candles.Session, error) {
	if _, err := s.look(ctx, "open a session", s.ours); err != nil {
		return nil, err
	}
	return &candleSession{s}, nil
}

func (n *candleSession) Close() {}

// candlesWritten is how many rows one transaction writes at most. With their
// index entries and all conflict ranges they are some 1.1 MB; the limit is 10
// MB, and 1 MB what the manual advises (see LoadAccounts).
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
	t, err := begin(ctx, n.store.db)
	if err != nil {
		return notBegun(ctx, err)
	}
	defer t.end()
	if err := t.guard(n.store.mark()); err != nil {
		return t.failure("insert", err)
	}
	before := make([]fdb.FutureByteSlice, len(part))
	for i := range part {
		before[i] = t.Get(fdb.Key(n.store.key(tableCandle, part[i].ID)))
	}
	for i, f := range before {
		value, err := f.Get()
		if err != nil {
			return t.failure("insert", err)
		}
		if value != nil {
			return candles.Reply{Outcome: history.Failed, Class: workload.ClassDuplicate,
				Err: fmt.Errorf("foundationdb: insert: candle %d is there already", part[i].ID)}
		}
	}
	for i := range part {
		c := &part[i]
		t.Set(fdb.Key(n.store.key(tableCandle, c.ID)), candleValue(c))
		for _, entry := range n.store.entries(c) {
			t.Set(fdb.Key(entry), []byte{})
		}
	}
	if err := t.commit(); err != nil {
		return t.failure("commit an insert", err)
	}
	return candles.Reply{Outcome: history.Committed}
}

func (n *candleSession) Latest(ctx context.Context, ticker string, limit int, row func(*candles.Candle)) candles.Reply {
	prefix := n.store.textKey(tableTicker, ticker)
	begin, end := within(prefix)
	return n.ask(ctx, "latest", &query{prefix: prefix, begin: begin, end: end, backwards: true, left: limit, limited: true, row: row})
}

func (n *candleSession) Interval(ctx context.Context, ticker string, from, to int64, row func(*candles.Candle)) candles.Reply {
	prefix := n.store.textKey(tableTicker, ticker)
	begin, end := between(prefix, from, to)
	return n.ask(ctx, "interval", &query{prefix: prefix, begin: begin, end: end, row: row})
}

func (n *candleSession) Span(ctx context.Context, from, to int64, row func(*candles.Candle)) candles.Reply {
	prefix := n.store.key(tableMoment)
	begin, end := between(prefix, from, to)
	return n.ask(ctx, "span", &query{prefix: prefix, begin: begin, end: end, row: row})
}
