package mongodb

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"assay/workload"
)

// documentsOf are values as documents, whose first field is _id.
func documentsOf[T any](c workload.Columns[T], values []T) []bson.D {
	return keyedDocuments(c, 1, values)
}

// keyedDocuments are values as documents whose _id is the key, the first so many fields:
// the value of one field, or a document of several.
func keyedDocuments[T any](c workload.Columns[T], key int, values []T) []bson.D {
	documents := make([]bson.D, len(values))
	for i := range values {
		all := columnElements(c.Names, c.Fields(&values[i]))
		id := bson.E{Key: "_id", Value: all[0].Value}
		if key > 1 {
			id.Value = all[:key:key]
		}
		documents[i] = append(bson.D{id}, all[key:]...)
	}
	return documents
}

// columnElements are fields as elements of a document.
func columnElements(names []string, fields []any) bson.D {
	elements := make(bson.D, len(fields))
	for n, field := range fields {
		elements[n].Key = names[n]
		switch field := field.(type) {
		case *int64:
			elements[n].Value = *field
		case *bool:
			elements[n].Value = *field
		case *string:
			elements[n].Value = *field
		}
	}
	return elements
}

// storedNames are the names of fields in a document whose first one is _id.
func storedNames(names []string) []string { return append([]string{"_id"}, names[1:]...) }

// decode reads a document of a collection into fields, each of its own type; a float is
// no whole number, whatever its value. MongoDB keeps fields in the order in which they
// were written, so that each is looked for where it should be first: names[0] at place
// first.
func decode(document bson.Raw, collection string, first int, names []string, fields []any) error {
	elements, err := document.Elements()
	if err != nil {
		return failed("understand a document", err)
	}
	for n, field := range fields {
		name := names[n]
		var value bson.RawValue
		if at := first + n; at < len(elements) && elements[at].Key() == name {
			value = elements[at].Value()
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
	fields, names := c.Fields(&v), storedNames(c.Names)
	return each(ctx, in, o, func(document bson.Raw) error {
		if err := decode(document, in.Name(), 0, names, fields); err != nil {
			return err
		}
		return use(v)
	})
}

// insertAll puts documents into a collection, in any order.
func insertAll(ctx context.Context, c *mongo.Collection, documents []bson.D) error {
	if len(documents) == 0 {
		return nil
	}
	_, err := c.InsertMany(ctx, documents, options.InsertMany().SetOrdered(false))
	return failed("load "+c.Name()+"s", err)
}

// byID finds a document by its _id, which may be a condition on it.
func byID(id any) bson.D { return bson.D{{Key: "_id", Value: id}} }

// oneOf finds one of several values.
func oneOf(values any) bson.D { return bson.D{{Key: "$in", Value: values}} }

func set(fields ...bson.E) bson.D      { return bson.D{{Key: "$set", Value: bson.D(fields)}} }
func increase(fields ...bson.E) bson.D { return bson.D{{Key: "$inc", Value: bson.D(fields)}} }

// ascending has 1 for each of these fields: the order of an index or of an answer.
func ascending(fields ...string) bson.D {
	d := make(bson.D, len(fields))
	for i, field := range fields {
		d[i] = bson.E{Key: field, Value: 1}
	}
	return d
}

// only is a projection on _id and these fields.
func only(fields ...string) bson.D {
	if len(fields) == 0 { // an empty one would be all fields
		return ascending("_id")
	}
	return ascending(fields...)
}

// unlessMissing leaves out that there is no such document.
func unlessMissing(err error) error {
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil
	}
	return err
}
