package mongodb

import (
	"context"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
)

// readBatch is how many documents the server sends at once when everything is
// read: about a megabyte.
const readBatch = 10_000

// confirmBound is how long a majority may take to have what the primary has,
// before everything is read.
const confirmBound = 30 * time.Second

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
func (s *database) reading(ctx context.Context, work func(steps) error) error {
	x := s.transacting(readconcern.Snapshot(), writeconcern.Majority())
	defer x.Close()
	return x.transact(ctx, func(s steps) error { return failed("read a snapshot", work(s)) }).Err
}
