package mongodb

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"assay/history"
	"assay/workload"
	"assay/workload/candles"
)

// candleStore is a candles.Store, in database assay_candles.
//
//	candle {_id: id, moment, opening, ...}
//
// Sessions share one client of the library, and are settled and described, as
// those of workload availability.
type candleStore struct{ *sharedClientStore }

// OpenCandles connects to the server and returns its Store. Concerns are those
// of the address, or the server's defaults; the library's retries are off.
// Errors are as with Open.
//
// The engines are WiredTiger's compressors of blocks.
func OpenCandles(ctx context.Context, target workload.Target) (candles.Store, error) {
	s, err := openShared(ctx, target, "candles",
		"none: writing and reading here are no transactions; the address's readConcernLevel and w choose", "candle")
	if err != nil {
		return nil, err
	}
	for _, fields := range [][]string{{"moment"}, {"ticker", "moment"}, {"market", "moment"}} {
		s.indexes = append(s.indexes, ownIndex{collection: s.rows.Name(), fields: fields})
	}
	return &candleStore{s}, nil
}

// Engines implements candles.Store. snappy is what WiredTiger takes if nothing
// is said (MongoDB manual, "storage.wiredTiger.collectionConfig.blockCompressor").
func (s *candleStore) Engines(context.Context) ([]string, error) {
	return []string{"snappy", "none", "zlib", "zstd"}, nil
}

func (s *candleStore) Create(ctx context.Context, m workload.Marker, engine string) error {
	engines, _ := s.Engines(ctx)
	found, err := candles.FindEngine(engine, engines)
	if err != nil {
		return err
	}
	stored := options.CreateCollection()
	if engine != "" {
		stored.SetStorageEngine(bson.D{{Key: "wiredTiger", Value: bson.D{{Key: "configString", Value: "block_compressor=" + found}}}})
	}
	if err := s.create(ctx, m, stored); err != nil {
		return err
	}
	return s.makeIndexes(ctx, s.indexes)
}

// FinishLoad implements candles.Store. MongoDB's planner tries its plans out
// and needs nothing.
func (s *candleStore) FinishLoad(context.Context) error { return nil }

// Read implements candles.Store, in one snapshot of what a majority has.
func (s *candleStore) Read(ctx context.Context, row func(candles.Candle) error) error {
	return readAll(ctx, s.sharedClientStore, candles.Columns(), row)
}

type candleSession struct{ sharedSession }

func (s *candleStore) Session(context.Context) (candles.Session, error) {
	n, err := s.session()
	return &candleSession{n}, err
}

// Insert implements candles.Session. The documents are not one transaction, so
// that an error proves no effect only if nothing was sent.
func (n *candleSession) Insert(ctx context.Context, batch []candles.Candle) candles.Reply {
	counted, sent := counting(ctx)
	_, err := n.rows.InsertMany(counted, documentsOf(candles.Columns(), batch), options.InsertMany().SetOrdered(false))
	if err == nil {
		return candles.Reply{Outcome: history.Committed}
	}
	return unacknowledged("insert", err, sent.commands)
}

func (n *candleSession) Latest(ctx context.Context, ticker string, limit int, row func(*candles.Candle)) candles.Reply {
	return n.ask(ctx, "latest", bson.D{{Key: "ticker", Value: ticker}},
		options.Find().SetSort(bson.D{{Key: "moment", Value: -1}}).SetLimit(int64(limit)), row)
}

func (n *candleSession) Interval(ctx context.Context, ticker string, from, to int64, row func(*candles.Candle)) candles.Reply {
	return n.ask(ctx, "interval", bson.D{{Key: "ticker", Value: ticker}, {Key: "moment", Value: between(from, to)}}, options.Find(), row)
}

func (n *candleSession) Span(ctx context.Context, from, to int64, row func(*candles.Candle)) candles.Reply {
	return n.ask(ctx, "span", bson.D{{Key: "moment", Value: between(from, to)}}, options.Find(), row)
}

func between(from, to int64) bson.D {
	return bson.D{{Key: "$gte", Value: from}, {Key: "$lt", Value: to}}
}

func (n *candleSession) ask(ctx context.Context, doing string, filter bson.D, o *options.FindOptionsBuilder, row func(*candles.Candle)) candles.Reply {
	counted, sent := counting(ctx)
	cursor, err := n.rows.Find(counted, filter, o)
	if err != nil {
		return withoutEffect(doing, err, sent.commands)
	}
	defer cursor.Close(context.WithoutCancel(ctx))
	var c candles.Candle
	columns := candles.Columns()
	fields, names := columns.Fields(&c), storedNames(columns.Names)
	for cursor.Next(counted) {
		if err := decode(cursor.Current, n.rows.Name(), 0, names, fields); err != nil {
			return candles.Reply{Outcome: history.Failed, Class: workload.ClassOther, Err: err}
		}
		row(&c)
	}
	if err := cursor.Err(); err != nil {
		return withoutEffect(doing, err, sent.commands)
	}
	return candles.Reply{Outcome: history.Committed}
}
