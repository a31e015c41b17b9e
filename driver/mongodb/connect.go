// Package mongodb is a store.Database on MongoDB replica sets and sharded clusters: tables
// are collections, and statements filters and updates, in multi-document transactions
// where the schema asks for them.
//
// Commands of transactions are written and sent by this package, over connections that the
// library has opened; see serverTransaction. None is ever sent twice, the commit included.
//
// It must not know the load engine, the checkers or any other driver.
package mongodb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"

	"assay/store"
)

// closeBound is how long closing may take; it says goodbye to the server, which
// may be gone.
const closeBound = 5 * time.Second

// minWireVersion is MongoDB 5.0, the first with snapshot reads outside of
// transactions.
const minWireVersion = 13

// connection is a client of one installation.
type connection struct {
	*settings
	client *mongo.Client
	// deployment is what the client finds servers by.
	deployment *deployment
	admin      *mongo.Database
	// sharded is true behind a mongos, whether collections are sharded or not.
	sharded bool
	// standalone is true for a server that is no member of a replica set: it
	// has no transactions, no snapshots and no majority but itself.
	standalone bool
	beats      *heartbeats
	wire       int // the server's maxWireVersion
}

// helloReply is what the server says of itself (MongoDB manual, "hello").
type helloReply struct {
	SetName   string   `bson:"setName"`
	Me        string   `bson:"me"`
	Message   string   `bson:"msg"`
	Primary   bool     `bson:"isWritablePrimary"`
	Secondary bool     `bson:"secondary"`
	MaxWire   int      `bson:"maxWireVersion"`
	Hosts     []string `bson:"hosts"`
	Passives  []string `bson:"passives"`
	Arbiters  []string `bson:"arbiters"`
	LastWrite struct {
		OpTime opTime `bson:"opTime"`
	} `bson:"lastWrite"`
}

// routerMessage is how a mongos is known.
const routerMessage = "isdbgrid"

// connect opens a client and makes the first contact, within
// target.ConnectTimeout. Nobody there, or no primary: *store.UnreachableError;
// a user that is refused: *store.AuthError; sharding asked of another server
// than a mongos: *store.OptionError. A standalone server, where the workload needs
// transactions, gives a plain error that says how to start one that has them.
func connect(ctx context.Context, target store.Target, workloadName string, transactions bool) (*connection, error) {
	s, err := parse(target, workloadName, transactions)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.connectTimeout)
	defer cancel()
	refused := func() {}
	if len(s.options.Hosts) == 1 {
		refused = cancel // with more of them another may answer
	}
	beats := new(heartbeats)
	beats.watch(s.options, refused)
	client, deployment, err := newClient(s.options)
	if err != nil {
		return nil, s.malformed(err)
	}
	// $currentOp takes no read concern but local, which the address's would
	// replace.
	admin := client.Database("admin", options.Database().SetReadConcern(readconcern.Local()))
	c := &connection{settings: s, client: client, deployment: deployment, admin: admin, beats: beats}
	if err := c.greet(ctx, transactions); err != nil {
		return nil, errors.Join(err, disconnect(client))
	}
	return c, nil
}

func (c *connection) greet(ctx context.Context, transactions bool) error {
	hello, err := c.hello(ctx)
	if err != nil {
		return c.refused(err)
	}
	c.sharded, c.wire = hello.Message == routerMessage, hello.MaxWire
	c.standalone = hello.SetName == "" && !c.sharded
	if err := c.refuseFerretDB(ctx); err != nil {
		return err
	}
	switch {
	case c.hashed && !c.sharded:
		return c.refuseSharding(hello)
	case c.standalone && transactions:
		return fmt.Errorf("mongodb: %s is a standalone server, which has no transactions, and this workload needs them; start it as a replica set, for which one node is enough: mongod --replSet rs0, then once rs.initiate() in its shell",
			c.printable)
	case hello.MaxWire < minWireVersion:
		return fmt.Errorf("mongodb: %s is older than MongoDB 5.0, which assay needs for consistent reads", c.printable)
	case !hello.Primary:
		return &store.UnreachableError{Address: c.printable, Err: errors.New("it is not the primary; leave directConnection out of the address")}
	}
	return nil
}

func (c *connection) hello(ctx context.Context) (reply helloReply, err error) {
	err = c.admin.RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}).Decode(&reply)
	return reply, err
}

// refused turns an error of the first contact into what users are told.
func (c *connection) refused(err error) error {
	if command := (mongo.CommandError{}); errors.As(err, &command) && command.Code == codeAuthenticationFailed {
		return &store.AuthError{Address: c.printable, User: c.user, Reason: command.Message}
	}
	return &store.UnreachableError{Address: c.printable, Err: inPlainWords(c.beats.explain(err))}
}

// disconnect closes a client within a bounded time.
func disconnect(client *mongo.Client) error {
	ctx, cancel := context.WithTimeout(context.Background(), closeBound)
	defer cancel()
	// That the server cannot be told is no error of closing: everything of ours
	// is released all the same.
	if err := client.Disconnect(ctx); err != nil && ctx.Err() == nil && !mongo.IsNetworkError(err) {
		return fmt.Errorf("mongodb: disconnect: %w", err)
	}
	return nil
}
