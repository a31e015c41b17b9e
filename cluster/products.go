// Package cluster runs clusters of real servers on this machine: it reads a spec, starts the product's servers on machines of their own, records what
// runs, and takes away what a killed assay left. Its folders run the products, on
// one type of server (cluster/server).
//
// It must not know any workload, driver or fault. Of assay's other packages it imports
// quantity and spelling, to read a spec.
package cluster

import (
	"cmp"
	"context"
	"time"

	"assay/cluster/machine"
	"assay/cluster/server"
)

// product is one database product's running cluster. Nodes are counted from 0,
// in the order of Spec.names. Its methods are safe for concurrent use.
type product interface {
	// Address is the URL of the whole cluster, with user and password.
	Address() string
	// Node is node i, which stays the same one as long as the cluster lives.
	Node(i int) *server.Node
	// Primary is the number of the node that takes writes as soon as there is
	// one, or a *server.NoPrimaryError where the product has none.
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
}

// environment is what a product's cluster is started with.
type environment struct {
	machines []*machine.Machine // of the nodes
	// beside are the machines of servers beside the nodes that have some of their own, by the
	// servers' role.
	beside   map[string][]*machine.Machine
	programs string // the folder of server programs to search first
	dir      string // of the nodes' data, to be made
	logs     string // the folder of the nodes' logs
	announce func(text string)
}

// layout is where the servers of a spec live.
func (e environment) layout(s Spec) server.Layout {
	return server.Layout{Programs: e.programs, Nodes: s.Nodes, Machines: e.machines, Dir: e.dir, LogDir: e.logs}
}

// entry is one product.
type entry struct {
	topology
	footprint Footprint
	start     func(context.Context, Spec, environment) (product, error)
	// settings are what the nodes' servers are told by a spec, in the product's form
	// (server.Node.Adjust); nil if they have no parameters.
	settings func(Spec) []string
	// clear takes away what killed servers with their data below folder have
	// left outside of it; nil if they leave nothing.
	clear func(ctx context.Context, folder string) error
	// ledBy is the program that chooses the primary, where the database does not.
	ledBy string
	// oneClock says why servers of it cannot have clocks of their own; empty if they can.
	oneClock string
}

// Footprint is about what one node of a product takes, as seen on a machine of two
// processors, for those who plan.
type Footprint struct {
	// Start is how long it takes to serve, and Empty the bytes of its files before
	// there are any rows.
	Start time.Duration
	Empty int64
}

// FootprintOf returns the footprint of a product, by its name; an empty one if the
// product is not known.
func FootprintOf(product string) Footprint { return products()[product].footprint }

// SchemeOf returns what the addresses of a product's clusters begin with, without the colon.
func SchemeOf(product string) string {
	t, _ := topologyOf(product)
	return cmp.Or(t.scheme, product)
}

// products is what can be built, by name.
func products() map[string]entry {
	return map[string]entry{
		"postgres": postgresEntry(), "mongodb": mongodbEntry(), "mariadb": mariadbEntry(), "mysql": mysqlEntry(),
		"cassandra": cassandraEntry(), "redis": redisEntry(), "redis-cluster": redisClusterEntry(), "etcd": etcdEntry(), "sqlite": sqliteEntry(),
		"patroni": patroniEntry(), "pg-auto-failover": pgAutoFailoverEntry(), "repmgr": repmgrEntry(),
	}
}

func topologyOf(name string) (topology, bool) {
	p, found := products()[name]
	return p.topology, found
}

// Products are the names of what can be built, in the order of lists.
func Products() []string {
	return []string{"postgres", "patroni", "pg-auto-failover", "repmgr", "mongodb", "mariadb", "mysql", "cassandra", "redis", "redis-cluster", "etcd", "sqlite"}
}

// Specs lists all clusters of a product, without options.
func Specs(product string) []string {
	t, _ := topologyOf(product)
	return t.specs()
}
