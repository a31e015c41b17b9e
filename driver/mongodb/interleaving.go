package mongodb

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"assay/history"
	"assay/workload"
	"assay/workload/interleaving"
)

var _ interleaving.Store = (*isolationStore)(nil)

// Levels implements interleaving.Store: the combinations of concerns that the
// manual's page "Transactions" tells apart.
func (s *isolationStore) Levels() []interleaving.Level {
	of := func(read, write string) interleaving.Level {
		return interleaving.Level{Name: read + ", w=" + write, Options: []string{"readConcernLevel=" + read, "w=" + write}}
	}
	return []interleaving.Level{of("local", "1"), of("local", "majority"), of("majority", "majority"), of(snapshotLevel, "majority")}
}

// Interleaved implements interleaving.Store. The rows are registers.
func (s *isolationStore) Interleaved(ctx context.Context) (interleaving.Session, error) {
	x, err := s.transactor(ctx)
	return &interleavedSession{x, s}, err
}

type interleavedSession struct {
	*transactor
	store *isolationStore
}

// Waiting implements interleaving.Session. A statement that meets another
// transaction's write is refused at once ("Production Considerations",
// "In-progress Transactions and Write Conflicts"), so that there is no account of
// waits.
func (b *interleavedSession) Waiting(context.Context) (waiting, known bool, err error) {
	return false, false, nil
}

func (b *interleavedSession) Transact(ctx context.Context, _ bool, work func(interleaving.Do) error) workload.Reply {
	return b.transact(ctx, func(s steps) error {
		var statement error
		err := work(func(_ context.Context, o interleaving.Operation) (rows []interleaving.Row, err error) {
			rows, statement = b.do(s.next(), o)
			return rows, statement
		})
		if err != nil && statement == nil {
			return &endError{workload.Reply{Outcome: history.Failed, Class: workload.ClassOther, Err: err}}
		}
		if err != nil {
			err = statement // after which there was no other
		}
		return failed("do an operation", err)
	})
}

// do does one operation. ctx carries the session.
func (b *interleavedSession) do(ctx context.Context, o interleaving.Operation) ([]interleaving.Row, error) {
	c := b.store.registers
	value := func(v any) bson.D { return bson.D{{Key: "value", Value: v}} }
	switch o.Action {
	case interleaving.Read:
		return rowsOf(ctx, c, byID(o.ID))
	case interleaving.ReadAll:
		return rowsOf(ctx, c, bson.D{})
	case interleaving.ReadEqual:
		return rowsOf(ctx, c, value(o.Value))
	case interleaving.ReadMultiple:
		return rowsOf(ctx, c, value(bson.D{{Key: "$mod", Value: bson.A{o.Value, int64(0)}}}))
	}
	var err error
	switch o.Action {
	case interleaving.Set:
		_, err = c.UpdateOne(ctx, byID(o.ID), set(value(o.Value)...))
	case interleaving.AddAll:
		_, err = c.UpdateMany(ctx, bson.D{}, increase(value(o.Value)...))
	case interleaving.Insert:
		_, err = c.InsertOne(ctx, append(byID(o.ID), value(o.Value)...))
	case interleaving.DeleteEqual:
		_, err = c.DeleteMany(ctx, value(o.Value))
	case interleaving.DeleteAll:
		_, err = c.DeleteMany(ctx, bson.D{})
	default:
		err = fmt.Errorf("mongodb: no operation has the action %d", o.Action)
	}
	return nil, err
}

// rowsOf reads the registers that a filter selects.
func rowsOf(ctx context.Context, c *mongo.Collection, filter bson.D) (rows []interleaving.Row, err error) {
	cursor, err := c.Find(ctx, filter)
	if err != nil {
		return nil, err
	}
	defer cursor.Close(context.WithoutCancel(ctx))
	for cursor.Next(ctx) {
		var r interleaving.Row
		if err := integers(cursor.Current, c.Name(), []string{"_id", "value"}, []*int64{&r.ID, &r.Value}); err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	return rows, cursor.Err()
}
