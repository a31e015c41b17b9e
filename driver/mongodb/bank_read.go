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
	byID := options.Find().SetSort(bson.D{{Key: "_id", Value: 1}})
	if err := eachOf(ctx, accounts, bank.AccountColumns(), byID, account); err != nil {
		return err
	}
	return eachOf(ctx, transfers, bank.EntryColumns(), options.Find(), entry)
}

func accountOf(document bson.Raw) (bank.Account, error) {
	var a bank.Account
	err := integers(document, accountCollection,
		[]string{"_id", "balance", "version"}, []*int64{&a.ID, &a.Balance, &a.Version})
	return a, err
}
