package mongodb

import (
	"errors"
	"math"
	"strconv"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

// bsonOf is a document as BSON, which the library would make of it by reflection. A value of
// another kind than statements have leaves it to the library.
func bsonOf(d bson.D) any {
	if b, known := appendDocument(nil, d); known {
		return bson.Raw(b)
	}
	return d
}

func appendDocument(b []byte, d bson.D) (_ []byte, known bool) {
	start, b := bsoncore.AppendDocumentStart(b)
	known = true
	for i := 0; i < len(d) && known; i++ {
		b, known = appendField(b, d[i].Key, d[i].Value)
	}
	return closed(b, start), known
}

// appendField appends a field as the library does: an int is of 32 bits if it fits.
func appendField(b []byte, name string, value any) (_ []byte, known bool) {
	switch v := value.(type) {
	case nil:
		return bsoncore.AppendNullElement(b, name), true
	case int64:
		return bsoncore.AppendInt64Element(b, name, v), true
	case int32:
		return bsoncore.AppendInt32Element(b, name, v), true
	case int:
		return bsoncore.AppendInt32Element(b, name, int32(v)), int64(v) >= math.MinInt32 && int64(v) <= math.MaxInt32
	case float64:
		return bsoncore.AppendDoubleElement(b, name, v), true
	case bool:
		return bsoncore.AppendBooleanElement(b, name, v), true
	case string:
		return bsoncore.AppendStringElement(b, name, v), true
	case bson.Binary:
		return bsoncore.AppendBinaryElement(b, name, v.Subtype, v.Data), true
	case bson.RawValue:
		return append(bsoncore.AppendHeader(b, bsoncore.Type(v.Type), name), v.Value...), true
	case bson.Timestamp:
		return bsoncore.AppendTimestampElement(b, name, v.T, v.I), true
	case bson.Raw:
		return bsoncore.AppendDocumentElement(b, name, bsoncore.Document(v)), true
	case bson.D:
		return appendDocument(bsoncore.AppendHeader(b, bsoncore.TypeEmbeddedDocument, name), v)
	case []int64:
		start, b := bsoncore.AppendArrayElementStart(b, name)
		for i, n := range v {
			b = bsoncore.AppendInt64Element(b, strconv.Itoa(i), n)
		}
		return closed(b, start), true
	case bson.A:
		start, b := bsoncore.AppendArrayElementStart(b, name)
		known = true
		for i := 0; i < len(v) && known; i++ {
			b, known = appendField(b, strconv.Itoa(i), v[i])
		}
		return closed(b, start), known
	}
	return b, false
}

// closed ends the document or array whose length is at this place.
func closed(b []byte, at int32) []byte {
	b = append(b, 0)
	return bsoncore.UpdateLength(b, at, int32(len(b))-at)
}

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
