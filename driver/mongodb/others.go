package mongodb

import (
	"context"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"assay/driver/ownership"
	"assay/store"
)

// ownIndex is an index that a workload makes, beside that of _id.
type ownIndex struct {
	collection string
	unique     bool
	fields     []string
}

func (i ownIndex) model() mongo.IndexModel {
	return mongo.IndexModel{Keys: ascending(i.fields...), Options: options.Index().SetName(i.name()).SetUnique(i.unique)}
}

// name is the name that the server gives to such an index by itself.
func (i ownIndex) name() string { return strings.Join(i.fields, "_1_") + "_1" }

// indexesOf are the indexes of a table that are made when it has been loaded, or at once.
func (s *database) indexesOf(t *store.Table, late bool) (all []ownIndex) {
	l := s.layouts[t.Name]
	for _, i := range t.Indexes {
		if i.Late == late {
			all = append(all, ownIndex{collection: l.documents().Name, unique: i.Unique, fields: l.fields(i.Columns)})
		}
	}
	return all
}

func (s *database) makeIndexes(ctx context.Context, late bool) error {
	for t := range s.of.Tables {
		for _, i := range s.indexesOf(&s.of.Tables[t], late) {
			if _, err := s.database.Collection(i.collection).Indexes().CreateOne(ctx, i.model()); err != nil {
				return failed("make the indexes of collection "+i.collection, err)
			}
		}
	}
	return nil
}

// touches reports whether a collection is ours, or a view names one of ours. Other
// collections stay as they are, since no more than ours are ever dropped.
func (s *database) touches(c mongo.CollectionSpecification) bool {
	return slices.ContainsFunc(s.collections, func(own *mongo.Collection) bool {
		return c.Name == own.Name() || c.Type == "view" && strings.Contains(c.Options.String(), `"`+own.Name()+`"`)
	})
}

// objects are the collections, views and indexes of the database, but for the mark's, the
// lease's, what the server makes by itself (indexes of _id and of a hashed shard key), and
// what has nothing to do with ours.
func (s *database) objects(ctx context.Context) (all []string, err error) {
	found, err := s.database.ListCollectionSpecifications(ctx, bson.D{})
	if err != nil {
		return nil, failed("list the collections", err)
	}
	for _, c := range found {
		if strings.HasPrefix(c.Name, "system.") || c.Name == markCollection || c.Name == leaseCollection {
			continue
		}
		if !s.of.Open && !s.touches(c) {
			continue
		}
		all = append(all, c.Type+" "+s.database.Name()+"."+c.Name)
		if c.Type != "collection" {
			continue
		}
		indexes, err := s.database.Collection(c.Name).Indexes().ListSpecifications(ctx)
		if err != nil {
			return nil, failed("list the indexes of "+c.Name, err)
		}
		for _, i := range indexes {
			if i.Name != "_id_" && i.Name != "_id_hashed" {
				all = append(all, s.indexObject(i.Name, c.Name))
			}
		}
	}
	slices.Sort(all)
	return all, nil
}

func (s *database) collectionObject(name string) string {
	return "collection " + s.database.Name() + "." + name
}

func (s *database) indexObject(name, collection string) string {
	return "index " + name + " on " + s.database.Name() + "." + collection
}

// Others implements ownership.Place. Views of other databases cannot use these
// collections (MongoDB manual, "Views").
func (s *database) Others(ctx context.Context, _ ownership.Direct) error {
	m, err := s.readMark(ctx)
	if err != nil || m == nil {
		return err
	}
	found, err := s.objects(ctx)
	if err != nil {
		return err
	}
	ours := m.Made
	for _, c := range s.collections {
		ours = append(ours, s.collectionObject(c.Name()))
	}
	for t := range s.of.Tables {
		for _, i := range append(s.indexesOf(&s.of.Tables[t], false), s.indexesOf(&s.of.Tables[t], true)...) {
			ours = append(ours, s.indexObject(i.name(), i.collection))
		}
	}
	others := slices.DeleteFunc(found, func(object string) bool { return slices.Contains(ours, object) })
	if len(others) == 0 {
		return nil
	}
	return &store.ForeignError{Name: s.Title(), Others: others,
		Hint: "drop it or move it to another database (renameCollection), or name another server"}
}

// RecordMade implements store.Recording.
func (s *database) RecordMade(ctx context.Context) error {
	made, err := s.objects(ctx)
	if err != nil {
		return err
	}
	return s.recordMade(ctx, made...)
}

// recordMade has the mark name what a user's setup makes, before it does.
func (s *database) recordMade(ctx context.Context, objects ...string) error {
	_, err := s.marks.UpdateByID(ctx, markID, bson.D{{Key: "$addToSet", Value: bson.D{{Key: "made", Value: bson.D{{Key: "$each", Value: objects}}}}}})
	return failed("note what is made", err)
}
