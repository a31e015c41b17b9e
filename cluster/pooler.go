package cluster

import (
	"context"
	"errors"
	"path/filepath"

	"assay/cluster/machine"
	"assay/cluster/pgbouncer"
	"assay/cluster/server"
)

// PoolerName is what the pooler is called where nodes have names.
const PoolerName = "pooler"

// pooled is a product whose clients come through a pooler. The pooler goes by the number
// behind those of the nodes.
type pooled struct {
	product
	front *pgbouncer.Pooler
	nodes int
}

// newPooler makes the pooler that a spec asks for; it is not started yet.
func newPooler(s Spec, e environment, password string) (*pgbouncer.Pooler, error) {
	return pgbouncer.New(pgbouncer.Options{
		Programs: e.programs, Dir: filepath.Join(e.logs, PoolerName), Log: filepath.Join(e.logs, "pgbouncer.log"), Number: s.Nodes,
		User: postgresUser, Password: password, Mode: s.Options["pool_mode"], Size: s.count("pool_size"), Clients: postgresConnections,
		Silence: s.duration("failover"), Announce: e.announce,
	})
}

// Address is the pooler's. It also names the nodes, which are compared with each other.
func (p pooled) Address() string {
	var nodes []*server.Node
	for i := range p.nodes {
		nodes = append(nodes, p.Node(i))
	}
	return p.front.Address("&nodes=" + server.Hosts(nodes))
}

func (p pooled) Restart(ctx context.Context, i int, env ...string) error {
	if i == p.nodes {
		return p.front.Restart(ctx, env...)
	}
	return p.product.Restart(ctx, i, env...)
}

// Settled also wants the pooler to lead to a server that takes writes, if it runs.
func (p pooled) Settled(ctx context.Context) error {
	err := p.product.Settled(ctx)
	if err == nil && p.front.Running() {
		err = p.front.Ready(ctx)
	}
	return err
}

func (p pooled) Close() error { return errors.Join(p.front.Close(), p.product.Close()) }

// enterPooler gives the pooler its place, if there is one. It lives here, without limits.
func (c *Cluster) enterPooler() error {
	p, is := c.product.(pooled)
	if !is {
		return nil
	}
	here, err := machine.Loopback(machine.Options{ID: c.id, Names: []string{PoolerName}})
	if err != nil {
		return err
	}
	c.pooler = &Node{cluster: c, server: p.front.Node, machine: here.All()[0]}
	return nil
}

// Servers are the Nodes and, if there is one, the pooler before them.
func (c *Cluster) Servers() []*Node {
	all := c.Nodes()
	if c.pooler != nil {
		all = append(all, c.pooler)
	}
	return all
}

// Pooling says how a pooler shares connections.
type Pooling struct {
	// Program is its name and version.
	Program string
	// Address is where it listens, host:port.
	Address string
	// Mode is "transaction" or "session": for how long a client has a connection.
	Mode string
	// Size is how many connections to the primary there are at most.
	Size int
}

// Pooling is nil if clients reach the nodes without a pooler.
func (c *Cluster) Pooling() *Pooling {
	p, is := c.product.(pooled)
	if !is {
		return nil
	}
	return &Pooling{Program: p.front.Version(), Address: p.front.Node.Address(), Mode: p.front.Mode(), Size: p.front.Size()}
}
