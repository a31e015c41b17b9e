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

// WorkFor implements store.ExistingTables: the sessions are known by their client.
func (d *database) WorkFor(holder store.Holder) { d.taken.Set(holder) }

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
		there, err := d.database.ListCollectionNames(ctx, bson.D{{Key: "name", Value: t.Name}, {Key: "type", Value: "collection"}})
		if err != nil {
			return failed("look at the existing collections", err)
		}
		if len(there) == 0 {
			return &store.ShapeError{Table: name, Differs: []string{"there is no collection of this name"}}
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
