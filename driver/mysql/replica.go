package mysql

import (
	"context"
	"errors"
	"fmt"
	"time"

	"assay/driver/replicas"
	"assay/driver/sqldb"
	"assay/store"
)

var _ store.Replicated = (*schema)(nil)

// Replicas implements store.Replicated by the hosts of the address that belong to the installation.
// Galera's members, a group's and replicas are known by the addresses they use among themselves. In
// Galera all take writes; the first that sessions use is called primary.
func (p *schema) Replicas(ctx context.Context) ([]store.Replica, map[string]error, error) {
	first, name, err := p.goal(ctx)
	if err != nil {
		return nil, nil, p.Operation("look for the nodes", err)
	}
	if first.kind == kindAlone {
		return []store.Replica{{Name: name, Primary: true}}, nil, nil
	}
	looks, failures := replicas.AskAll(ctx, p.hosts, p.askHost)
	if ctx.Err() != nil {
		return nil, nil, p.Operation("look for the nodes", ctx.Err())
	}
	members := make([]replicas.Member, len(looks))
	for i, m := range looks {
		members[i] = replicas.Member{Name: p.hosts[i].name, Identity: m.identity, Err: failures[i]}
		switch {
		case failures[i] != nil:
		case m.kind != first.kind || m.history != first.history:
			members[i].Err = fmt.Errorf("it is no %s that the run used", first.kind)
		case m.lost():
			members[i].Err = m.apart
		}
	}
	found, unreachable := replicas.Of(first.identity, members)
	return found, unreachable, nil
}

func (p *schema) askHost(ctx context.Context, h *host) (m member, err error) {
	ctx, cancel := context.WithTimeout(ctx, p.connectTimeout)
	defer cancel()
	err = h.pool.Use(ctx, func(c *conn) (err error) {
		m, err = p.askMember(ctx, c)
		return err
	})
	return m, err
}

func (p *schema) hostOf(r store.Replica) (*host, error) {
	for _, h := range p.hosts {
		if h.name == r.Name {
			return h, nil
		}
	}
	return nil, fmt.Errorf("mysql: the address names no host %s", r.Name)
}

// CatchUp implements store.Replicated. The node must reach the commits that the first writing host
// had at the call.
func (p *schema) CatchUp(ctx context.Context, replica store.Replica) error {
	h, err := p.hostOf(replica)
	if err != nil {
		return err
	}
	goal, _, err := p.goal(ctx)
	if err != nil || goal.kind == kindAlone {
		return p.Operation("ask what is committed", err)
	}
	return p.catchUp(ctx, h, goal)
}

// goal is the state of the first host that takes writes.
func (p *schema) goal(ctx context.Context) (m member, name string, err error) {
	err = p.use(ctx, func(c *conn) (err error) {
		name = c.host.name
		m, err = p.askMember(ctx, c)
		return err
	})
	return m, name, err
}

func (p *schema) catchUp(ctx context.Context, h *host, goal member) error {
	doing := fmt.Sprintf("mysql: wait for %s to commit up to %s", h.name, goal)
	return replicas.CatchUp(ctx, doing, func(ctx context.Context) (final bool, err error) {
		bounded, cancel := context.WithTimeout(ctx, p.connectTimeout)
		defer cancel()
		return false, h.pool.Use(bounded, func(c *conn) error {
			m, err := p.askMember(bounded, c)
			if err == nil {
				err = m.reached(bounded, c, goal)
			}
			return err
		})
	})
}

// everywhereBound bounds the wait for the nodes to have the tables.
const everywhereBound = 30 * time.Second

// Replicate implements sqldb.Server. Every reachable Galera node of the address must have committed
// everything committed so far, for sessions that begin there. Sessions of a group, or with
// replicas, are all with the primary.
func (p *schema) Replicate(ctx context.Context) error {
	if !p.server.galera || len(p.hosts) < 2 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, everywhereBound)
	defer cancel()
	goal, _, err := p.goal(ctx)
	if err != nil {
		return err
	}
	_, failures := replicas.AskAll(ctx, p.hosts, func(ctx context.Context, h *host) (m member, err error) {
		if m, err := p.askHost(ctx, h); err != nil || m.history != goal.history || m.lost() {
			return m, nil
		}
		return m, p.catchUp(ctx, h, goal)
	})
	return errors.Join(failures...)
}

func (p *schema) ViewReplica(ctx context.Context, replica store.Replica, read func(store.Reader) error) error {
	h, err := p.hostOf(replica)
	if err != nil {
		return err
	}
	return p.ViewBy(ctx, func(ctx context.Context, work func(sqldb.Conn) error) error {
		return h.pool.Use(ctx, func(c *conn) error { return work(c) })
	}, read)
}
