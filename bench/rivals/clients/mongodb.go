package main

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"assay/workload"
	"assay/workload/bank"
)

// mongodbBank is the bank in transactions with driver/mongodb's concerns.
type mongodbBank struct {
	database          *mongo.Database
	accounts, journal *mongo.Collection
	transfers         *bank.Transfers
}

func openMongoDB(address string, transfers *bank.Transfers) (rival, error) {
	client, err := mongo.Connect(options.Client().ApplyURI(address))
	if err != nil {
		return nil, err
	}
	database := client.Database("rival")
	return mongodbBank{database, database.Collection("account"), database.Collection("transfer"), transfers}, nil
}

func (m mongodbBank) load(ctx context.Context) error {
	if err := errors.Join(m.database.Drop(ctx), m.database.CreateCollection(ctx, m.journal.Name())); err != nil {
		return err
	}
	accounts := m.transfers.Accounts()
	documents := make([]any, accounts.Len())
	for i := range documents {
		id := int64(i + 1)
		documents[i] = bson.D{{Key: "_id", Value: id}, {Key: "balance", Value: accounts.Opening(id)}, {Key: "version", Value: int64(0)}}
	}
	_, err := m.accounts.InsertMany(ctx, documents)
	return err
}

func (m mongodbBank) client(ctx context.Context, n int) (operation, error) {
	session, err := m.database.Client().StartSession(options.Session().SetCausalConsistency(false))
	if err != nil {
		return nil, err
	}
	how := options.Transaction().SetReadConcern(readconcern.Snapshot()).SetWriteConcern(writeconcern.Majority())
	within := mongo.NewSessionContext(ctx, session)
	return func(seq uint64) (bool, error) {
		err := session.StartTransaction(how)
		if err == nil {
			err = m.transfer(within, m.transfers.At(workload.OperationID(n, seq)))
		}
		if err == nil {
			err = session.CommitTransaction(within)
		}
		if err == nil {
			return true, nil
		}
		_ = session.AbortTransaction(within) // what was refused has ended already
		conflict, labeled := err.(mongo.LabeledError)
		if labeled && conflict.HasErrorLabel("TransientTransactionError") || errors.Is(err, mongo.ErrNoDocuments) {
			err = nil
		}
		return false, err
	}, nil
}

func (m mongodbBank) transfer(ctx context.Context, t bank.Transfer) error {
	first, second := ordered(t)
	firstVersion, err := m.move(ctx, first)
	if err != nil {
		return err
	}
	secondVersion, err := m.move(ctx, second)
	if err != nil {
		return err
	}
	if first.account == t.Destination {
		firstVersion, secondVersion = secondVersion, firstVersion
	}
	_, err = m.journal.InsertOne(ctx, bson.D{{Key: "_id", Value: t.ID}, {Key: "source", Value: t.Source}, {Key: "destination", Value: t.Destination},
		{Key: "amount", Value: t.Amount}, {Key: "source_version", Value: firstVersion}, {Key: "destination_version", Value: secondVersion}})
	return err
}

// move changes an account and returns its version. It finds none that would be overdrawn.
func (m mongodbBank) move(ctx context.Context, c change) (version int64, err error) {
	filter := bson.D{{Key: "_id", Value: c.account}}
	if c.amount < 0 {
		filter = append(filter, bson.E{Key: "balance", Value: bson.D{{Key: "$gte", Value: -c.amount}}})
	}
	left, err := m.accounts.FindOneAndUpdate(ctx, filter, bson.D{{Key: "$inc", Value: bson.D{{Key: "balance", Value: c.amount},
		{Key: "version", Value: int64(1)}}}}, options.FindOneAndUpdate().SetReturnDocument(options.After)).Raw()
	if err != nil {
		return 0, err
	}
	return left.Lookup("version").Int64(), nil
}
