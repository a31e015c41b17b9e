package cassandra

import (
	"context"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"assay/cluster/server"
)

const answerBound = time.Second

// query runs a statement in a session of its own and returns the only column of its rows, which
// must be text. SELECT JSON gives whole rows so.
func query(ctx context.Context, n *server.Node, consistency gocql.Consistency, statement string) ([]string, error) {
	return queryWithin(ctx, n, answerBound, consistency, statement)
}

func queryWithin(ctx context.Context, n *server.Node, bound time.Duration, consistency gocql.Consistency, statement string) (rows []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	session, err := only(n, bound).CreateSession() // takes no context
	if err != nil {
		return nil, err
	}
	defer session.Close()
	answer := session.Query(statement).Consistency(consistency).IterContext(ctx)
	var row string
	for answer.Scan(&row) {
		rows = append(rows, row)
	}
	return rows, answer.Close()
}

// only limits the library to this node: it looks for no others and tries nothing again.
func only(n *server.Node, bound time.Duration) *gocql.ClusterConfig {
	c := gocql.NewCluster(n.Address())
	c.ProtoVersion, c.NumConns = 4, 1
	c.Timeout, c.ConnectTimeout, c.WriteTimeout = bound, bound, bound
	c.ReconnectionPolicy, c.ReconnectInterval = &gocql.ConstantReconnectionPolicy{MaxRetries: 1}, 0
	c.DisableInitialHostLookup, c.MaxWaitSchemaAgreement, c.Metadata.CacheMode = true, 0, gocql.Disabled
	c.Events.DisableNodeStatusEvents, c.Events.DisableTopologyEvents, c.Events.DisableSchemaEvents = true, true, true
	return c
}
