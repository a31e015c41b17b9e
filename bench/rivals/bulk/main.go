// Command bulk loads accounts into MongoDB as an application does that has many of them:
// four workers with a connection each, by InsertMany of the Go driver, unordered, a thousand
// documents at a time. `make bench` has it beside assay.
//
//	bulk ADDRESS ACCOUNTS
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
	"golang.org/x/sync/errgroup"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bulk:", err)
		os.Exit(1)
	}
}

const workers, batch = 4, 1000

func run(ctx context.Context, args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("%d arguments where ADDRESS ACCOUNTS are wanted", len(args))
	}
	accounts, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	client, err := mongo.Connect(options.Client().ApplyURI(args[0]).SetWriteConcern(writeconcern.Majority()))
	if err != nil {
		return err
	}
	database := client.Database("rival")
	err = database.Drop(ctx)
	if err == nil {
		err = load(ctx, database.Collection("loaded"), accounts)
	}
	return errors.Join(err, client.Disconnect(ctx))
}

// load has worker n load every fourth batch.
func load(ctx context.Context, into *mongo.Collection, accounts int) error {
	var all errgroup.Group
	for n := range workers {
		all.Go(func() error {
			for first := n * batch; first < accounts; first += workers * batch {
				documents := make([]bson.D, min(batch, accounts-first))
				for i := range documents {
					documents[i] = bson.D{{Key: "_id", Value: int64(first + i + 1)}, {Key: "balance", Value: int64(100_000)}, {Key: "version", Value: int64(0)}}
				}
				if _, err := into.InsertMany(ctx, documents, options.InsertMany().SetOrdered(false)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return all.Wait()
}
