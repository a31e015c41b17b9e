package mysql

import (
	"context"

	"assay/driver/sqldb"
)

// Ping implements sqldb.Conn. It asks the server again what it is, since a Galera
// node may have lost its quorum.
func (c *conn) Ping(ctx context.Context) (err error) {
	c.look, err = c.lookAround(ctx)
	return err
}

// use runs work on a connection to the first host that takes writes.
func (p *schema) use(ctx context.Context, work func(*conn) error) error {
	c, err := p.firstThatWrites(ctx, p.hosts, func(h *host) (*conn, error) { return h.pool.Take(ctx) },
		func(c *conn) { c.host.pool.Return(c) })
	if err != nil {
		return p.readOnly(ctx, err, work)
	}
	defer c.host.pool.Return(c)
	return work(c)
}

// readOnly runs work on the only server of the address, which takes no writes, so that what is
// there can be read; refused says so, and is the error of work that writes. The session takes
// none either, since read_only does not bind all users.
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

// Use implements sqldb.Server. On Galera a statement sees what the cluster has
// committed until now (wsrep_sync_wait, all kinds), so that every node tells the
// same.
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
