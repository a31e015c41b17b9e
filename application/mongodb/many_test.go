package mongodb

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"assay/internal/expect"
)

// TestTrustManyStatements passes 100,000 commands over several connections at once and compares the bytes at
// both sides.
func TestTrustManyStatements(t *testing.T) {
	t.Parallel()
	const workers, each = 4, 25_000
	recorder, passed := between(t, func(address string) {
		client, err := mongo.Connect(options.Client().ApplyURI(address))
		expect.NoError(t, err)
		rows := client.Database("shop").Collection("many")
		var all sync.WaitGroup
		for worker := range workers {
			all.Go(func() {
				if err := many(t.Context(), rows, worker, each); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		expect.NoError(t, client.Disconnect(context.Background()))
	})
	all, left := recorder.Transactions() // the recorder keeps 100,000, and counts what came after
	inserts, finds := 0, 0
	for _, x := range all {
		for _, s := range x.Statements {
			switch {
			case strings.HasPrefix(s.Shape, "insert shop.many"):
				inserts++
			case strings.HasPrefix(s.Shape, "find shop.many"):
				finds++
			}
		}
	}
	if inserts < workers*each/20 || finds < workers*each/2 || inserts+finds+left < workers*each || passed < 20<<20 {
		t.Errorf("%d inserts and %d finds were recorded, %d more were not kept, and %d bytes passed", inserts, finds, left, passed)
	}
}

// many sends commands: an insert, and then nine questions about what it inserted.
func many(ctx context.Context, rows *mongo.Collection, worker, commands int) error {
	id := 0
	for n := range commands {
		if n%10 == 0 {
			id = worker*commands + n
			if _, err := rows.InsertOne(ctx, bson.D{{Key: "_id", Value: id}, {Key: "n", Value: n}}); err != nil {
				return err
			}
			continue
		}
		var got struct{ N int }
		err := rows.FindOne(ctx, bson.D{{Key: "_id", Value: id}}).Decode(&got)
		if err != nil || got.N != n-n%10 {
			return fmt.Errorf("row %d has %d: %w", id, got.N, err)
		}
	}
	return nil
}
