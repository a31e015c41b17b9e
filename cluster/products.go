package cluster

import (
	"context"
	"fmt"

	"assay/cluster/machine"
)

// product is one database product's way of running a cluster. Nodes are
// counted from 0, in the order of Spec.names. Its methods are safe for
// concurrent use.
type product interface {
	// Address is the URL of the whole cluster, with user and password.
	Address() string
	// Primary is the number of the node that takes writes as soon as there is
	// one, or a *NoPrimaryError where the product has none.
	Primary(ctx context.Context) (int, error)
	// Restart starts node i again with its data, stopping it first if it runs,
	// and returns when it serves or has its part in the cluster again. env is
	// added to the server's environment this once.
	Restart(ctx context.Context, i int, env ...string) error
	// Settled returns when all nodes that run have their part in the cluster
	// and hold the same data; the error says which do not.
	Settled(ctx context.Context) error
	// Close ends all nodes and removes their data.
	Close() error

	// process is node i's server; it changes with Restart.
	process(i int) *Process
	// HostPort is where node i's server listens.
	HostPort(i int) string
}

// NoPrimaryError means that a product has no such thing as a primary: every
// node takes writes.
type NoPrimaryError struct{ Product string }

func (e *NoPrimaryError) Error() string {
	return fmt.Sprintf("%s has no primary, every node takes writes; name a node, or write any", e.Product)
}

// place is where a product is to put its nodes.
type place struct {
	spec     Spec
	machines []*machine.Machine
	programs string
	dir      string
	logs     string
	announce func(text string)
}

// starter starts a product's cluster.
type starter func(ctx context.Context, at place) (product, error)

// entry is one product.
type entry struct {
	topology
	start starter
	// clear takes away what killed servers with their data below folder have
	// left outside of it; nil if they leave nothing.
	clear func(ctx context.Context, folder string) error
}

// products is what can be built, by name.
func products() map[string]entry {
	return map[string]entry{
		"postgres":  {topology: postgresTopology(), start: startPostgresCluster, clear: clearPostgres},
		"mongodb":   {topology: mongodbTopology(), start: startMongoDBCluster},
		"mariadb":   {topology: mariadbTopology(), start: startMariaDBCluster},
		"cassandra": {topology: cassandraTopology(), start: startCassandraCluster},
	}
}

func topologyOf(name string) (topology, bool) {
	p, found := products()[name]
	return p.topology, found
}

// Products are the names of what can be built, in the order of lists.
func Products() []string { return []string{"postgres", "mongodb", "mariadb", "cassandra"} }

// Specs lists all clusters of a product, without options.
func Specs(product string) []string {
	t, _ := topologyOf(product)
	return t.specs()
}
