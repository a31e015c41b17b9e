package mongodb

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

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
	p.preferSnapshot()
	return &isolationStore{schema: p, lists: p.collections[0], registers: p.collections[1],
		members: p.collections[2], pairs: p.collections[3]}, nil
}

func (s *isolationStore) Promise() string { return s.promise() }

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
