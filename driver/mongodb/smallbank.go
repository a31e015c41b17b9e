package mongodb

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"assay/history"
	"assay/workload"
	"assay/workload/smallbank"
)

// smallBankStore is a smallbank.Store, in database assay_smallbank.
//
//	account  {_id: customer, name}
//	saving   {_id: customer, balance, writer, previous}
//	checking {_id: customer, balance, writer, previous}
//	journal  {_id: id, customer_id, other_id, amount, saving_previous, checking_previous, other_previous}
//
// A customer's two accounts are two documents, as they are two rows in the paper: in one
// document they could not show write skew, since two transactions that write the same
// document conflict.
type smallBankStore struct{ *journalStore }

// OpenSmallBank connects to the server and returns its Store. Concerns are as with
// OpenIsolation, and errors as with OpenBank.
func OpenSmallBank(ctx context.Context, target workload.Target) (smallbank.Store, error) {
	s, err := openJournal(ctx, target, smallbank.Name, smallbank.Tables())
	if err != nil {
		return nil, err
	}
	s.preferSnapshot()
	s.indexes = []ownIndex{{collection: s.collections[smallbank.Account].Name(), fields: []string{"name"}}}
	s.beside[smallbank.Account] = func(values []int64) bson.E {
		return bson.E{Key: "name", Value: smallbank.CustomerName(values[0])}
	}
	return &smallBankStore{s}, nil
}

func (s *smallBankStore) Promise() string { return s.promise() }

// FinishLoad makes the index by which customers are found. It is not unique: an index
// beside that of the shard key cannot be.
func (s *smallBankStore) FinishLoad(ctx context.Context) error {
	if err := s.makeIndexes(ctx, s.indexes); err != nil {
		return err
	}
	return s.schema.FinishLoad(ctx)
}

type smallBankSession struct {
	*transactor
	store *smallBankStore
}

func (s *smallBankStore) Session(ctx context.Context) (smallbank.Session, error) {
	x, err := s.transactor(ctx)
	return &smallBankSession{x, s}, err
}

func (n *smallBankSession) Do(ctx context.Context, o smallbank.Operation) (reply smallbank.Reply) {
	var result smallbank.Result
	reply.Reply = n.journaled(ctx, n.store.collections[smallbank.Journal], o.ID, func(s steps) error {
		return failed("do an operation", o.Perform(&smallBankSteps{s, n.store, o.ID}, &result))
	})
	switch {
	case reply.Outcome == history.Committed:
		reply.Result = result
	case !o.Writes():
		reply.Outcome = history.Failed
	}
	return reply
}

// smallBankSteps are the smallbank.Accounts of one transaction.
type smallBankSteps struct {
	steps
	store *smallBankStore
	id    int64
}

func (s *smallBankSteps) Find(name string) (customer int64, err error) {
	accounts := s.store.collections[smallbank.Account]
	err = s.integers(accounts, bson.D{{Key: "name", Value: name}}, []string{"_id"}, &customer)
	if errors.Is(err, mongo.ErrNoDocuments) {
		err = fmt.Errorf("collection %s has no %s", accounts.Name(), name)
	}
	return customer, err
}

func (s *smallBankSteps) Read(table int, customer int64) (state smallbank.State, err error) {
	err = s.integers(s.store.collections[table], byID(customer), []string{"balance", "writer"}, &state.Balance, &state.Writer)
	return state, s.found(err, customer)
}

func (s *smallBankSteps) found(err error, customer int64) error {
	if errors.Is(err, mongo.ErrNoDocuments) {
		return fmt.Errorf("there is no account of customer %d", customer)
	}
	return err
}

func (s *smallBankSteps) Add(table int, customer, amount, writer int64) (smallbank.State, error) {
	filter := byID(customer)
	if table == smallbank.Saving && amount < 0 {
		filter = append(filter, bson.E{Key: "balance", Value: bson.D{{Key: "$gte", Value: -amount}}})
	}
	state, err := s.write(table, filter, bson.D{{Key: "$add", Value: bson.A{"$balance", amount}}}, writer)
	if len(filter) > 1 && errors.Is(err, mongo.ErrNoDocuments) {
		err = s.refused(table, customer)
	}
	return state, s.found(err, customer)
}

// refused finds out, in the same transaction, why an account could not be changed.
func (s *smallBankSteps) refused(table int, customer int64) error {
	repeated, err := s.has(s.store.collections[smallbank.Journal], s.id)
	switch {
	case err != nil:
		return err
	case repeated:
		return ended(history.Failed, workload.ClassDuplicate)
	}
	switch there, err := s.has(s.store.collections[table], customer); {
	case err != nil:
		return err
	case there:
		return ended(history.Rejected, smallbank.ClassNoFunds)
	}
	return mongo.ErrNoDocuments
}

func (s *smallBankSteps) Empty(table int, customer, writer int64) (smallbank.State, error) {
	state, err := s.write(table, byID(customer), int64(0), writer)
	return state, s.found(err, customer)
}

// write sets a balance to the value of an expression, and enters who did.
func (s *smallBankSteps) write(table int, filter bson.D, balance any, writer int64) (state smallbank.State, err error) {
	update := mongo.Pipeline{{{Key: "$set", Value: bson.D{{Key: "balance", Value: balance},
		{Key: "previous", Value: "$writer"}, {Key: "writer", Value: writer}}}}}
	err = s.change(s.store.collections[table], filter, update, []string{"balance", "previous"}, &state.Balance, &state.Writer)
	return state, err
}

func (s *smallBankSteps) Enter(entry smallbank.Entry) error {
	_, err := s.store.collections[smallbank.Journal].InsertOne(s.next(), s.store.document(smallbank.Journal, entry.Values()))
	return err
}
