package mysql

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"assay/driver/replicas"
	"assay/driver/sqldb"
	"assay/store"
)

var _ store.Replicated = (*schema)(nil)

// member is what a Galera node says of itself (Galera documentation, "Galera
// Status Variables").
type member struct {
	galera    bool
	identity  string // wsrep_gcomm_uuid, new with each start
	history   string // wsrep_cluster_state_uuid, the same for all of a cluster
	component string // wsrep_cluster_status
	state     string // wsrep_local_state_comment
	committed int64  // wsrep_last_committed
}

func (c *conn) askMember(ctx context.Context) (m member, err error) {
	status, err := c.pairs(ctx, `SHOW GLOBAL STATUS WHERE Variable_name IN ('wsrep_gcomm_uuid', 'wsrep_cluster_state_uuid',
		'wsrep_cluster_status', 'wsrep_local_state_comment', 'wsrep_last_committed')`)
	if err != nil || !c.look.galera {
		return m, err
	}
	committed, err := strconv.ParseInt(status["wsrep_last_committed"], 10, 64)
	if err != nil {
		return m, errors.New("the Galera node does not tell what it has committed")
	}
	return member{true, status["wsrep_gcomm_uuid"], status["wsrep_cluster_state_uuid"], status["wsrep_cluster_status"],
		status["wsrep_local_state_comment"], committed}, nil
}

// Replicas implements store.Replicated. The members of a Galera cluster are known
// by the addresses at which they talk to one another; so replicas are the hosts of
// the address that belong to the cluster. The one that sessions go to first is
// called primary, though all take writes. A server without Galera has none:
// nothing is known here of copies that are made in other ways.
func (p *schema) Replicas(ctx context.Context) ([]store.Replica, map[string]error, error) {
	var first member
	var name string
	err := p.use(ctx, func(c *conn) (err error) {
		name = c.host.name
		first, err = c.askMember(ctx)
		return err
	})
	if err != nil {
		return nil, nil, p.Operation("look for the nodes", err)
	}
	if !first.galera {
		return []store.Replica{{Name: name, Primary: true}}, nil, nil
	}
	looks, failures := replicas.AskAll(ctx, p.hosts, p.askHost)
	if ctx.Err() != nil {
		return nil, nil, p.Operation("look for the nodes", ctx.Err())
	}
	members := make([]replicas.Member, len(looks))
	for i, l := range looks {
		members[i] = replicas.Member{Name: p.hosts[i].name, Identity: l.identity, Err: failures[i]}
		switch {
		case failures[i] != nil:
		case !l.galera || l.history != first.history:
			members[i].Err = errors.New("it is no node of the Galera cluster that the run used")
		case l.component != "Primary":
			members[i].Err = fmt.Errorf("it is in a component that is %s", l.component)
		}
	}
	found, unreachable := replicas.Of(first.identity, members)
	return found, unreachable, nil
}

func (p *schema) askHost(ctx context.Context, h *host) (m member, err error) {
	ctx, cancel := context.WithTimeout(ctx, p.connectTimeout)
	defer cancel()
	err = h.pool.Use(ctx, func(c *conn) (err error) {
		m, err = c.askMember(ctx)
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

// CatchUp implements store.Replicated: the node has committed, in the order that
// is the same for all, up to what the first that takes writes had committed when
// this was called.
func (p *schema) CatchUp(ctx context.Context, replica store.Replica) error {
	h, err := p.hostOf(replica)
	if err != nil {
		return err
	}
	goal, err := p.goal(ctx)
	if err != nil || !goal.galera {
		return p.Operation("ask what is committed", err)
	}
	return p.catchUp(ctx, h, goal)
}

// goal is what the first host that takes writes has committed.
func (p *schema) goal(ctx context.Context) (m member, err error) {
	err = p.use(ctx, func(c *conn) (err error) {
		m, err = c.askMember(ctx)
		return err
	})
	return m, err
}

// catchUp waits until a host has committed as much as goal.
func (p *schema) catchUp(ctx context.Context, h *host, goal member) error {
	doing := fmt.Sprintf("mysql: wait for %s to commit up to %d", h.name, goal.committed)
	return replicas.CatchUp(ctx, doing, func(ctx context.Context) (final bool, err error) {
		m, err := p.askHost(ctx, h)
		if err == nil {
			err = m.reached(goal)
		}
		return false, err
	})
}

// everywhereBound is how long the nodes may take to have what was made.
const everywhereBound = 30 * time.Second

// Replicate implements sqldb.Server: it returns when every node of the address's
// Galera cluster that can be reached has committed what is committed until now, so
// that a session that begins at another node finds it.
func (p *schema) Replicate(ctx context.Context) error {
	if !p.server.galera || len(p.hosts) < 2 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, everywhereBound)
	defer cancel()
	goal, err := p.goal(ctx)
	if err != nil {
		return err
	}
	_, failures := replicas.AskAll(ctx, p.hosts, func(ctx context.Context, h *host) (m member, err error) {
		if m, err := p.askHost(ctx, h); err != nil || m.history != goal.history || m.component != "Primary" {
			return m, nil
		}
		return m, p.catchUp(ctx, h, goal)
	})
	return errors.Join(failures...)
}

func (m member) reached(goal member) error {
	switch {
	case m.history != goal.history:
		return errors.New("it is no node of the cluster")
	case m.component != "Primary" || m.state != "Synced":
		return fmt.Errorf("it is %s in a component that is %s", m.state, m.component)
	case m.committed < goal.committed:
		return fmt.Errorf("it has committed up to %d", m.committed)
	}
	return nil
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
