package mongodb

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"assay/store"
)

const (
	// bulkRows is how many rows Load is best given: with fewer the wait for a majority takes
	// a good part of the time.
	bulkRows = 10_000
	// commandBytes is after how many bytes of documents a command ends. A command may have
	// 16 MiB, and no row has half of that.
	commandBytes = 8 << 20
)

// BulkRows implements store.Bulk.
func (d *database) BulkRows() int { return bulkRows }

// Load puts rows in, in any order. The documents of a table by itself are written as BSON at
// once: the library's own encoding and its look at each _id take longer than all else that a
// client does for a row.
func (d *database) Load(ctx context.Context, rows store.Rows) error {
	x, of := steps{ctx, new(sending)}, d.layouts[rows.Table]
	var err error
	if of == nil || of.outer != nil {
		_, err = d.insertInto(x, d.database, rows, false)
	} else {
		err = insertionOf(of, rows.Columns).load(x, d.database, rows)
	}
	return failed("load "+rows.Table+"s", err)
}

// load inserts rows by as few commands as may be.
func (n *insertion) load(x steps, in *mongo.Database, rows store.Rows) error {
	if slices.Contains(n.at, -1) {
		return fmt.Errorf("mongodb: rows of table %s lack a column", rows.Table)
	}
	var values []store.Value
	var documents []byte
	for first := 0; first < rows.Count; {
		next := first
		_, documents = bsoncore.AppendArrayStart(documents[:0])
		for ; next < rows.Count && len(documents) < commandBytes; next++ {
			values = rows.Row(next, values[:0])
			documents, _ = appendField(documents, strconv.Itoa(next-first), n.of.document(n.encode(values)))
		}
		documents = closed(documents, 0)
		var reply struct {
			N int `bson:"n"`
		}
		err := in.RunCommand(x.next(), bson.D{{Key: "insert", Value: rows.Table}, {Key: "ordered", Value: false},
			{Key: "writeConcern", Value: bson.D{{Key: "w", Value: "majority"}}},
			{Key: "documents", Value: bson.RawValue{Type: bson.TypeArray, Value: documents}}}).Decode(&reply)
		sent := store.Rows{Table: rows.Table, Count: next - first}
		if err := cmp.Or(err, sent.Taken(int64(reply.N))); err != nil {
			return err
		}
		first = next
	}
	return nil
}

// closed ends the document or array whose length is at this place.
func closed(b []byte, at int32) []byte {
	b = append(b, 0)
	return bsoncore.UpdateLength(b, at, int32(len(b))-at)
}
