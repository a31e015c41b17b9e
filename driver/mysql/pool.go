package mysql

import (
	"context"

	"assay/driver/sqldb"
)

// Ping implements sqldb.Conn. It looks at the server again, since a Galera node may have lost its
// quorum.
func (c *conn) Ping(ctx context.Context) (err error) {
	c.look, err = c.lookAround(ctx)
	return err
}

func (p *schema) use(ctx context.Context, work func(*conn) error) error {
	c, err := p.firstThatWrites(ctx, p.hosts, func(h *host) (*conn, error) { return h.pool.Take(ctx) },
		func(c *conn) { c.host.pool.Return(c) })
	if err != nil {
		return p.readOnly(ctx, err, work)
	}
	defer c.host.pool.Return(c)
	return work(c)
}

// readOnly lets work read on the address's only server, which takes no writes; work that writes
// gets refused. The session is set read-only too, since read_only does not bind all users.
func (p *schema) readOnly(ctx context.Context, refused error, work func(*conn) error) error {
	if len(p.hosts) > 1 {
		return refused
	}
	c, err := p.hosts[0].pool.Take(ctx)
	if err != nil {
		return refused
	}
	defer c.host.pool.Return(c)
	if l := c.look; !l.readOnly || l.galera || l.grouped {
		return refused
	}
	defer c.HangUp()
	if _, err = c.Change(ctx, `SET SESSION TRANSACTION READ ONLY`); err == nil {
		err = work(c)
	}
	if hasCode(err, codeReadOnlyTransaction, codeOptionPrevents) {
		return refused
	}
	return err
}

// Use implements sqldb.Server. On Galera a statement sees everything that the cluster has committed
// (wsrep_sync_wait), so that all nodes answer alike.
func (p *schema) Use(ctx context.Context, work func(sqldb.Conn) error) error {
	return p.use(ctx, func(c *conn) error {
		if !c.look.galera {
			return work(c)
		}
		if _, err := c.Change(ctx, `SET @before = @@SESSION.wsrep_sync_wait, SESSION wsrep_sync_wait = 15`); err != nil {
			return err
		}
		err := work(c)
		if _, undone := c.Change(ctx, `SET SESSION wsrep_sync_wait = @before`); undone != nil {
			c.HangUp()
		}
		return err
	})
}
