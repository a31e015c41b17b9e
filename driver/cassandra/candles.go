package cassandra

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

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
}

// OpenCandles connects to the cluster that target.Address names and returns the
// Store of its keyspace. The address and the errors are as with
// OpenKeyValue.
//
// The engines are the compressors of Cassandra's tables. A row is two inserts,
// one for each table, which no transaction holds together.
func OpenCandles(ctx context.Context, target workload.Target) (candles.Store, error) {
	o, err := parse(target)
	if err != nil {
		return nil, err
	}
	k, err := openKeyspace(ctx, o, candleTables()...)
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
		{tickerTable, all + ", PRIMARY KEY (ticker, moment, id)", "id"},
		{hourTable, "hour bigint, " + all + ", PRIMARY KEY (hour, moment, id)", "id"},
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
func candleColumns() string { return strings.Join(candles.Columns().Names, ", ") }

func (s *candleStore) Engines(context.Context) (names []string, err error) {
	for _, c := range compressors() {
		names = append(names, c.name)
	}
	return names, nil
}

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

// FinishLoad implements candles.Store. What is in memory is as good as what is
// on the disk, and compaction goes by itself.
func (s *candleStore) FinishLoad(context.Context) error { return nil }

// Read implements candles.Store, of the table by ticker; see readPages for what
// is seen.
func (s *candleStore) Read(ctx context.Context, row func(candles.Candle) error) error {
	if err := s.mustMark(ctx); err != nil {
		return err
	}
	var c candles.Candle
	return s.readPages(ctx, "read the candles", "SELECT "+candleColumns()+" FROM "+s.full(tickerTable), nil, candles.Columns().Fields(&c),
		func() error { return row(c) })
}

// Settle implements candles.Store; see settle.
func (s *candleStore) Settle(ctx context.Context) error {
	return s.settle(ctx, "SELECT id FROM "+s.full(tickerTable)+" WHERE ticker = ? LIMIT 1", "")
}

// candleSession is one client's. It has nothing of its own, since all share
// the connections.
type candleSession struct{ store *candleStore }

func (s *candleStore) Session(context.Context) (candles.Session, error) {
	return &candleSession{store: s}, nil
}

func (n *candleSession) Close() {}
