package mongodb

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"assay/store"
)

var _ store.ExistingTables = (*database)(nil)

// homeOf is the database that a schema's collections lie in: the address names the one of
// collections that were there before.
func (c *connection) homeOf(of store.Schema) (string, error) {
	switch {
	case !of.Existing:
		return "assay_" + of.Workload, nil
	case c.named == "":
		return "", &store.OptionError{Option: "address", Value: c.printable, Reason: "it names no database",
			Want: "mongodb://HOST:PORT/DATABASE, with the database that has the collections"}
	}
	return c.named, nil
}

// CheckShape implements store.ExistingTables. A collection has no columns, so that one of its
// documents is looked at: its fields must be text, or bytes, as YCSB's driver for MongoDB
// writes them; what is written is of the same type. A collection without documents has any
// shape.
func (d *database) CheckShape(ctx context.Context) error {
	for i := range d.of.Tables {
		t := &d.of.Tables[i]
		name := d.database.Name() + "." + t.Name
		there, err := d.database.ListCollectionSpecifications(ctx, bson.D{{Key: "name", Value: t.Name}})
		switch {
		case err != nil:
			return failed("look at the existing collections", err)
		case len(there) == 0:
			return &store.ShapeError{Table: name, Differs: []string{"there is no collection of this name"}}
		case there[0].Type != "collection":
			return &store.ShapeError{Table: name, Differs: []string{"it is no plain collection but a " + there[0].Type}}
		}
		var document bson.Raw
		switch err := d.database.Collection(t.Name).FindOne(ctx, bson.D{}).Decode(&document); {
		case errors.Is(err, mongo.ErrNoDocuments):
			continue
		case err != nil:
			return failed("look at the existing collections", err)
		}
		if differs := d.layouts[t.Name].adapt(document); differs != nil {
			return &store.ShapeError{Table: name, Differs: differs}
		}
	}
	return nil
}

// Attached implements store.ExistingTables: capped collections drop their oldest documents, and
// others drop them after a time (MongoDB manual 8.0, "Capped Collections", "TTL Indexes").
func (d *database) Attached(ctx context.Context, table string) (all []store.Attachment, err error) {
	add := func(alters bool, format string, a ...any) {
		all = append(all, store.Attachment{Table: d.database.Name() + "." + table, Text: fmt.Sprintf(format, a...), Alters: alters})
	}
	const doing = "look at what hangs on the existing collections"
	specifications, err := d.database.ListCollectionSpecifications(ctx, bson.D{{Key: "name", Value: table}})
	if err != nil {
		return nil, failed(doing, err)
	}
	if len(specifications) == 0 {
		return nil, nil
	}
	options := specifications[0].Options
	if capped, is := options.Lookup("capped").BooleanOK(); is && capped {
		add(true, "the limit of a capped collection")
	}
	if seconds, is := options.Lookup("expireAfterSeconds").AsInt64OK(); is {
		add(true, "documents expire after %d s", seconds)
	}
	if !options.Lookup("validator").IsZero() {
		add(false, "a validator")
	}
	cursor, err := d.database.Collection(table).Indexes().List(ctx)
	if err != nil {
		return nil, failed(doing, err)
	}
	var indexes []struct {
		Name   string        `bson:"name"`
		Unique bool          `bson:"unique"`
		After  bson.RawValue `bson:"expireAfterSeconds"`
	}
	if err := cursor.All(ctx, &indexes); err != nil {
		return nil, failed(doing, err)
	}
	for _, i := range indexes {
		if !i.After.IsZero() {
			add(true, "index %s, whose documents expire", i.Name)
		}
		if i.Unique {
			add(false, "unique index %s", i.Name)
		}
	}
	return all, nil
}

// adapt has the layout write text as a document has it, and returns what of the document is
// not as the table has it.
func (l *layout) adapt(document bson.Raw) (differs []string) {
	for i := range l.columns {
		c := &l.columns[i]
		value := document.Lookup(c.field)
		text := c.Type == store.String || c.Type == store.ASCII
		switch {
		case value.IsZero() || value.Type == bson.TypeNull:
			differs = append(differs, fmt.Sprintf("field %s is missing in the document that was looked at", c.field))
		case text && value.Type == bson.TypeBinary && c.field != idField:
			c.bytes = true
		case text && value.Type != bson.TypeString:
			differs = append(differs, fmt.Sprintf("field %s is of type %s, not text", c.field, value.Type))
		}
	}
	return differs
}
