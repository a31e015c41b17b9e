package mongodb

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// look is which documents are to be found, and what is given of them.
type look struct {
	filter bson.D
	// projection and sort are nil for whole documents and any order.
	projection, sort bson.D
	// limit is 0 for all, and negative if there is no second answer; batch is how many documents an answer has,
	// 0 for what the server gives.
	limit int64
	batch int32
}

// find gives documents. An error of use is returned as it is.
func (p place) find(x steps, l look, use func(bson.Raw) error) error {
	if x.of != nil {
		return x.of.each(x.sent, p.Collection, l.command(p.Name()), l.batch, use)
	}
	o := options.Find().SetLimit(l.limit)
	if l.projection != nil {
		o.SetProjection(bsonOf(l.projection))
	}
	if l.sort != nil {
		o.SetSort(l.sort)
	}
	if l.batch > 0 {
		o.SetBatchSize(l.batch)
	}
	cursor, err := p.Find(x.next(), bsonOf(l.filter), o)
	return eachIn(x.ctx, p.Collection, cursor, err, use)
}

// command is the command of a transaction (MongoDB manual, "find").
func (l look) command(collection string) bson.D {
	d := bson.D{{Key: "find", Value: collection}, {Key: "filter", Value: l.filter}}
	if l.projection != nil {
		d = append(d, bson.E{Key: "projection", Value: l.projection})
	}
	if l.sort != nil {
		d = append(d, bson.E{Key: "sort", Value: l.sort})
	}
	if l.batch > 0 {
		d = append(d, bson.E{Key: "batchSize", Value: l.batch})
	}
	return append(d, bson.E{Key: "limit", Value: max(l.limit, -l.limit)}, bson.E{Key: "singleBatch", Value: l.limit < 0})
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
