package cluster

import (
	"context"
	"errors"
	"net/url"
	"path/filepath"
	"time"

	"assay/cluster/haproxy"
	"assay/cluster/server"
	"assay/cluster/streaming"
)

// proxied is a product whose clients come through HAProxy.
type proxied struct {
	joined
	proxy *haproxy.Proxy
	spec  Spec
	// address is the URL by which clients reach it, with query added.
	address func(query string) string
}

// frontRoles are the roles of a product whose nodes are led by a program of its own, in the order
// in which they are put before the nodes.
func frontRoles(product string) []role {
	return []role{frontRole(RoleProxy, product+":3,proxy=haproxy"), poolerRole(product + ":3,proxy=haproxy,pooler=pgbouncer")}
}

// frontOptions are the options of such a product: what stands before the nodes finds the primary by
// asking, which a pooler does not.
func frontOptions() []option {
	return append([]option{{name: RoleProxy, want: "proxy=haproxy: clients reach the primary through it", check: oneOf("haproxy")}},
		poolerOptions(RoleProxy, "pooler=pgbouncer and proxy=haproxy: clients reach the proxy through it")...)
}

// asking is HAProxy as a front.
type asking struct {
	*haproxy.Proxy
	servers int
	address string
}

// Ready waits until the proxy has asked every server, and asks through it as often as there are
// servers, since it goes from one to the next as long as it takes several for the one that takes writes.
func (a asking) Ready(ctx context.Context) error {
	return server.Until(ctx, 100*time.Millisecond, a.Name, func(ctx context.Context) error {
		if err := a.Checked(); err != nil {
			return err
		}
		for range a.servers {
			if err := streaming.TakesWrites(ctx, a.address); err != nil {
				return err
			}
		}
		return nil
	})
}

// behindFronts puts before a product what the spec asks for: a proxy, and a pooler before
// that, which leads to the proxy and nowhere else. After an error the product is closed.
func behindFronts(ctx context.Context, s Spec, e environment, password string, behind product, servers []haproxy.Server) (product, error) {
	if s.Options[RoleProxy] == "" {
		return behind, nil
	}
	t, _ := topologyOf(s.Product)
	number := t.numberOf(s, RoleProxy)
	proxy, err := haproxy.New(ctx, haproxy.Options{
		Programs: e.programs, Dir: filepath.Join(e.logs, RoleProxy), Log: filepath.Join(e.logs, "haproxy.log"), Number: number,
		Servers: servers, User: streaming.CheckUser, Clients: postgresConnections,
	})
	if err != nil {
		return nil, errors.Join(err, behind.Close())
	}
	address := func(query string) string {
		u := url.URL{Scheme: "postgres", User: url.UserPassword(postgresUser, password), Host: proxy.Address(), Path: "/postgres",
			RawQuery: "sslmode=disable&connect_timeout=2" + query}
		return u.String()
	}
	ready := asking{proxy, len(servers), address("")}
	all := proxied{joined{product: behind, with: front{ready, proxy.Node}, first: number}, proxy, s, address}
	if err = proxy.Start(ctx); err == nil {
		err = ready.Ready(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, all.Close())
	}
	if s.Options[RolePooler] == "" {
		return all, nil
	}
	pooler, err := newPooler(s, e, t.numberOf(s, RolePooler), password)
	if err != nil {
		return nil, errors.Join(err, all.Close())
	}
	return behindPooler(ctx, s, all, proxy.Node, pooler)
}

// Address is the proxy's. It also names the nodes, which are compared with each other.
func (p proxied) Address() string { return p.address("&nodes=" + p.hosts(p.spec)) }

// Proxying says how a proxy finds the primary.
type Proxying struct {
	// Program is its name and version.
	Program string
	// Address is where it listens, host:port.
	Address string
	// Check is what it asks the nodes.
	Check string
}

// Proxying is nil if clients reach the nodes without a proxy.
func (c *Cluster) Proxying() *Proxying {
	behind := c.product
	if p, is := behind.(pooled); is {
		behind = p.behind()
	}
	p, is := behind.(proxied)
	if !is {
		return nil
	}
	return &Proxying{Program: p.proxy.Version(), Address: p.proxy.Node.Address(), Check: p.proxy.Check()}
}
