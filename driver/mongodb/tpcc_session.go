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
	return &tpccSession{transactor: x, store: s}, err
}

// do does one transaction: statements, which end it with their error, and the commit.
func (n *tpccSession) do(ctx context.Context, statements func(*tpccTransaction) error) workload.Reply {
	return n.transact(ctx, func(s steps) error {
		err := statements(&tpccTransaction{steps: s, store: n.store, stop: n.stop})
		if errors.As(err, new(*tpcc.StopError)) { // not the server's, which abort must not take for its silence
			return &endError{workload.Reply{Outcome: history.Failed, Class: workload.ClassOther, Err: err}}
		}
		return err
	})
}

// write is do of a transaction that leaves a document in a collection, which it names by
// a unique field with the operation's id.
func (n *tpccSession) write(ctx context.Context, in int, field string, operation int64, statements func(*tpccTransaction) error) workload.Reply {
	return n.confirmed(ctx, n.store.collections[in], bson.D{{Key: field, Value: operation}}, n.do(ctx, statements))
}

// tpccTransaction is a transaction up to its commit.
type tpccTransaction struct {
	steps
	store *tpccStore
	stop  tpcc.Stop
}

func (t *tpccTransaction) collection(number int) *mongo.Collection {
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
	return failed(doing+" "+in.Name(), err)
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

// modify changes a document and reads fields of it as they are then: whole numbers, as many
// as there are targets, and texts that are of no interest.
func (t *tpccTransaction) modify(number int, id, update any, fields []string, into ...*int64) error {
	document, err := t.modified(number, id, update, fields...)
	if err != nil {
		return err
	}
	return t.numbers(number, document, fields, into...)
}

// modified changes a document and returns these fields of it as they are then, or all.
func (t *tpccTransaction) modified(number int, id, update any, fields ...string) (bson.Raw, error) {
	in := t.collection(number)
	o := options.FindOneAndUpdate().SetReturnDocument(options.After)
	if len(fields) > 0 {
		o.SetProjection(only(fields...))
	}
	document, err := in.FindOneAndUpdate(t.next(), byID(id), update, o).Raw()
	return document, statement("change", in, err)
}

// one reads fields of a document, as modify does.
func (t *tpccTransaction) one(number int, id any, fields []string, into ...*int64) error {
	in := t.collection(number)
	document, err := in.FindOne(t.next(), byID(id), options.FindOne().SetProjection(only(fields...))).Raw()
	if err != nil {
		return statement("read", in, err)
	}
	return t.numbers(number, document, fields, into...)
}

// all gives these fields of the documents that a filter finds.
func (t *tpccTransaction) all(number int, filter bson.D, use func(bson.Raw) error, fields ...string) error {
	return eachFound(t.next(), t.collection(number), filter, options.Find().SetProjection(only(fields...)), use)
}

// insert inserts documents.
func (t *tpccTransaction) insert(number int, documents []bson.D) error {
	in := t.collection(number)
	_, err := in.InsertMany(t.next(), documents)
	return statement("insert into", in, err)
}

// updateEach changes documents one by one, in one command. All must be there.
func (t *tpccTransaction) updateEach(number int, updates []mongo.WriteModel) error {
	if len(updates) == 0 {
		return nil
	}
	in := t.collection(number)
	result, err := in.BulkWrite(t.next(), updates)
	if err == nil && result.MatchedCount != int64(len(updates)) {
		err = mongo.ErrNoDocuments
	}
	return statement("change", in, err)
}

// updateAll changes all documents that a filter finds, which must be so many; -1 for any.
func (t *tpccTransaction) updateAll(number int, filter, update bson.D, count int) error {
	in := t.collection(number)
	result, err := in.UpdateMany(t.next(), filter, update)
	if err == nil && count >= 0 && result.MatchedCount != int64(count) {
		err = mongo.ErrNoDocuments
	}
	return statement("change", in, err)
}

// numbers reads the first fields of a document of a collection, which must be whole numbers.
func (t *tpccTransaction) numbers(number int, document bson.Raw, names []string, into ...*int64) error {
	return integers(document, t.collection(number).Name(), names[:len(into)], into)
}

var _ tpcc.IsolationStore = (*tpccStore)(nil)

func (s *tpccStore) Promise() string { return s.promise() }

// Stepped implements tpcc.IsolationStore.
func (s *tpccStore) Stepped(ctx context.Context, stop tpcc.Stop) (tpcc.SteppedSession, error) {
	x, err := s.transactor(ctx)
	return &tpccStepped{tpccSession{transactor: x, store: s, stop: stop}}, err
}

// tpccStepped is a session of the isolation tests.
type tpccStepped struct{ tpccSession }

// Waiting implements tpcc.SteppedSession. A statement that meets another transaction's
// write is refused at once, as in workload isolation, so that there is no account of waits.
func (n *tpccStepped) Waiting(context.Context) (waiting, known bool, err error) {
	return false, false, nil
}

// Remove implements tpcc.SteppedSession.
func (n *tpccStepped) Remove(ctx context.Context) workload.Reply {
	between := func(from, to int64) bson.D {
		return byID(bson.D{{Key: "$gte", Value: from}, {Key: "$lte", Value: to}})
	}
	// warehouses is between of a key that begins with this field.
	warehouses := func(field string) bson.D {
		return keysBetween(bson.D{{Key: field, Value: int64(tpcc.TestWarehouse + 1)}}, bson.D{{Key: field, Value: int64(tpcc.LastTestWarehouse + 1)}})
	}
	operations := between(tpcc.FirstTestOperation, tpcc.LastTestOperation)
	return n.do(ctx, func(t *tpccTransaction) error {
		for number, filter := range [...]bson.D{
			tpccItem:      between(tpcc.FirstTestItem, tpcc.LastTestItem),
			tpccWarehouse: between(tpcc.TestWarehouse+1, tpcc.LastTestWarehouse),
			tpccDistrict:  warehouses("d_w_id"),
			tpccCustomer:  warehouses("c_w_id"),
			tpccHistory:   operations,
			tpccOrders:    warehouses("o_w_id"),
			tpccNewOrder:  warehouses("no_w_id"),
			tpccLine:      warehouses("ol_w_id"),
			tpccStock:     warehouses("s_w_id"),
			tpccDelivery:  operations,
		} {
			in := t.collection(number)
			if _, err := in.DeleteMany(t.next(), filter); err != nil {
				return statement("delete from", in, err)
			}
		}
		return nil
	})
}

// Prices implements tpcc.SteppedSession.
func (n *tpccStepped) Prices(ctx context.Context, items []int64, raise int64) tpcc.PricesReply {
	prices := make([]int64, len(items))
	r := n.do(ctx, func(t *tpccTransaction) error {
		fields := []string{"i_price"}
		for i, item := range items {
			var err error
			if raise == 0 {
				err = t.one(tpccItem, item, fields, &prices[i])
			} else {
				err = t.modify(tpccItem, item, increase(bson.E{Key: fields[0], Value: raise}), fields, &prices[i])
			}
			if err != nil {
				return err
			}
		}
		return t.stop.AtEnd(nil)
	})
	reply := tpcc.PricesReply{Reply: r}
	if r.Outcome == history.Committed {
		reply.Prices = prices
	}
	return reply
}
