package mongodb

import (
	"bytes"
	"math"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"assay/internal/expect"
)

// TestBSON: what is written here is what the library writes, and other kinds are left to it.
func TestBSON(t *testing.T) {
	left := bson.RawValue{Type: bson.TypeInt64, Value: []byte{1, 2, 3, 4, 5, 6, 7, 8}}
	for _, d := range []bson.D{
		{},
		{{Key: "none", Value: nil}, {Key: "n", Value: int64(-1)}, {Key: "narrow", Value: int32(math.MinInt32)}, {Key: "int", Value: math.MaxInt32}},
		{{Key: "real", Value: 0.5}, {Key: "yes", Value: true}, {Key: "text", Value: "späť"}, {Key: "left", Value: left}},
		{{Key: "id", Value: bson.Binary{Subtype: subtypeUUID, Data: make([]byte, 16)}}, {Key: "bytes", Value: bson.Binary{Data: []byte{1}}}},
		{{Key: "in", Value: bson.D{{Key: "$in", Value: bson.A{int64(1), "a", bson.D{{Key: "k", Value: bson.A{}}}}}}}},
		{{Key: "list", Value: []int64{3, 2, 1}}, {Key: "empty", Value: []int64{}}},
	} {
		want, err := bson.Marshal(d)
		expect.NoError(t, err)
		got, is := bsonOf(d).(bson.Raw)
		if !is || !bytes.Equal(got, want) {
			t.Errorf("%v: %v, want %v", d, got, bson.Raw(want))
		}
	}
	for _, value := range []any{math.MaxInt32 + 1, time.Now(), []string{"a"}, bson.A{time.Second}} {
		if written, is := bsonOf(bson.D{{Key: "other", Value: value}}).(bson.Raw); is {
			t.Errorf("%v of type %T is written as %v", value, value, written)
		}
	}
}
