package cluster

import (
	"context"
	"errors"
	"path/filepath"

	"assay/cluster/pgbouncer"
	"assay/cluster/server"
)

type pooled struct {
	joined
	pooler *pgbouncer.Pooler
	spec   Spec
}

func poolerRole(example string) role { return frontRole(RolePooler, example) }

// frontRole is a server before the nodes, present if the spec has the option of its name.
func frontRole(name, example string) role {
	return role{name: name, example: example, count: func(s Spec) int {
		if s.Options[name] == "" {
			return 0
		}
		return 1
	}}
}

// poolerOptions are the options of a pooler. needs names another option that they require, if any.
func poolerOptions(needs, want string) []option {
	return []option{
		{name: RolePooler, want: want, needs: needs, check: oneOf("pgbouncer")},
		{name: "pool_mode", want: "pool_mode=transaction or pool_mode=session, with pooler=pgbouncer; by statement it would refuse transactions of several statements", needs: RolePooler, check: oneOf("transaction", "session")},
		{name: "pool_size", want: "pool_size=NUMBER of connections to the primary, with pooler=pgbouncer, such as 20", needs: RolePooler, check: aCount},
	}
}

func newPooler(s Spec, e environment, number int, password string) (*pgbouncer.Pooler, error) {
	return pgbouncer.New(pgbouncer.Options{
		Programs: e.programs, Dir: filepath.Join(e.logs, RolePooler), Log: filepath.Join(e.logs, "pgbouncer.log"), Number: number,
		User: postgresUser, Password: password, Mode: s.Options["pool_mode"], Size: s.count("pool_size"), Clients: postgresConnections,
	})
}

// behindPooler starts a pooler that leads to one server. After an error it closes the product too.
func behindPooler(ctx context.Context, s Spec, behind product, to *server.Node, p *pgbouncer.Pooler) (product, error) {
	all := pooled{joined{product: behind, with: front{p, p.Node}, first: p.Number}, p, s}
	if err := p.Start(ctx, to); err != nil {
		return nil, errors.Join(err, all.Close())
	}
	return all, nil
}

// Address is the pooler's. It also names the nodes, so that their contents can be compared.
func (p pooled) Address() string { return p.pooler.Address("&nodes=" + p.hosts(p.spec)) }

// Pooling describes how a pooler shares connections.
type Pooling struct {
	Program string
	Address string
	// Mode says how long a client keeps a connection: "transaction" or "session".
	Mode string
	Size int
}

// Pooling is nil if clients reach the nodes without a pooler.
func (c *Cluster) Pooling() *Pooling {
	p, is := c.product.(pooled)
	if !is {
		return nil
	}
	return &Pooling{Program: p.pooler.Version(), Address: p.pooler.Node.Address(), Mode: p.pooler.Mode(), Size: p.pooler.Size()}
}
