package mongodb

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
)

// What $currentOp shows of a cluster (MongoDB manual, "$currentOp"): asked
// through a mongos, what the primaries of the shards do; with localOps, what the
// mongos itself does. The application's name goes with what a mongos passes on
// (field clientMetadata, since it is in $client; the server's
// src/mongo/rpc/metadata/client_metadata.cpp).
//
// The shards are asked with allUsers. To them the asking user is the cluster's
// own, of whom no client's session is (the server's
// common_mongod_process_interface.cpp, _reportCurrentOpsForIdleSessions, and
// makeSessionFilterForAuthenticatedUsers), so that without it idle sessions
// would be hidden. Through a mongos the right inprog is needed in any case.

// ofWorkload matches what clients of a workload do.
func ofWorkload(workloadName string) bson.D {
	ours := bson.D{{Key: "$regex", Value: "^" + appNamePrefix(workloadName)}}
	return bson.D{{Key: "$or", Value: bson.A{
		bson.D{{Key: "appName", Value: ours}}, bson.D{{Key: "clientMetadata.application.name", Value: ours}}}}}
}

func currentOp(o ...bson.E) bson.D { return bson.D{{Key: "$currentOp", Value: bson.D(o)}} }

func match(filter bson.D) bson.D { return bson.D{{Key: "$match", Value: filter}} }

func yes(name string) bson.E { return bson.E{Key: name, Value: true} }

func exists(name string, there bool) bson.E {
	return bson.E{Key: name, Value: bson.D{{Key: "$exists", Value: there}}}
}

// total counts documents, and finds the longest time.
func total() bson.D {
	return bson.D{{Key: "$group", Value: bson.D{
		{Key: "_id", Value: nil},
		{Key: "count", Value: bson.D{{Key: "$sum", Value: 1}}},
		{Key: "micros", Value: bson.D{{Key: "$max", Value: "$transaction.timeOpenMicros"}}},
	}}}
}

// openTransactions are a workload's open transactions on a primary.
func openTransactions(workloadName string) bson.A {
	return bson.A{
		currentOp(bson.E{Key: "allUsers", Value: false}, yes("idleSessions")),
		match(bson.D{{Key: "appName", Value: bson.D{{Key: "$regex", Value: "^" + appNamePrefix(workloadName)}}},
			{Key: "transaction.parameters.autocommit", Value: false}}),
	}
}

// shardTransactions counts a workload's open transactions on the shards, and
// their coordinators. A prepared transaction that a new primary has taken over,
// and a coordinator that has, do not say whose they are: any of them is waited
// for.
func shardTransactions(workloadName string) bson.A {
	open := bson.D{{Key: "$or", Value: bson.A{
		bson.D{{Key: "transaction.parameters.autocommit", Value: false}},
		bson.D{exists("twoPhaseCommitCoordinator", true)}}}}
	orphaned := bson.D{{Key: "$or", Value: bson.A{
		bson.D{{Key: "transaction.timePreparedMicros", Value: bson.D{{Key: "$gt", Value: 0}}},
			{Key: "appName", Value: bson.D{{Key: "$in", Value: bson.A{nil, ""}}}}},
		bson.D{{Key: "twoPhaseCommitCoordinator.hasRecoveredFromFailover", Value: true}}}}}
	return bson.A{
		currentOp(yes("allUsers"), yes("idleSessions")),
		match(bson.D{{Key: "$or", Value: bson.A{
			bson.D{{Key: "$and", Value: bson.A{ofWorkload(workloadName), open}}}, orphaned}}}),
		total(),
	}
}

// routerTransactions counts the statements of a workload's transactions, commits
// among them, that a router is working on. What is idle in a router is not
// counted: it keeps an open transaction long after the shards have ended it.
func routerTransactions(workloadName string) bson.A {
	filter := append(ofWorkload(workloadName), yes("active"), bson.E{Key: "command.autocommit", Value: false})
	return bson.A{currentOp(bson.E{Key: "allUsers", Value: false}, yes("localOps")), match(filter), total()}
}

// writes matches what is being done to a collection.
func writes(database, collection string) bson.A {
	active := bson.D{{Key: "ns", Value: database + "." + collection}, yes("active"),
		{Key: "op", Value: bson.D{{Key: "$in", Value: bson.A{"insert", "update", "remove"}}}}}
	all := bson.A{active}
	for _, command := range []string{"insert", "update", "delete", "findAndModify"} {
		all = append(all, bson.D{{Key: "command." + command, Value: collection}, {Key: "command.$db", Value: database}, yes("active")})
	}
	return all
}

// shardWrites counts the writes to a collection that the shards are working on.
func shardWrites(database, collection string) bson.A {
	return bson.A{currentOp(yes("allUsers")), match(bson.D{{Key: "$or", Value: writes(database, collection)}}), total()}
}

// openConnections counts the connections of the sessions' client, and the writes
// to its collection that are going on.
func openConnections(appName, database, collection string, o ...bson.E) bson.A {
	connection := bson.D{{Key: "appName", Value: appName}, exists("connectionId", true),
		exists("command.hello", false)} // what only watches the server does nothing else
	return bson.A{currentOp(append(o, bson.E{Key: "allUsers", Value: false}, yes("idleConnections"))...),
		match(bson.D{{Key: "$or", Value: append(writes(database, collection), connection)}}), total()}
}

// atRouters runs a counting pipeline at every router that the address names. One
// where nobody listens has ended, and with it what it was doing; one that is
// silent is an error. Behind a load balancer the routers cannot be told apart,
// and whichever answers is taken for all.
func (s *database) atRouters(ctx context.Context, what string, pipeline bson.A) error {
	if balanced := s.options.LoadBalanced; balanced != nil && *balanced {
		return none(ctx, s.admin, what, pipeline)
	}
	for _, name := range s.options.Hosts {
		client, err := s.member(name)
		if err != nil {
			return err
		}
		admin := client.Database("admin", options.Database().SetReadConcern(readconcern.Local()))
		bounded, cancel := context.WithTimeout(ctx, catchUpBound)
		err = none(bounded, admin, what, pipeline)
		cancel()
		if err == nil || hidesOperations(err) || onlyRefused(err) {
			continue
		}
		return fmt.Errorf("ask router %s what it is doing: %w", name, plainly(err))
	}
	return nil
}
