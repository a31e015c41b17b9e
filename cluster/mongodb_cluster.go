package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

const mongodbPort = 27017

func mongodbTopology() topology {
	return topology{
		name: "mongodb", nodes: []int{1, 2, 3, 5, 7}, arbiters: []int{0, 1},
		options: []option{
			{name: "election", want: "election=DURATION, such as 2s (settings.electionTimeoutMillis)", check: aDuration},
			{name: "cache", want: "cache=SIZE of at least 256MiB, WiredTiger's on each node", check: aSize},
			{name: "shutdown", want: "shutdown=DURATION, such as 1s, how long a member that ends in order lets its clients go (shutdownTimeoutMillisForSignaledShutdown, 15s)", check: aDuration},
			{name: "oplog", want: "oplog=SIZE, such as 512MiB", check: aSize},
		},
	}
}

// startMongoDBCluster starts a replica set with MongoDB's own timing, unless
// the spec says otherwise.
func startMongoDBCluster(ctx context.Context, at place) (product, error) {
	election := at.spec.duration("election")
	var args []string
	if shutdown := at.spec.duration("shutdown"); shutdown > 0 {
		args = []string{"--setParameter", fmt.Sprintf("shutdownTimeoutMillisForSignaledShutdown=%d", shutdown.Milliseconds())}
	}
	return StartMongoDB(ctx, MongoDBOptions{
		Programs: at.programs, Nodes: at.spec.Nodes, Arbiters: at.spec.Arbiters, Machines: at.machines,
		Dir: at.dir, LogDir: at.logs, ElectionTimeout: election, Heartbeat: election / 4,
		CacheSize: mongodbCache(at.spec), OplogSize: at.spec.size("oplog"), Args: args,
	})
}

// mongodbCache is WiredTiger's cache: what was asked for, or what mongod would
// take of a machine with the memory that each node has, half of what is above 1
// GiB (MongoDB manual, "WiredTiger", "Memory Use"). mongod itself sees this
// machine's memory and neither the limit nor the other nodes that share it.
func mongodbCache(s Spec) int64 {
	if size := s.size("cache"); size > 0 {
		return size
	}
	return max(minCacheSize, (s.memory()-1<<30)/2)
}

// Primary implements product.
func (m *MongoDB) Primary(ctx context.Context) (int, error) { return m.WaitPrimary(ctx) }

// memberStatus is a line of replSetGetStatus (MongoDB manual).
type memberStatus struct {
	ID     int    `bson:"_id"`
	State  string `bson:"stateStr"`
	Optime struct {
		TS bson.Timestamp `bson:"ts"`
	} `bson:"optime"`
}

// Settled returns when there is a primary, every member that runs has its part
// in the set, and all of them hold what the primary held when it was called.
func (m *MongoDB) Settled(ctx context.Context) error {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	var goal bson.Timestamp
	for {
		behind, err := m.behind(ctx, &goal)
		if err == nil && behind == "" {
			return nil
		}
		select {
		case <-ctx.Done():
			if err != nil {
				return err
			}
			return fmt.Errorf("wait for the members of %s: %w: %s", m.options.ReplicaSet, ctx.Err(), behind)
		case <-ticker.C:
		}
	}
}

// behind says which members are not in step with the primary; goal is set at
// the first answer to what the primary holds.
func (m *MongoDB) behind(ctx context.Context, goal *bson.Timestamp) (string, error) {
	primary, err := m.WaitPrimary(ctx)
	if err != nil {
		return "", err
	}
	var status struct {
		Members []memberStatus `bson:"members"`
	}
	if err := m.node(primary).run(ctx, answerBound, bson.D{{Key: "replSetGetStatus", Value: 1}}, &status); err != nil {
		return "", fmt.Errorf("%s: %w", m.node(primary).name(), err)
	}
	var late []string
	seen := 0
	for _, member := range status.Members {
		if member.ID == primary && goal.IsZero() {
			*goal = member.Optime.TS
		}
	}
	if goal.IsZero() {
		return "", errors.New("the primary does not say what it holds")
	}
	for _, member := range status.Members {
		if member.ID >= len(m.all()) || !m.node(member.ID).running() {
			continue
		}
		seen++
		switch {
		case member.State == "ARBITER":
		case member.State != "PRIMARY" && member.State != "SECONDARY":
			late = append(late, fmt.Sprintf("%s is %s", m.node(member.ID).name(), member.State))
		case member.Optime.TS.Before(*goal):
			late = append(late, fmt.Sprintf("%s lags behind", m.node(member.ID).name()))
		}
	}
	if seen == 0 {
		return "", errors.New("no member runs")
	}
	return strings.Join(late, ", "), nil
}
