package mongodb

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"

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
// target.Isolation and the errors are as with OpenBank.
func OpenIsolation(ctx context.Context, target workload.Target) (isolation.Store, error) {
	p, err := openSchema(ctx, target, "isolation", "list", "register", "member", "pair")
	if err != nil {
		return nil, err
	}
	if !p.namedReadConcern {
		p.readConcern = readconcern.Snapshot()
	}
	return &isolationStore{schema: p, lists: p.collections[0], registers: p.collections[1],
		members: p.collections[2], pairs: p.collections[3]}, nil
}

// Promise implements isolation.Store, by what MongoDB's manual says of a
// transaction's concerns ("Transactions", "Transactions and Read Concern",
// "Transactions and Write Concern"):
//
//   - Read concern snapshot "returns data from a snapshot of majority committed
//     data if the transaction commits with write concern majority", and of two
//     transactions that write the same document one is aborted ("Production
//     Considerations", "In-progress Transactions and Write Conflicts"). That is
//     snapshot isolation, and MongoDB calls it so.
//   - Read concern majority returns, on the same condition, "data that has been
//     acknowledged by a majority of the replica set members and can't be rolled
//     back"; for a view that is one "use snapshot". That is read committed. (On a
//     replica set one "might observe stronger read isolation", says the page on
//     read concern local. What might be is no promise.)
//   - Read concern local returns data that "can be rolled back", and a
//     transaction that commits with less than majority "can be rolled back if
//     there is a failover", with "no guarantees" for what others read under
//     whatever read concern. So what was read may never have been, and what is
//     left is that nothing shows "until a transaction commits" and that writes
//     do not overtake one another: read uncommitted.
//
// The Jepsen report on MongoDB 4.2.6 found the weaker combinations to allow
// lost writes and dirty reads, and anomalies at the strongest one too, read
// skew, cyclic information flow and duplicate writes, which MongoDB took for a
// bug (fixed in 4.2.8): the promise is as above, and it is worth holding.
func (s *isolationStore) Promise() string {
	switch {
	case s.majority() && s.readConcern.Level == snapshotLevel:
		return "snapshot-isolation"
	case s.majority() && s.readConcern.Level == "majority":
		return "read-committed"
	default:
		return "read-uncommitted"
	}
}

func (s *isolationStore) Find(ctx context.Context) (*workload.Leftover, error) {
	return s.find(ctx, s.collections...)
}

// Create implements isolation.Store. The index lets a group be counted without
// a look at all rows of the run.
func (s *isolationStore) Create(ctx context.Context, m workload.Marker) error {
	if err := s.schema.Create(ctx, m); err != nil {
		return err
	}
	_, err := s.members.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: bson.D{{Key: "grp", Value: 1}}})
	if err != nil {
		return failed("create an index", err)
	}
	return nil
}

// Read implements isolation.Store, in one snapshot.
func (s *isolationStore) Read(ctx context.Context, list func(key int64, elements []int64) error, register func(key, value int64) error) error {
	byKey := func() *options.FindOptionsBuilder { return options.Find().SetSort(bson.D{{Key: "_id", Value: 1}}) }
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
