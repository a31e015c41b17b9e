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
	"assay/workload/tpcc"
)

// tpccSession does the transactions. As its paper has it of py-tpcc (see tpccStore):
// what is read to be changed is changed and read by one findAndModify; the document on
// which most transactions meet, the warehouse's or the district's, is written first, so
// that one that has to fail fails early; and what goes to several documents of a
// collection is one command.
//
// A document that another open transaction has written gives an error at once, and is
// not waited for (MongoDB manual, "Production Considerations", "In-progress Transactions
// and Write Conflicts").
type tpccSession struct {
	*transactor
	store *tpccStore
	// stop is nil but in isolation tests.
	stop tpcc.Stop
}

func (s *tpccStore) Session(ctx context.Context) (tpcc.Session, error) {
	x, err := s.transactor(ctx)
	if err != nil {
		return nil, err
	}
	return &tpccSession{transactor: x, store: s}, nil
}

// errUnusedItem ends a New-Order.
var errUnusedItem = errors.New("an item does not exist")

// do does one transaction: statements, which end it with their error, and the commit.
func (n *tpccSession) do(ctx context.Context, statements func(ctx context.Context, t *tpccTransaction) error) workload.Reply {
	var ownEnd error // one that is not the server's, which abort must not take for its silence
	r := n.transact(ctx, func(ctx context.Context, sent *sending) *workload.Reply {
		err := statements(ctx, &tpccTransaction{store: n.store, sent: sent, stop: n.stop})
		switch {
		case err == nil:
			return nil
		case errors.Is(err, errUnusedItem):
			return &workload.Reply{Outcome: history.Rejected, Class: tpcc.ClassUnusedItem}
		case errors.As(err, new(*tpcc.StopError)):
			ownEnd = err
			return &workload.Reply{Outcome: history.Failed, Class: workload.ClassOther}
		}
		r := judgeStatement(err, sent.latest)
		return &r
	})
	if ownEnd != nil {
		r.Err = ownEnd
	}
	return r
}

// write is do of a transaction that leaves a document in a collection, which it names by
// a unique field with the operation's id.
func (n *tpccSession) write(ctx context.Context, in int, field string, operation int64, statements func(ctx context.Context, t *tpccTransaction) error) workload.Reply {
	return n.confirmed(ctx, n.store.collections[in], bson.D{{Key: field, Value: operation}}, n.do(ctx, statements))
}

// tpccTransaction is a transaction up to its commit. The contexts of its methods carry
// the session.
type tpccTransaction struct {
	store *tpccStore
	sent  *sending
	stop  tpcc.Stop
}

// collection is where the next statement goes.
func (t *tpccTransaction) collection(number int) *mongo.Collection {
	t.sent.latest = false
	return t.store.collections[number]
}

// missing is the error where a document that must be there is not.
func missing(in *mongo.Collection) error {
	return fmt.Errorf("mongodb: collection %s lacks a document that must be there", in.Name())
}

// statement is the error of a statement on a collection.
func statement(doing string, in *mongo.Collection, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, mongo.ErrNoDocuments) {
		return missing(in)
	}
	return failed(doing+" "+in.Name(), single(err))
}

// single gives an error of several writes in one command the form of that of one, whose
// code is known to serverCode. Nothing of a transaction's command takes effect alone.
func single(err error) error {
	var several mongo.BulkWriteException
	if !errors.As(err, &several) || len(several.WriteErrors) == 0 {
		return err
	}
	return mongo.WriteException{WriteErrors: mongo.WriteErrors{several.WriteErrors[0].WriteError},
		WriteConcernError: several.WriteConcernError, Labels: several.Labels}
}

// beginning finds the documents whose keys begin with these fields, the last of which is
// a whole number: a document that is the beginning of another one sorts before it.
func beginning(key bson.D) bson.D {
	last := len(key) - 1
	next := append(append(bson.D{}, key[:last]...), bson.E{Key: key[last].Key, Value: key[last].Value.(int64) + 1})
	return keysBetween(key, next)
}

// keysBetween finds the documents with keys from one on and before another.
func keysBetween(from, before bson.D) bson.D {
	return byID(bson.D{{Key: "$gte", Value: from}, {Key: "$lt", Value: before}})
}

func set(fields ...bson.E) bson.D      { return bson.D{{Key: "$set", Value: bson.D(fields)}} }
func increase(fields ...bson.E) bson.D { return bson.D{{Key: "$inc", Value: bson.D(fields)}} }

// oneOf finds one of several values.
func oneOf(values bson.A) bson.D { return bson.D{{Key: "$in", Value: values}} }

// modify changes a document and returns these fields of it as they are then, or all.
func (t *tpccTransaction) modify(ctx context.Context, number int, id, update any, fields ...string) (bson.Raw, error) {
	in := t.collection(number)
	o := options.FindOneAndUpdate().SetReturnDocument(options.After)
	if len(fields) > 0 {
		o.SetProjection(only(fields...))
	}
	document, err := in.FindOneAndUpdate(ctx, byID(id), update, o).Raw()
	return document, statement("change", in, err)
}

// one returns these fields of a document.
func (t *tpccTransaction) one(ctx context.Context, number int, id any, fields ...string) (bson.Raw, error) {
	in := t.collection(number)
	document, err := in.FindOne(ctx, byID(id), options.FindOne().SetProjection(only(fields...))).Raw()
	return document, statement("read", in, err)
}

// all gives these fields of the documents that a filter finds.
func (t *tpccTransaction) all(ctx context.Context, number int, filter bson.D, use func(bson.Raw) error, fields ...string) error {
	return eachFound(ctx, t.collection(number), filter, options.Find().SetProjection(only(fields...)), use)
}

// insert inserts documents.
func (t *tpccTransaction) insert(ctx context.Context, number int, documents []bson.D) error {
	in := t.collection(number)
	_, err := in.InsertMany(ctx, documents)
	return statement("insert into", in, err)
}

// updateEach changes documents one by one, in one command. All must be there.
func (t *tpccTransaction) updateEach(ctx context.Context, number int, updates []mongo.WriteModel) error {
	if len(updates) == 0 {
		return nil
	}
	in := t.collection(number)
	result, err := in.BulkWrite(ctx, updates)
	if err == nil && result.MatchedCount != int64(len(updates)) {
		err = mongo.ErrNoDocuments
	}
	return statement("change", in, err)
}

// updateAll changes all documents that a filter finds, which must be so many; -1 for any.
func (t *tpccTransaction) updateAll(ctx context.Context, number int, filter, update bson.D, count int) error {
	in := t.collection(number)
	result, err := in.UpdateMany(ctx, filter, update)
	if err == nil && count >= 0 && result.MatchedCount != int64(count) {
		err = mongo.ErrNoDocuments
	}
	return statement("change", in, err)
}

// numbers reads fields of a document of a collection that must be whole numbers.
func (t *tpccTransaction) numbers(number int, document bson.Raw, names []string, into ...*int64) error {
	return integers(document, t.store.collections[number].Name(), names, into)
}
