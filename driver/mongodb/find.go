package mongodb

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// query is which documents are to be found, and what is given of them.
type query struct {
	filter bson.D
	// projection and sort are nil for whole documents and any order.
	projection, sort bson.D
	// limit is 0 for all, and negative if there is no second answer; batch is how many documents an answer has,
	// 0 for what the server gives.
	limit int64
	batch int32
}

// find gives documents. An error of use is returned as it is.
func (p place) find(x steps, q query, use func(bson.Raw) error) error {
	if x.of != nil {
		return x.of.each(x.sent, p.Collection, q.command(p.Name()), q.batch, use)
	}
	o := options.Find().SetLimit(q.limit)
	if q.projection != nil {
		o.SetProjection(bsonOf(q.projection))
	}
	if q.sort != nil {
		o.SetSort(q.sort)
	}
	if q.batch > 0 {
		o.SetBatchSize(q.batch)
	}
	cursor, err := p.Find(x.next(), bsonOf(q.filter), o)
	return eachIn(x.ctx, p.Collection, cursor, err, use)
}

// command is the command of a transaction (MongoDB manual, "find").
func (q query) command(collection string) bson.D {
	d := bson.D{{Key: "find", Value: collection}, {Key: "filter", Value: q.filter}}
	if q.projection != nil {
		d = append(d, bson.E{Key: "projection", Value: q.projection})
	}
	if q.sort != nil {
		d = append(d, bson.E{Key: "sort", Value: q.sort})
	}
	if q.batch > 0 {
		d = append(d, bson.E{Key: "batchSize", Value: q.batch})
	}
	return append(d, bson.E{Key: "limit", Value: max(q.limit, -q.limit)}, bson.E{Key: "singleBatch", Value: q.limit < 0})
}

// aggregate gives what a pipeline makes, in answers of so many documents at most; 0 for what the server gives.
func (p place) aggregate(x steps, pipeline bson.A, batch int32, use func(bson.Raw) error) error {
	if x.of == nil {
		o := options.Aggregate()
		if batch > 0 {
			o.SetBatchSize(batch)
		}
		cursor, err := p.Aggregate(x.next(), pipeline, o)
		return eachIn(x.ctx, p.Collection, cursor, err, use)
	}
	cursor := bson.D{}
	if batch > 0 {
		cursor = append(cursor, bson.E{Key: "batchSize", Value: batch})
	}
	return x.of.each(x.sent, p.Collection, bson.D{{Key: "aggregate", Value: p.Name()}, {Key: "pipeline", Value: pipeline},
		{Key: "cursor", Value: cursor}}, batch, use)
}

// eachIn gives each document of a cursor of the library's to use, whose error it returns as it is.
func eachIn(ctx context.Context, c *mongo.Collection, cursor *mongo.Cursor, err error, use func(bson.Raw) error) error {
	if err != nil {
		return readError(c, err)
	}
	defer cursor.Close(context.WithoutCancel(ctx))
	for cursor.Next(ctx) {
		if err := use(cursor.Current); err != nil {
			return err
		}
	}
	return readError(c, cursor.Err())
}
