package mongodb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"assay/workload"
	"assay/workload/bank"
)

// The names of what is made in the database, whatever database the address
// names.
const (
	bankDatabase       = "assay_bank"
	accountCollection  = "account"
	transferCollection = "transfer"
	markCollection     = "assay_mark"
)

// bankStore is a bank.Store.
//
//	account  {_id, balance, version}
//	transfer {_id, source, destination, amount, source_version, destination_version}
//
// All numbers are int64. The collections' only index is that of _id.
type bankStore struct {
	*connection
	// The collections as used outside of transfers: majority for reading and
	// writing, whatever the transfers' concerns are.
	database  *mongo.Database
	accounts  *mongo.Collection
	transfers *mongo.Collection
	marks     *mongo.Collection

	mu sync.Mutex
	// abandoned are sessions whose transaction may still be open on the server.
	abandoned []*mongo.Session
}

var _ bank.Store = (*bankStore)(nil)

// OpenBank connects to the server and returns its Store. target.Isolation may
// be empty or "snapshot". The transfers have read concern and write concern
// majority, unless the address names others (readConcernLevel, w, journal).
//
// Errors: *workload.UnreachableError if there is no primary within
// target.ConnectTimeout (0: ten seconds), *workload.AuthError,
// *workload.OptionError, and plain ones for an address that cannot be read, a
// standalone server and one older than MongoDB 5.0.
func OpenBank(ctx context.Context, target workload.Target) (bank.Store, error) {
	c, err := connect(ctx, target, "bank")
	if err != nil {
		return nil, err
	}
	database := c.client.Database(bankDatabase, options.Database().SetReadConcern(readconcern.Majority()).
		SetWriteConcern(writeconcern.Majority()).SetReadPreference(readpref.Primary()))
	return &bankStore{
		connection: c, database: database,
		accounts:  database.Collection(accountCollection),
		transfers: database.Collection(transferCollection),
		marks:     database.Collection(markCollection),
	}, nil
}

// mark is a workload.Mark in the database.
type mark struct {
	ID       string    `bson:"_id"`
	Run      string    `bson:"run"`
	Workload string    `bson:"workload"`
	Version  string    `bson:"version"`
	Created  time.Time `bson:"created"`
	Rows     int64     `bson:"rows"`
	Loaded   bool      `bson:"loaded"`
}

// markID is the _id of the mark, the only document of its collection.
const markID = "assay"

// mark returns the mark, nil if there is nothing of our name at all, and
// *workload.ForeignError if there is something without a mark. An empty
// collection for marks, alone, is what is left when creation ends at its very
// first step; it counts as nothing.
func (s *bankStore) mark(ctx context.Context) (*workload.Mark, error) {
	names, err := s.database.ListCollectionNames(ctx, bson.D{})
	if err != nil {
		return nil, failed("list the collections", err)
	}
	// The server's own collections (system.profile, system.views) are nobody's
	// data.
	names = slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(name, "system.") })
	if len(names) == 0 {
		return nil, nil
	}
	var m mark
	err = s.marks.FindOne(ctx, bson.D{{Key: "_id", Value: markID}}).Decode(&m)
	if err == nil {
		return &workload.Mark{Run: m.Run, Workload: m.Workload, Version: m.Version, Created: m.Created.UTC(),
			Rows: m.Rows, Loaded: m.Loaded}, nil
	}
	foreign := &workload.ForeignError{Name: "database " + bankDatabase,
		Hint: "rename it, or drop it with db.getSiblingDB(\"" + bankDatabase + "\").dropDatabase() if nobody needs it"}
	if _, answered := serverCode(err); answered || mongo.IsNetworkError(err) || mongo.IsTimeout(err) || ctx.Err() != nil {
		return nil, failed("read the mark", err)
	}
	if !errors.Is(err, mongo.ErrNoDocuments) || len(names) > 1 || names[0] != markCollection {
		return nil, foreign
	}
	n, err := s.marks.CountDocuments(ctx, bson.D{})
	if err != nil {
		return nil, failed("read the mark", err)
	}
	if n > 0 {
		return nil, foreign
	}
	return nil, nil
}

// mustMark is mark, with *workload.NoSchemaError if there is nothing.
func (s *bankStore) mustMark(ctx context.Context) error {
	m, err := s.mark(ctx)
	if err == nil && m == nil {
		err = &workload.NoSchemaError{Name: "database " + bankDatabase}
	}
	return err
}

// Find implements bank.Store.
func (s *bankStore) Find(ctx context.Context) (*workload.Remains, error) {
	m, err := s.mark(ctx)
	if m == nil || err != nil {
		return nil, err
	}
	rows, err := s.accounts.CountDocuments(ctx, bson.D{})
	if err != nil {
		return nil, failed("count the accounts", err)
	}
	return &workload.Remains{Mark: *m, Rows: rows}, nil
}

// Create implements bank.Store. The mark comes first and goes last, so that
// whatever moment it is interrupted at, what is there is known as ours. The
// collections are made beforehand since not every transaction can make them.
func (s *bankStore) Create(ctx context.Context, m workload.Mark) error {
	if err := s.Drop(ctx); err != nil {
		return err
	}
	document := mark{ID: markID, Run: m.Run, Workload: m.Workload, Version: m.Version, Created: m.Created,
		Rows: m.Rows, Loaded: m.Loaded}
	if _, err := s.marks.InsertOne(ctx, document); err != nil {
		return failed("write the mark", err)
	}
	for _, name := range []string{accountCollection, transferCollection} {
		if err := s.database.CreateCollection(ctx, name); err != nil {
			return failed("create collection "+name, err)
		}
	}
	return nil
}

// LoadAccounts implements bank.Store.
func (s *bankStore) LoadAccounts(ctx context.Context, batch []bank.Account) error {
	if len(batch) == 0 {
		return nil
	}
	documents := make([]bson.D, len(batch))
	for i, a := range batch {
		documents[i] = bson.D{{Key: "_id", Value: a.ID}, {Key: "balance", Value: a.Balance}, {Key: "version", Value: a.Version}}
	}
	if _, err := s.accounts.InsertMany(ctx, documents, options.InsertMany().SetOrdered(false)); err != nil {
		return failed("load accounts", err)
	}
	return nil
}

// FinishLoad implements bank.Store. There is nothing to build late.
func (s *bankStore) FinishLoad(ctx context.Context) error {
	result, err := s.marks.UpdateByID(ctx, markID, bson.D{{Key: "$set", Value: bson.D{{Key: "loaded", Value: true}}}})
	if err != nil {
		return failed("finish loading", err)
	}
	if result.MatchedCount == 0 {
		return &workload.NoSchemaError{Name: "database " + bankDatabase}
	}
	return nil
}

// Drop implements bank.Store. It drops our three collections and not the
// database, which ends with its last collection.
func (s *bankStore) Drop(ctx context.Context) error {
	m, err := s.mark(ctx)
	if m == nil || err != nil {
		return err
	}
	for _, collection := range []*mongo.Collection{s.transfers, s.accounts, s.marks} {
		if err := collection.Drop(ctx); err != nil {
			return failed("drop collection "+collection.Name(), err)
		}
	}
	return nil
}

// Close implements bank.Store.
func (s *bankStore) Close() error { return s.close() }

// failed wraps an error of the library with what was being done.
func failed(doing string, err error) error { return fmt.Errorf("mongodb: %s: %w", doing, err) }
