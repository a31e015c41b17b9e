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
	"assay/workload/isolation"
)

// classDuplicateKey is the class of a document whose _id is there already, or
// that two transactions make at the same time (an upsert of both).
const classDuplicateKey = "duplicate key"

// isolationSession is an isolation.Session.
type isolationSession struct {
	*transactor
	store *isolationStore
	list  []int64 // for lists that are rewritten
}

func (s *isolationStore) Session(ctx context.Context) (isolation.Session, error) {
	x, err := s.transactor(ctx)
	if err != nil {
		return nil, err
	}
	return &isolationSession{transactor: x, store: s}, nil
}

// Do implements isolation.Session. Statements and commit are judged as those of
// a transfer: before the commit everything that goes wrong is proof of no
// effect (judgeStatement), after it only the server's own words are
// (judgeCommit).
func (b *isolationSession) Do(ctx context.Context, ops []isolation.Op) isolation.Reply {
	if len(ops) == 0 {
		return isolation.Reply{Outcome: history.Committed} // of nothing
	}
	for _, op := range ops {
		if op.Kind < isolation.Append || op.Kind > isolation.Withdraw {
			err := fmt.Errorf("mongodb: no operation has the kind %d", op.Kind)
			return isolation.Reply{Outcome: history.Failed, Class: workload.ClassOther, Err: err}
		}
	}
	return replyOf(b.transact(ctx, func(ctx context.Context, sent *sending) *workload.Reply {
		for i := range ops {
			sent.latest = false
			if err := b.operate(ctx, &ops[i]); err != nil {
				r := judgeStatement(failed("do an operation", err), sent.latest)
				return &r
			}
		}
		return nil
	}))
}

// replyOf says the same in the words of this workload.
func replyOf(r isolation.Reply) isolation.Reply {
	if code, _ := serverCode(r.Err); code == codeDuplicateKey {
		r.Class = classDuplicateKey
	}
	return r
}

// operate does one operation. ctx carries the session.
func (b *isolationSession) operate(ctx context.Context, op *isolation.Op) error {
	s := b.store
	switch op.Kind {
	case isolation.Append:
		return upsert(ctx, s.lists, op.Key, "$push", "elements", op.Value)
	case isolation.AppendByRewrite:
		var err error
		if b.list, err = b.read(ctx, op.Key, b.list); err != nil {
			return err
		}
		b.list = append(b.list, op.Value)
		return upsert(ctx, s.lists, op.Key, "$set", "elements", b.list)
	case isolation.ReadList:
		var err error
		op.List, err = b.read(ctx, op.Key, op.List)
		return err
	case isolation.Write:
		return upsert(ctx, s.registers, op.Key, "$set", "value", op.Value)
	case isolation.ReadValue:
		op.Value = 0
		document, err := s.registers.FindOne(ctx, byID(op.Key)).Raw()
		if op.Found = err == nil; !op.Found {
			return unlessMissing(err)
		}
		return integers(document, s.registers.Name(), []string{"value"}, []*int64{&op.Value})
	case isolation.Insert:
		_, err := s.members.InsertOne(ctx, bson.D{{Key: "_id", Value: op.Value}, {Key: "grp", Value: op.Key}})
		return err
	case isolation.Count:
		var err error // an aggregation: the command count is not allowed in transactions
		op.Value, err = s.members.CountDocuments(ctx, bson.D{{Key: "grp", Value: op.Key}})
		return err
	default: // isolation.Withdraw
		return b.withdraw(ctx, op)
	}
}

// read reads a list into the memory of into.
func (b *isolationSession) read(ctx context.Context, key int64, into []int64) ([]int64, error) {
	document, err := b.store.lists.FindOne(ctx, byID(key)).Raw()
	if err != nil {
		return into[:0], unlessMissing(err)
	}
	return elementsOf(document, into[:0])
}

func (b *isolationSession) withdraw(ctx context.Context, op *isolation.Op) error {
	first := 2 * op.Key
	sides := [2]int64{1, 1}
	cursor, err := b.store.pairs.Find(ctx, bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: bson.A{first, first + 1}}}}})
	if err != nil {
		return err
	}
	defer cursor.Close(context.WithoutCancel(ctx))
	for cursor.Next(ctx) {
		var id, value int64
		err := integers(cursor.Current, b.store.pairs.Name(), []string{"_id", "value"}, []*int64{&id, &value})
		if err != nil {
			return err
		}
		if side := id - first; side == 0 || side == 1 {
			sides[side] = value
		}
	}
	if err := cursor.Err(); err != nil {
		return err
	}
	op.Result = sides[0]&1 | sides[1]&1<<1
	own := op.Value & 1
	return upsert(ctx, b.store.pairs, first+own, "$set", "value", isolation.Withdrawn(sides[own], sides[1-own]))
}

// byID finds a document by its _id, which may be a condition on it.
func byID(id any) bson.D { return bson.D{{Key: "_id", Value: id}} }

// unlessMissing leaves out that there is no such document.
func unlessMissing(err error) error {
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil
	}
	return err
}

// upsert changes a field of a document, which is made if it does not exist.
func upsert(ctx context.Context, c *mongo.Collection, id int64, operator, field string, value any) error {
	update := bson.D{{Key: operator, Value: bson.D{{Key: field, Value: value}}}}
	_, err := c.UpdateOne(ctx, byID(id), update, options.UpdateOne().SetUpsert(true))
	return err
}
