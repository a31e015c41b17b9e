// Package cluster runs clusters of real servers on this machine. It reads a spec, starts the
// product's servers on machines of their own, records what runs, and removes what a killed assay
// left. The packages below it run the products, all on cluster/server.
//
// It must not know any workload, driver or fault. Of assay's other packages it imports only
// quantity and spelling, to read a spec.
package cluster

import (
	"cmp"
	"context"
	"time"

	"assay/cluster/machine"
	"assay/cluster/server"
)

// product is a running cluster of one database product. Nodes are counted from 0, in the order of
// Spec.names. Its methods are safe for concurrent use.
type product interface {
	// Address is the URL of the whole cluster, with user and password.
	Address() string
	// Node returns the same pointer for i as long as the cluster lives.
	Node(i int) *server.Node
	// Primary waits for a node that takes writes, or returns a *server.NoPrimaryError.
	Primary(ctx context.Context) (int, error)
	// Restart stops node i if it runs, and starts it with its data. It returns when the node
	// serves or has its part in the cluster. env holds for this start alone.
	Restart(ctx context.Context, i int, env ...string) error
	// Settled returns when all running nodes are in step, with the same data, or names the others.
	Settled(ctx context.Context) error
	Close() error
}

type environment struct {
	machines []*machine.Machine // of the nodes
	// beside are the machines of servers beside the nodes, by role.
	beside   map[string][]*machine.Machine
	programs string // the folder of server programs to search first
	dir      string // of the nodes' data, to be made
	logs     string // the folder of the nodes' logs
	announce func(text string)
}

func (e environment) layout(s Spec) server.Layout {
	return server.Layout{Programs: e.programs, Nodes: s.Nodes, Machines: e.machines, Dir: e.dir, LogDir: e.logs}
}

type entry struct {
	topology
	footprint Footprint
	start     func(context.Context, Spec, environment) (product, error)
	// settings turns a spec into settings in the product's form (server.Node.Adjust); nil if
	// the nodes have no parameters.
	settings func(Spec) []string
	// clear removes what killed servers left outside of folder; nil if they leave nothing.
	clear func(ctx context.Context, folder string) error
	// ledBy is the program that chooses the primary; empty if the database does.
	ledBy string
	// oneClock says why its servers cannot have clocks of their own; empty if they can.
	oneClock string
}

// Footprint is roughly what one node of a product takes, measured on two processors, for plans.
type Footprint struct {
	// Start is the time until it serves; Empty is the bytes of its files without any rows.
	Start time.Duration
	Empty int64
}

// FootprintOf returns an empty footprint for an unknown product.
func FootprintOf(product string) Footprint { return products()[product].footprint }

// SchemeOf returns the URL scheme of the product's addresses, without the colon.
func SchemeOf(product string) string {
	t, _ := topologyOf(product)
	return cmp.Or(t.scheme, product)
}

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

// Products lists the products' names in the order for display.
func Products() []string {
	return []string{"postgres", "patroni", "pg-auto-failover", "repmgr", "mongodb", "mariadb", "mysql", "cassandra", "redis", "redis-cluster", "etcd", "sqlite"}
}

// Specs lists all clusters of a product, without options.
func Specs(product string) []string {
	t, _ := topologyOf(product)
	return t.specs()
}
