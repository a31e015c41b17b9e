package mongodb

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"assay/workload/bank"
)

// readBatch is how many documents the server sends at once when everything is
// read: about a megabyte.
const readBatch = 10_000

// Read implements bank.Store. Both collections are read in one snapshot session
// (MongoDB manual, "Read Concern snapshot"), so that the view is one, whatever
// happens meanwhile. The server keeps snapshots for a limited time, by default
// 300 seconds; reading longer than that ends with an error that names the
// parameter.
func (s *bankStore) Read(ctx context.Context, account func(bank.Account) error, entry func(bank.Entry) error) error {
	if err := s.mustMark(ctx); err != nil {
		return err
	}
	session, err := s.client.StartSession(options.Session().SetSnapshot(true))
	if err != nil {
		return failed("open a snapshot", err)
	}
	defer session.EndSession(context.WithoutCancel(ctx))
	ctx = mongo.NewSessionContext(ctx, session)
	err = each(ctx, s.accounts, options.Find().SetSort(bson.D{{Key: "_id", Value: 1}}), func(document bson.Raw) error {
		a, err := accountOf(document)
		if err != nil {
			return err
		}
		return account(a)
	})
	if err != nil {
		return err
	}
	return each(ctx, s.transfers, options.Find(), func(document bson.Raw) error {
		e, err := entryOf(document)
		if err != nil {
			return err
		}
		return entry(e)
	})
}

// each gives every document of a collection to use, whose error it returns as
// it is.
func each(ctx context.Context, c *mongo.Collection, o *options.FindOptionsBuilder, use func(bson.Raw) error) error {
	cursor, err := c.Find(ctx, bson.D{}, o.SetBatchSize(readBatch))
	if err != nil {
		return readError(c, err)
	}
	defer cursor.Close(context.WithoutCancel(ctx))
	for cursor.Next(ctx) {
		if err := use(cursor.Current); err != nil {
			return err
		}
	}
	if err := cursor.Err(); err != nil {
		return readError(c, err)
	}
	return nil
}

func readError(c *mongo.Collection, err error) error {
	if code, _ := serverCode(err); code == codeSnapshotTooOld || code == codeSnapshotUnavailable {
		return fmt.Errorf("mongodb: read collection %s: %w; the server keeps snapshots for minSnapshotHistoryWindowInSeconds (300 by default): set that parameter to longer than reading takes, and check again",
			c.Name(), err)
	}
	return failed("read collection "+c.Name(), err)
}

func accountOf(document bson.Raw) (bank.Account, error) {
	var a bank.Account
	err := integers(document, accountCollection,
		[]string{"_id", "balance", "version"}, []*int64{&a.ID, &a.Balance, &a.Version})
	return a, err
}

func entryOf(document bson.Raw) (bank.Entry, error) {
	var e bank.Entry
	err := integers(document, transferCollection,
		[]string{"_id", "source", "destination", "amount", "source_version", "destination_version"},
		[]*int64{&e.ID, &e.Source, &e.Destination, &e.Amount, &e.SourceVersion, &e.DestinationVersion})
	return e, err
}

// integers reads fields that must be whole numbers; a float is none, whatever
// its value.
func integers(document bson.Raw, collection string, names []string, into []*int64) error {
	for i, name := range names {
		value := document.Lookup(name)
		switch value.Type {
		case bson.TypeInt64:
			*into[i] = value.Int64()
		case bson.TypeInt32:
			*into[i] = int64(value.Int32())
		default:
			return fmt.Errorf("mongodb: collection %s: field %s of a document is missing or not an integer", collection, name)
		}
	}
	return nil
}
