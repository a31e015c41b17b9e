package mongodb

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"assay/workload/bank"
)

// Read implements bank.Store, in one snapshot.
func (s *bankStore) Read(ctx context.Context, account func(bank.Account) error, entry func(bank.Entry) error) error {
	return s.view(ctx, func(ctx context.Context) error {
		return readBank(ctx, s.accounts, s.transfers, account, entry)
	})
}

// readBank reads the accounts in the order of their ids and then the journal.
func readBank(ctx context.Context, accounts, transfers *mongo.Collection, account func(bank.Account) error, entry func(bank.Entry) error) error {
	err := each(ctx, accounts, options.Find().SetSort(bson.D{{Key: "_id", Value: 1}}), func(document bson.Raw) error {
		a, err := accountOf(document)
		if err != nil {
			return err
		}
		return account(a)
	})
	if err != nil {
		return err
	}
	return each(ctx, transfers, options.Find(), func(document bson.Raw) error {
		e, err := entryOf(document)
		if err != nil {
			return err
		}
		return entry(e)
	})
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
