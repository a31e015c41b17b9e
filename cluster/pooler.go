package cluster

import (
	"context"
	"errors"
	"path/filepath"

	"assay/cluster/pgbouncer"
	"assay/cluster/server"
)

// pooled is a product whose clients come through a pooler.
type pooled struct {
	product
	front *pgbouncer.Pooler
	nodes int
}

// poolerRole is PgBouncer before the nodes, where the spec asks for it.
func poolerRole(example string) role {
	return role{name: RolePooler, example: example, present: func(s Spec) bool { return s.Options["pooler"] != "" }}
}

// newPooler makes the pooler that a spec asks for; it is not started yet.
func newPooler(s Spec, e environment, password string) (*pgbouncer.Pooler, error) {
	return pgbouncer.New(pgbouncer.Options{
		Programs: e.programs, Dir: filepath.Join(e.logs, RolePooler), Log: filepath.Join(e.logs, "pgbouncer.log"), Number: s.Nodes + s.Arbiters,
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
	if i == p.front.Number {
		return p.front.Restart(ctx, env...)
	}
	return p.product.Restart(ctx, i, env...)
}

// Parameter implements telling.
func (p pooled) Parameter(ctx context.Context, i int, name string) (string, error) {
	return parameterOf(ctx, p.product, i, name)
}

// HandOver implements yielding.
func (p pooled) HandOver(ctx context.Context, i int) error { return handOver(ctx, p.product, i) }

// Settled also wants the pooler to lead to a server that takes writes, if it runs.
func (p pooled) Settled(ctx context.Context) error {
	err := p.product.Settled(ctx)
	if err == nil && p.front.Running() {
		err = p.front.Ready(ctx)
	}
	return err
}

func (p pooled) Close() error { return errors.Join(p.front.Close(), p.product.Close()) }

// Beside implements accompanied.
func (p pooled) Beside() []*server.Node { return []*server.Node{p.front.Node} }

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
