package mongodb

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"assay/workload"
)

// documentsOf are values as documents, whose first field is _id.
func documentsOf[T any](c workload.Columns[T], values []T) []bson.D {
	documents := make([]bson.D, len(values))
	for i := range values {
		for n, field := range c.Fields(&values[i]) {
			element := bson.E{Key: fieldName(c.Names, n)}
			switch field := field.(type) {
			case *int64:
				element.Value = *field
			case *bool:
				element.Value = *field
			case *string:
				element.Value = *field
			}
			documents[i] = append(documents[i], element)
		}
	}
	return documents
}

func fieldName(names []string, n int) string {
	if n == 0 {
		return "_id"
	}
	return names[n]
}

// decode reads a document of a collection into fields, each of its own type; a float is
// no whole number, whatever its value. MongoDB keeps fields in the order in which they
// were written, so that each is looked for where it should be first.
func decode(document bson.Raw, collection string, names []string, fields []any) error {
	elements, err := document.Elements()
	if err != nil {
		return failed("understand a document", err)
	}
	for n, field := range fields {
		name := fieldName(names, n)
		var value bson.RawValue
		if n < len(elements) && elements[n].Key() == name {
			value = elements[n].Value()
		} else {
			value = document.Lookup(name)
		}
		ok := false
		switch field := field.(type) {
		case *int64:
			ok = integer(value, field)
		case *bool:
			*field, ok = value.BooleanOK()
		case *string:
			*field, ok = value.StringValueOK()
		}
		if !ok {
			return fmt.Errorf("mongodb: collection %s: field %s of a document is missing or of another type", collection, name)
		}
	}
	return nil
}

// eachOf gives every document of a collection to use, decoded.
func eachOf[T any](ctx context.Context, in *mongo.Collection, c workload.Columns[T], o *options.FindOptionsBuilder, use func(T) error) error {
	var v T
	fields := c.Fields(&v)
	return each(ctx, in, o, func(document bson.Raw) error {
		if err := decode(document, in.Name(), c.Names, fields); err != nil {
			return err
		}
		return use(v)
	})
}

// readAll is eachOf in one snapshot of what a majority has.
func readAll[T any](ctx context.Context, s *sharedClientStore, c workload.Columns[T], use func(T) error) error {
	return s.view(ctx, func(ctx context.Context) error { return eachOf(ctx, s.rows, c, options.Find(), use) })
}

// insertAll puts documents into a collection, in any order.
func insertAll(ctx context.Context, c *mongo.Collection, documents []bson.D) error {
	if len(documents) == 0 {
		return nil
	}
	if _, err := c.InsertMany(ctx, documents, options.InsertMany().SetOrdered(false)); err != nil {
		return failed("load "+c.Name()+"s", err)
	}
	return nil
}
