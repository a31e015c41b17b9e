package cassandra

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"assay/workload"
	"assay/workload/candles"
)

// Every query has a table of its own, as Cassandra's data model wants it
// (Cassandra documentation, "Data Modeling"): by ticker, the last first, and by
// hours. Nobody asks by market, so that there is no table for it.
const (
	tickerTable = "assay_candle_by_ticker"
	hourTable   = "assay_candle_by_hour"
)

const hourMicros = int64(time.Hour / time.Microsecond)

// candleWriters is how many rows of a batch are on their way at once.
const candleWriters = 32

// candleStore is a candles.Store on one keyspace.
type candleStore struct {
	*keyspace
	inserts                [2]string // into tickerTable, hourTable
	latest, interval, span string
	// unsure is when a write last ended without an answer, in nanoseconds since
	// 1970; 0 for never.
	unsure atomic.Int64
}

// OpenCandles connects to the cluster that target.Address names and returns the
// Store of its keyspace. The address and the errors are as with
// OpenAvailability.
//
// The engines are the compressors of Cassandra's tables. A row is two inserts,
// one for each table, which no transaction holds together.
func OpenCandles(ctx context.Context, target workload.Target) (candles.Store, error) {
	k, err := openKeyspace(ctx, target, candleTables()...)
	if err != nil {
		return nil, err
	}
	return newCandles(k), nil
}

func candleTables() []table {
	var columns []string
	for _, name := range candles.NumberNames() {
		columns = append(columns, name+" bigint")
	}
	for _, name := range candles.TextNames() {
		columns = append(columns, name+" text")
	}
	all := strings.Join(columns, ", ")
	return []table{
		{tickerTable, all + ", PRIMARY KEY (ticker, moment, id)"},
		{hourTable, "hour bigint, " + all + ", PRIMARY KEY (hour, moment, id)"},
	}
}

func newCandles(k *keyspace) *candleStore {
	columns := candleColumns()
	marks := strings.Repeat("?, ", strings.Count(columns, ",")) + "?"
	from := "SELECT " + columns + " FROM "
	return &candleStore{
		keyspace: k,
		inserts: [2]string{
			fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", k.full(tickerTable), columns, marks),
			fmt.Sprintf("INSERT INTO %s (%s, hour) VALUES (%s, ?)", k.full(hourTable), columns, marks),
		},
		latest:   from + k.full(tickerTable) + " WHERE ticker = ? ORDER BY moment DESC, id DESC LIMIT ?",
		interval: from + k.full(tickerTable) + " WHERE ticker = ? AND moment >= ? AND moment < ?",
		span:     from + k.full(hourTable) + " WHERE hour = ? AND moment >= ? AND moment < ?",
	}
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

// compressor is one of Cassandra's (Cassandra documentation, "Compression").
type compressor struct{ name, class string }

// compressors are the engines; lz4 is what a table has if nothing is said.
func compressors() []compressor {
	return []compressor{
		{"lz4", "LZ4Compressor"}, {"none", ""}, {"snappy", "SnappyCompressor"}, {"deflate", "DeflateCompressor"}, {"zstd", "ZstdCompressor"},
	}
}

// Engines implements candles.Store.
func (s *candleStore) Engines(context.Context) (names []string, err error) {
	for _, c := range compressors() {
		names = append(names, c.name)
	}
	return names, nil
}

// Create implements candles.Store.
func (s *candleStore) Create(ctx context.Context, m workload.Marker, engine string) error {
	engines, _ := s.Engines(ctx)
	found, err := candles.FindEngine(engine, engines)
	if err != nil {
		return err
	}
	if err := s.keyspace.Create(ctx, m); err != nil || engine == "" {
		return err
	}
	option := "{'enabled': 'false'}"
	if c := compressors()[slices.Index(engines, found)]; c.class != "" {
		option = "{'class': '" + c.class + "'}"
	}
	for _, t := range s.tables {
		if err := s.run(ctx, "choose the compressor of table "+t.name, "ALTER TABLE "+s.full(t.name)+" WITH compression = "+option); err != nil {
			return err
		}
	}
	return s.agree(ctx)
}

// Eventual implements candles.Eventual: on several nodes, without quorums for
// reading and writing, a read may miss what was acknowledged.
func (s *candleStore) Eventual() bool { return !s.quorums() && len(s.session.GetHosts()) > 1 }

// Find implements candles.Store.
func (s *candleStore) Find(ctx context.Context) (*workload.Leftover, error) {
	m, err := s.mark(ctx)
	if m == nil || err != nil {
		return nil, err
	}
	rows, err := s.rowsIn(ctx, tickerTable)
	if err != nil {
		return nil, err
	}
	return &workload.Leftover{Marker: *m, Rows: rows}, nil
}

// rowsIn counts by pages: a count(*) of a large table takes longer than a
// coordinator waits.
func (s *candleStore) rowsIn(ctx context.Context, table string) (n int64, err error) {
	var id int64
	err = s.readPages(ctx, "count table "+table, "SELECT id FROM "+s.full(table), []any{&id}, func() error {
		n++
		return nil
	})
	return n, err
}

// readPages reads a whole table as keyspace.scan does, and calls row for each
// row with what scan has filled.
func (s *candleStore) readPages(ctx context.Context, doing, statement string, scan []any, row func() error) error {
	var state []byte
	level := gocql.All
	for {
		iter := s.session.Query(statement).Consistency(level).PageSize(pageSize).PageState(state).IterContext(ctx)
		next := iter.PageState()
		// All rows of a page have come when the first can be had.
		for range iter.NumRows() {
			if !iter.Scan(scan...) {
				break
			}
			if err := row(); err != nil {
				return errors.Join(err, iter.Close())
			}
		}
		err := iter.Close()
		switch {
		case err != nil && level == gocql.All && ctx.Err() == nil && iter.NumRows() == 0:
			level = gocql.Quorum
			continue
		case err != nil:
			return failed(doing, err)
		case len(next) == 0:
			return nil
		}
		state = next
	}
}

// FinishLoad implements candles.Store. What is in memory is as good as what is
// on the disk, and compaction goes by itself.
func (s *candleStore) FinishLoad(context.Context) error { return nil }

// Read implements candles.Store, of the table by ticker; see keyspace.scan for
// what is seen.
func (s *candleStore) Read(ctx context.Context, row func(candles.Candle) error) error {
	if err := s.mustMark(ctx); err != nil {
		return err
	}
	var c candles.Candle
	var stop error
	err := s.readPages(ctx, "read the candles", "SELECT "+candleColumns()+" FROM "+s.full(tickerTable), candleFields(&c), func() error {
		stop = row(c)
		return stop
	})
	if stop != nil {
		return stop
	}
	return err
}

// Size implements candles.Store; see keyspace.Size. Both tables are data.
func (s *candleStore) Size(ctx context.Context) (workload.Size, error) {
	return s.sizeBy(ctx, s.rowsIn)
}

// Settle implements candles.Store, on the grounds on which
// availabilityStore.Settle does.
func (s *candleStore) Settle(ctx context.Context) error {
	if at := s.unsure.Load(); at != 0 {
		limit := defaultWriteTimeout
		if told, err := time.ParseDuration(s.settingsOf(ctx)["write_request_timeout"]); err == nil {
			limit = told
		}
		if err := pause(ctx, time.Until(time.Unix(0, at).Add(limit))); err != nil {
			return failed("settle", err)
		}
	}
	for {
		var id int64
		err := s.session.Query("SELECT id FROM "+s.full(tickerTable)+" WHERE ticker = ? LIMIT 1", "").Consistency(s.consistency).ScanContext(ctx, &id)
		if err == nil || errors.Is(err, gocql.ErrNotFound) || classOf(err) == classRefused {
			return nil
		}
		if stopped := pause(ctx, pagePause/4); stopped != nil {
			return failed("settle", errors.Join(stopped, err))
		}
	}
}

// candleSession is one client's. It has nothing of its own, since all share
// the connections.
type candleSession struct{ store *candleStore }

// Session implements candles.Store.
func (s *candleStore) Session(context.Context) (candles.Session, error) {
	return &candleSession{store: s}, nil
}

// Close implements candles.Session.
func (n *candleSession) Close() {}
