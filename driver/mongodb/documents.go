package mongodb

import (
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// byID finds a document by its _id, which may be a condition on it.
func byID(id any) bson.D { return bson.D{{Key: "_id", Value: id}} }

// oneOf finds one of several values.
func oneOf(values any) bson.D { return bson.D{{Key: "$in", Value: values}} }

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
