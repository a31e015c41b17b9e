package mongodb

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"assay/history"
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

var _ bank.Auditor = (*bankStore)(nil)

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

// Find implements bank.Store. It counts the accounts alone.
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

// Read implements bank.Store, in one snapshot.
func (s *bankStore) Read(ctx context.Context, account func(bank.Account) error, entry func(bank.Entry) error) error {
	return s.view(ctx, func(ctx context.Context) error {
		return readBank(ctx, s.accounts, s.transfers, account, entry)
	})
}

// readBank reads the accounts in the order of their ids and then the journal.
func readBank(ctx context.Context, accounts, transfers *mongo.Collection, account func(bank.Account) error, entry func(bank.Entry) error) error {
	if err := eachOf(ctx, accounts, bank.AccountColumns(), options.Find().SetSort(ascending("_id")), account); err != nil {
		return err
	}
	return eachOf(ctx, transfers, bank.EntryColumns(), options.Find(), entry)
}

func (s *bankStore) Audit(ctx context.Context, ids []int64, states []bank.State) error {
	if len(ids) > bank.MaxAudited || len(states) < len(ids) {
		return fmt.Errorf("mongodb: audit of %d accounts into %d states; at most %d", len(ids), len(states), bank.MaxAudited)
	}
	if len(ids) == 0 {
		return nil
	}
	return s.reading(ctx, func(x steps) error {
		for i, id := range ids {
			states[i] = bank.State{}
			err := x.integers(s.accounts, byID(id), stateFields(), &states[i].Balance, &states[i].Version)
			if err := unlessMissing(err); err != nil {
				return err
			}
		}
		return nil
	})
}

// stateFields are the fields of an account's bank.State.
func stateFields() []string { return []string{"balance", "version"} }

// AuditAll implements bank.Auditor. The server adds up.
func (s *bankStore) AuditAll(ctx context.Context) (bank.Totals, error) {
	var t bank.Totals
	err := s.reading(ctx, func(x steps) error {
		sum := func(of any) bson.D { return bson.D{{Key: "$sum", Value: of}} }
		cursor, err := s.accounts.Aggregate(x.ctx, bson.A{bson.D{{Key: "$group", Value: bson.D{{Key: "_id", Value: nil},
			{Key: "accounts", Value: sum(1)}, {Key: "balance", Value: sum("$balance")}, {Key: "versions", Value: sum("$version")}}}}})
		if err != nil {
			return err
		}
		defer cursor.Close(context.WithoutCancel(ctx))
		for cursor.Next(x.ctx) { // once, or not at all if there are no accounts
			err := integers(cursor.Current, accountCollection,
				[]string{"accounts", "balance", "versions"}, []*int64{&t.Accounts, &t.Balance, &t.Versions})
			if err != nil {
				return err
			}
		}
		return cursor.Err()
	})
	if err != nil {
		return bank.Totals{}, err
	}
	return t, nil
}

type bankSession struct {
	*transactor
	store *bankStore
}

func (s *bankStore) Session(ctx context.Context) (bank.Session, error) {
	x, err := s.transactor(ctx)
	return &bankSession{x, s}, err
}

func (b *bankSession) Transfer(ctx context.Context, t bank.Transfer) (reply bank.Reply) {
	var source, destination bank.State
	reply.Reply = b.journaled(ctx, b.store.transfers, t.ID, func(x steps) (err error) {
		source, destination, err = b.store.move(x, t)
		return err
	})
	if reply.Outcome == history.Committed {
		reply.Source, reply.Destination = source, destination
	}
	return reply
}

// move is a transfer up to its commit: the two accounts in ascending order of id, then
// the journal. It returns the states that this leaves.
func (s *bankStore) move(x steps, t bank.Transfer) (source, destination bank.State, err error) {
	debit := func() error { return s.change(x, t, t.Source, -t.Amount, &source) }
	credit := func() error { return s.change(x, t, t.Destination, t.Amount, &destination) }
	first, second := debit, credit
	if t.Destination < t.Source {
		first, second = credit, debit
	}
	if err = first(); err == nil {
		err = second()
	}
	if err != nil {
		return source, destination, err
	}
	_, err = s.transfers.InsertOne(x.next(), bson.D{
		{Key: "_id", Value: t.ID}, {Key: "source", Value: t.Source}, {Key: "destination", Value: t.Destination},
		{Key: "amount", Value: t.Amount}, {Key: "source_version", Value: source.Version},
		{Key: "destination_version", Value: destination.Version},
	})
	return source, destination, failed("write the journal", err)
}

// change adds to an account's balance, if that does not make it negative, and
// to its version, and gives the state that this leaves.
func (s *bankStore) change(x steps, t bank.Transfer, id, amount int64, left *bank.State) error {
	filter := byID(id)
	if amount < 0 {
		filter = append(filter, bson.E{Key: "balance", Value: bson.D{{Key: "$gte", Value: -amount}}})
	}
	update := increase(bson.E{Key: "balance", Value: amount}, bson.E{Key: "version", Value: int64(1)})
	err := x.change(s.accounts, filter, update, stateFields(), &left.Balance, &left.Version)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return s.refused(x, t)
	}
	return failed("change an account", err)
}

// refused finds out, in the same transaction, why an account could not be
// changed: the journal has the transfer already, there is no such account, or
// it has too little.
func (s *bankStore) refused(x steps, t bank.Transfer) error {
	const doing = "look for the account"
	repeated, err := x.has(s.transfers, t.ID)
	switch {
	case err != nil:
		return failed(doing, err)
	case repeated:
		return ended(history.Failed, workload.ClassDuplicate)
	}
	for _, id := range [...]int64{t.Source, t.Destination} {
		switch there, err := x.has(s.accounts, id); {
		case err != nil:
			return failed(doing, err)
		case !there:
			return ended(history.Rejected, bank.ClassNoAccount)
		}
	}
	return ended(history.Rejected, bank.ClassNoFunds)
}
