package mongodb

import (
	"context"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"assay/workload"
)

// readBatch is how many documents the server sends at once when everything is
// read: about a megabyte.
const readBatch = 10_000

// confirmBound is how long a majority may take to have what the primary has,
// before everything is read.
const confirmBound = 30 * time.Second

// view has read look at our collections in one snapshot session (MongoDB
// manual, "Read Concern snapshot"), which the context carries, so that the view
// is one, whatever happens meanwhile. The server keeps snapshots for a limited
// time, by default 300 seconds; reading longer than that ends with an error
// that names the parameter.
//
// A snapshot holds what a majority has. So that nothing is missing that was
// acknowledged with less, the majority is waited for first; without one there is
// an error after confirmBound, and not an old state.
//
// A standalone server has no snapshots. Its workloads have one collection each, and
// nothing of the run changes it after Settle.
func (s *schema) view(ctx context.Context, read func(context.Context) error) error {
	if err := s.mustMark(ctx); err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, confirmBound)
	err := s.confirm(bounded)
	cancel()
	if err != nil {
		return failed(confirming, err)
	}
	if s.standalone {
		return read(ctx)
	}
	session, err := s.client.StartSession(options.Session().SetSnapshot(true))
	if err != nil {
		return failed("open a snapshot", err)
	}
	defer session.EndSession(context.WithoutCancel(ctx))
	return read(mongo.NewSessionContext(ctx, session))
}

// each gives every document of a collection to use, whose error it returns as
// it is, and has the server count them in the same state: what it did not give is not
// lost.
//
// No setting of a server limits what a query gives, and every operation names its read and
// write concern, or has that of the cluster as its subject (setDefaultRWConcern; reported
// as the server's default). What notablescan or a default time limit (defaultMaxTimeMS)
// refuse is an error.
func each(ctx context.Context, c *mongo.Collection, o *options.FindOptionsBuilder, use func(bson.Raw) error) error {
	read := int64(0)
	err := eachFound(ctx, c, bson.D{}, o, func(document bson.Raw) error {
		read++
		return use(document)
	})
	if err != nil {
		return err
	}
	counted, err := c.CountDocuments(ctx, bson.D{})
	if err != nil {
		return readError(c, err)
	}
	return workload.Whole(c.Name(), read, counted)
}

// eachFound is each of the documents that a filter finds.
func eachFound(ctx context.Context, c *mongo.Collection, filter bson.D, o *options.FindOptionsBuilder, use func(bson.Raw) error) error {
	cursor, err := c.Find(ctx, filter, o.SetBatchSize(readBatch))
	if err != nil {
		return readError(c, err)
	}
	defer cursor.Close(context.WithoutCancel(ctx))
	for cursor.Next(ctx) {
		if err := use(cursor.Current); err != nil {
			return err
		}
	}
	return readError(c, cursor.Err())
}

func readError(c *mongo.Collection, err error) error {
	if code, _ := serverCode(err); code == codeSnapshotTooOld || code == codeSnapshotUnavailable {
		return fmt.Errorf("mongodb: read collection %s: %w; the server keeps snapshots for minSnapshotHistoryWindowInSeconds (300 by default): set that parameter to longer than reading takes, and check again",
			c.Name(), err)
	}
	return failed("read collection "+c.Name(), err)
}

func integer(value bson.RawValue, into *int64) bool {
	switch value.Type {
	case bson.TypeInt64:
		*into = value.Int64()
	case bson.TypeInt32:
		*into = int64(value.Int32())
	default:
		return false
	}
	return true
}

// reading runs work in one transaction with read concern snapshot, whatever the
// workload's transactions have. What it read counts only if it then commits with write concern
// majority: "otherwise the snapshot read concern provides no guarantee that
// read operations used a snapshot of majority-committed data" (MongoDB manual,
// "Transactions and Read Concern"; the Jepsen report on MongoDB 4.2.6 shows
// that this is so for transactions that only read).
func (s *schema) reading(ctx context.Context, work func(steps) error) error {
	x := &transactor{schema: s, readConcern: readconcern.Snapshot(), writeConcern: writeconcern.Majority()}
	defer x.Close()
	return x.transact(ctx, func(s steps) error { return failed("read a snapshot", work(s)) }).Err
}
