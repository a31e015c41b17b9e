package mongodb

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"assay/history"
	"assay/workload"
	"assay/workload/isolation"
)

// isolationStore is an isolation.Store, in database assay_isolation.
//
//	list     {_id: key, elements: [int64]}
//	register {_id: key, value}
//	member   {_id: id, grp}
//	pair     {_id: id, value}
type isolationStore struct {
	*schema
	lists, registers, members, pairs *mongo.Collection
}

// OpenIsolation connects to the server and returns its Store. The transactions
// have read concern snapshot and write concern majority, the strongest that
// there are, unless the address names others (readConcernLevel, w, journal).
// target.Isolation and the errors are as with Open.
func OpenIsolation(ctx context.Context, target workload.Target) (isolation.Store, error) {
	p, err := openSchema(ctx, target, "isolation", "list", "register", "member", "pair")
	if err != nil {
		return nil, err
	}
	p.preferSnapshot()
	p.indexes = []ownIndex{{collection: "member", fields: []string{"grp"}}}
	return &isolationStore{schema: p, lists: p.collections[0], registers: p.collections[1],
		members: p.collections[2], pairs: p.collections[3]}, nil
}

func (s *isolationStore) Promise() string { return s.promise() }

// Create implements isolation.Store. The index lets a group be counted without
// a look at all rows of the run.
func (s *isolationStore) Create(ctx context.Context, m workload.Marker) error {
	if err := s.schema.Create(ctx, m); err != nil {
		return err
	}
	return s.makeIndexes(ctx, s.indexes)
}

// Read implements isolation.Store, in one snapshot.
func (s *isolationStore) Read(ctx context.Context, list func(key int64, elements []int64) error, register func(key, value int64) error) error {
	byKey := func() *options.FindOptionsBuilder { return options.Find().SetSort(ascending("_id")) }
	return s.view(ctx, func(ctx context.Context) error {
		err := each(ctx, s.lists, byKey(), func(document bson.Raw) error {
			var key int64
			if err := integers(document, s.lists.Name(), []string{"_id"}, []*int64{&key}); err != nil {
				return err
			}
			elements, err := elementsOf(document, nil)
			if err != nil {
				return err
			}
			return list(key, elements)
		})
		if err != nil {
			return err
		}
		return each(ctx, s.registers, byKey(), func(document bson.Raw) error {
			var key, value int64
			err := integers(document, s.registers.Name(), []string{"_id", "value"}, []*int64{&key, &value})
			if err != nil {
				return err
			}
			return register(key, value)
		})
	})
}

// elementsOf appends the elements of a list to into.
func elementsOf(document bson.Raw, into []int64) ([]int64, error) {
	array, ok := document.Lookup("elements").ArrayOK()
	if !ok {
		return into, fmt.Errorf("mongodb: collection list: the elements of list %v are no array", document.Lookup("_id"))
	}
	values, err := array.Values()
	if err != nil {
		return into, fmt.Errorf("mongodb: collection list: list %v: %w", document.Lookup("_id"), err)
	}
	for _, value := range values {
		var element int64
		if !integer(value, &element) {
			return into, fmt.Errorf("mongodb: collection list: an element of list %v is not an integer", document.Lookup("_id"))
		}
		into = append(into, element)
	}
	return into, nil
}

// classDuplicateKey is the class of a document whose _id is there already, or
// that two transactions make at the same time (an upsert of both).
const classDuplicateKey = "duplicate key"

type isolationSession struct {
	*transactor
	store *isolationStore
	list  []int64 // for lists that are rewritten
}

func (s *isolationStore) Session(ctx context.Context) (isolation.Session, error) {
	x, err := s.transactor(ctx)
	return &isolationSession{transactor: x, store: s}, err
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
	return replyOf(b.transact(ctx, func(s steps) error {
		for i := range ops {
			if err := b.operate(s.next(), &ops[i]); err != nil {
				return failed("do an operation", err)
			}
		}
		return nil
	}))
}

// replyOf is a reply with this workload's class of a duplicate key.
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
	cursor, err := b.store.pairs.Find(ctx, byID(oneOf(bson.A{first, first + 1})))
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

// upsert changes a field of a document, which is made if it does not exist.
func upsert(ctx context.Context, c *mongo.Collection, id int64, operator, field string, value any) error {
	update := bson.D{{Key: operator, Value: bson.D{{Key: field, Value: value}}}}
	_, err := c.UpdateOne(ctx, byID(id), update, options.UpdateOne().SetUpsert(true))
	return err
}
