package mongodb

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"assay/workload"
	"assay/workload/bank"
)

// The names of what is made in the database.
const (
	bankDatabase       = "assay_bank"
	accountCollection  = "account"
	transferCollection = "transfer"
)

// bankStore is a bank.Store.
//
//	account  {_id, balance, version}
//	transfer {_id, source, destination, amount, source_version, destination_version}
//
// All numbers are int64. The collections' only index is that of _id.
type bankStore struct {
	*schema
	accounts, transfers *mongo.Collection
}

// OpenBank connects to the server and returns its Store. target.Isolation may
// be empty or "snapshot". The transfers have read concern and write concern
// majority, unless the address names others (readConcernLevel, w, journal).
//
// Errors: *workload.UnreachableError if there is no primary within
// target.ConnectTimeout (0: ten seconds), *workload.AuthError,
// *workload.OptionError, and plain ones for an address that cannot be read, a
// standalone server and one older than MongoDB 5.0.
func OpenBank(ctx context.Context, target workload.Target) (bank.Store, error) {
	p, err := openSchema(ctx, target, "bank", accountCollection, transferCollection)
	if err != nil {
		return nil, err
	}
	return &bankStore{schema: p, accounts: p.collections[0], transfers: p.collections[1]}, nil
}

// Describe implements bank.Store. Why the members of shards are not compared is
// among the settings, for where there are no replicas there is no check of them
// that could say so.
func (s *bankStore) Describe(ctx context.Context) (workload.Product, error) {
	product, err := s.schema.Describe(ctx)
	if err == nil && s.sharded {
		product.Settings = append(product.Settings, workload.Setting{Name: "check of replicas",
			Value: "not checked: the members of a shard hold a part of the ledger, which cannot be compared with the whole one by one"})
	}
	return product, err
}

func (s *bankStore) Find(ctx context.Context) (*workload.Leftover, error) {
	return s.find(ctx, s.accounts)
}

func (s *bankStore) LoadAccounts(ctx context.Context, batch []bank.Account) error {
	return insertAll(ctx, s.accounts, documentsOf(bank.AccountColumns(), batch))
}

// ReloadAccounts implements bank.Reloader. A batch is no transaction, so that a part of
// it may be there; each document that is has its own key to say so.
func (s *bankStore) ReloadAccounts(ctx context.Context, batch []bank.Account) error {
	err := s.LoadAccounts(ctx, batch)
	var wrong mongo.BulkWriteException
	if !errors.As(err, &wrong) || wrong.WriteConcernError != nil {
		return err
	}
	for _, w := range wrong.WriteErrors {
		if !mongo.IsDuplicateKeyError(w.WriteError) {
			return err
		}
	}
	return nil
}
