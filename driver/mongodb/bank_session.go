package mongodb

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"assay/history"
	"assay/workload"
	"assay/workload/bank"
)

// bankSession is a bank.Session.
type bankSession struct {
	*transactor
	store *bankStore
}

func (s *bankStore) Session(ctx context.Context) (bank.Session, error) {
	x, err := s.transactor(ctx)
	if err != nil {
		return nil, err
	}
	return &bankSession{transactor: x, store: s}, nil
}

// Transfer implements bank.Session: the two accounts in ascending order of id,
// then the journal, then the commit.
func (b *bankSession) Transfer(ctx context.Context, t bank.Transfer) bank.Reply {
	a := &attempt{store: b.store, transfer: t}
	refused := false
	r := bank.Reply{Reply: b.transact(ctx, func(ctx context.Context, sent *sending) *workload.Reply {
		a.sent = sent
		ended := a.statements(ctx)
		refused = ended != nil
		return ended
	})}
	switch {
	case refused:
		r.Reply = b.confirmed(ctx, b.store.transfers, byID(t.ID), r.Reply)
	case r.Outcome == history.Committed:
		r.Source, r.Destination = a.source, a.destination
	}
	return r
}

// attempt is one transfer up to its commit.
type attempt struct {
	store    *bankStore
	transfer bank.Transfer
	// sent counts the commands of the whole transaction.
	sent *sending
	// source and destination are the states that the transaction leaves.
	source, destination bank.State
}

// statements does everything but the commit. A reply means that the transfer
// has ended without it. ctx carries the session.
func (a *attempt) statements(ctx context.Context) (ended *workload.Reply) {
	t := a.transfer
	debit := func() error { return a.change(ctx, t.Source, -t.Amount, &a.source) }
	credit := func() error { return a.change(ctx, t.Destination, t.Amount, &a.destination) }
	order := []func() error{debit, credit}
	if t.Destination < t.Source {
		order = []func() error{credit, debit}
	}
	for _, change := range order {
		err := change()
		if errors.Is(err, mongo.ErrNoDocuments) {
			return a.explain(ctx)
		}
		if err != nil {
			return a.lost("change an account", err)
		}
	}
	a.sent.latest = false
	_, err := a.store.transfers.InsertOne(ctx, bson.D{
		{Key: "_id", Value: t.ID}, {Key: "source", Value: t.Source}, {Key: "destination", Value: t.Destination},
		{Key: "amount", Value: t.Amount}, {Key: "source_version", Value: a.source.Version},
		{Key: "destination_version", Value: a.destination.Version},
	})
	if err != nil {
		return a.lost("write the journal", err)
	}
	return nil
}

// lost is the reply when a statement has failed.
func (a *attempt) lost(doing string, err error) *workload.Reply {
	r := judgeStatement(failed(doing, err), a.sent.latest)
	return &r
}

// change adds to an account's balance, if that does not make it negative, and
// to its version, and gives the state that this leaves. mongo.ErrNoDocuments
// means that no account has the id, or that it has too little.
func (a *attempt) change(ctx context.Context, id, amount int64, left *bank.State) error {
	a.sent.latest = false
	filter := bson.D{{Key: "_id", Value: id}}
	if amount < 0 {
		filter = append(filter, bson.E{Key: "balance", Value: bson.D{{Key: "$gte", Value: -amount}}})
	}
	update := bson.D{{Key: "$inc", Value: bson.D{{Key: "balance", Value: amount}, {Key: "version", Value: int64(1)}}}}
	document, err := a.store.accounts.FindOneAndUpdate(ctx, filter, update,
		options.FindOneAndUpdate().SetReturnDocument(options.After)).Raw()
	if err != nil {
		return err
	}
	account, err := accountOf(document)
	left.Balance, left.Version = account.Balance, account.Version
	return err
}

// explain finds out, in the same transaction, why an account could not be
// changed: the journal has the transfer already, there is no such account, or
// it has too little.
func (a *attempt) explain(ctx context.Context) *workload.Reply {
	repeated, err := a.has(ctx, a.store.transfers, a.transfer.ID)
	if err == nil && repeated {
		return &workload.Reply{Outcome: history.Failed, Class: workload.ClassDuplicate}
	}
	class := bank.ClassNoFunds
	for _, id := range []int64{a.transfer.Source, a.transfer.Destination} {
		var there bool
		if err != nil {
			break
		}
		if there, err = a.has(ctx, a.store.accounts, id); !there {
			class = bank.ClassNoAccount
		}
	}
	if err != nil {
		return a.lost("look for the account", err)
	}
	return &workload.Reply{Outcome: history.Rejected, Class: class}
}

func (a *attempt) has(ctx context.Context, c *mongo.Collection, id int64) (bool, error) {
	a.sent.latest = false
	return hasDocument(ctx, c, id)
}
