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

type proxied struct {
	joined
	proxy *haproxy.Proxy
	spec  Spec
	// address is the URL for clients, with query added.
	address func(query string) string
}

// frontRoles are the roles before the nodes of a product that a program leads, innermost first.
func frontRoles(product string) []role {
	return []role{frontRole(RoleProxy, product+":3,proxy=haproxy"), poolerRole(product + ":3,proxy=haproxy,pooler=pgbouncer")}
}

// frontOptions are the options of such a product. A pooler needs the proxy, because only the proxy
// asks the nodes which is the primary.
func frontOptions() []option {
	return append([]option{{name: RoleProxy, want: "proxy=haproxy: clients reach the primary through it", check: oneOf("haproxy")}},
		poolerOptions(RoleProxy, "pooler=pgbouncer and proxy=haproxy: clients reach the proxy through it")...)
}

type asking struct {
	*haproxy.Proxy
	servers int
	address string
}

// Ready waits until the proxy has checked every server. Then it asks through the proxy once for
// each server: while the proxy takes several for the primary, it goes from one to the next.
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

// behindFronts puts before a product the proxy that the spec asks for, and before that a pooler,
// which leads to the proxy alone. After an error the product is closed.
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

// Address is the proxy's. It also names the nodes, so that their contents can be compared.
func (p proxied) Address() string { return p.address("&nodes=" + p.hosts(p.spec)) }

// Proxying describes how a proxy finds the primary.
type Proxying struct {
	Program string
	Address string
	// Check is the question that it asks the nodes.
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
