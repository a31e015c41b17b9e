// Command mongodb is the transfers of workload bank as a bare loop on MongoDB's Go driver,
// with the same commands and concerns and nothing recorded or judged:
// mongodb URI CLIENTS ACCOUNTS SECONDS
package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "mongodb:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	var numbers [3]int
	for i := range numbers {
		if len(args) != 4 {
			return fmt.Errorf("%d arguments where URI CLIENTS ACCOUNTS SECONDS are wanted", len(args))
		}
		n, err := strconv.Atoi(args[i+1])
		if err != nil {
			return err
		}
		numbers[i] = n
	}
	clients, accounts, seconds := numbers[0], int64(numbers[1]), numbers[2]
	client, err := mongo.Connect(options.Client().ApplyURI(args[0]))
	if err != nil {
		return err
	}
	database := client.Database("rival")
	if err := load(ctx, database, accounts); err != nil {
		return err
	}
	all := make([]loop, clients)
	start := time.Now()
	until := start.Add(time.Duration(seconds) * time.Second)
	var work sync.WaitGroup
	for i := range all {
		all[i] = loop{client: client, accounts: database.Collection("account"), transfers: database.Collection("transfer"),
			first: int64(i) << 40, most: accounts}
		work.Go(func() { all[i].run(ctx, until) })
	}
	work.Wait()
	took := time.Since(start).Seconds()
	var done, refused int64
	for i := range all {
		if all[i].err != nil {
			return all[i].err
		}
		done, refused = done+all[i].done, refused+all[i].refused
	}
	fmt.Printf("%d transfers in %.3f s, %.1f transfers a second, %d write conflicts\n", done, took, float64(done)/took, refused)
	return client.Disconnect(ctx)
}

func load(ctx context.Context, database *mongo.Database, accounts int64) error {
	if err := database.Drop(ctx); err != nil {
		return err
	}
	if err := database.CreateCollection(ctx, "transfer"); err != nil {
		return err
	}
	documents := make([]any, 0, accounts)
	for id := int64(1); id <= accounts; id++ {
		balance := int64(100_000)
		if id <= 10 {
			balance = 1_000_000_000_000
		}
		documents = append(documents, bson.D{{Key: "_id", Value: id}, {Key: "balance", Value: balance}, {Key: "version", Value: int64(0)}})
	}
	_, err := database.Collection("account").InsertMany(ctx, documents)
	return err
}

// loop is one client.
type loop struct {
	client              *mongo.Client
	accounts, transfers *mongo.Collection
	first, most         int64
	done, refused       int64
	err                 error
}

func (l *loop) run(ctx context.Context, until time.Time) {
	session, err := l.client.StartSession(options.Session().SetCausalConsistency(false))
	if l.err = err; err != nil {
		return
	}
	defer session.EndSession(ctx)
	how := options.Transaction().SetReadConcern(readconcern.Snapshot()).SetWriteConcern(writeconcern.Majority())
	for id := l.first + 1; time.Now().Before(until); id++ {
		source, destination, amount := 11+rand.Int64N(l.most-10), 11+rand.Int64N(l.most-10), 1+rand.Int64N(1000)
		if rand.IntN(5) == 0 {
			source = 1 + rand.Int64N(10)
		}
		if source == destination {
			continue
		}
		if l.err = session.StartTransaction(how); l.err != nil {
			return
		}
		within := mongo.NewSessionContext(ctx, session)
		if err = l.transfer(within, id, source, destination, amount); err == nil {
			err = session.CommitTransaction(within)
		}
		if err == nil {
			l.done++
			continue
		}
		_ = session.AbortTransaction(within)
		if labeled, is := err.(mongo.LabeledError); !is || !labeled.HasErrorLabel("TransientTransactionError") {
			l.err = err
			return
		}
		l.refused++
	}
}

func (l *loop) transfer(ctx context.Context, id, source, destination, amount int64) error {
	order := [][2]int64{{source, -amount}, {destination, amount}}
	if destination < source {
		order[0], order[1] = order[1], order[0]
	}
	versions := map[int64]int64{}
	for _, change := range order {
		filter := bson.D{{Key: "_id", Value: change[0]}}
		if change[1] < 0 {
			filter = append(filter, bson.E{Key: "balance", Value: bson.D{{Key: "$gte", Value: -change[1]}}})
		}
		var left struct{ Balance, Version int64 }
		if err := l.accounts.FindOneAndUpdate(ctx, filter, bson.D{{Key: "$inc", Value: bson.D{{Key: "balance", Value: change[1]},
			{Key: "version", Value: int64(1)}}}}, options.FindOneAndUpdate().SetReturnDocument(options.After)).Decode(&left); err != nil {
			return err
		}
		versions[change[0]] = left.Version
	}
	_, err := l.transfers.InsertOne(ctx, bson.D{{Key: "_id", Value: id}, {Key: "source", Value: source}, {Key: "destination", Value: destination},
		{Key: "amount", Value: amount}, {Key: "source_version", Value: versions[source]}, {Key: "destination_version", Value: versions[destination]}})
	return err
}
