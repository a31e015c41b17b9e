package mysql

import (
	"context"
	"sync"
)

// poolSize bounds the connections beside those of sessions.
const poolSize = 16

// pool keeps connections to one host for everything but the workload's own
// transactions.
type pool struct {
	mu     sync.Mutex
	idle   []*conn
	closed bool
}

func (p *pool) pop() *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) == 0 {
		return nil
	}
	last := len(p.idle) - 1
	c := p.idle[last]
	p.idle = p.idle[:last]
	return c
}

func (p *pool) giveBack(c *conn) {
	sound := c.sound()
	p.mu.Lock()
	keep := sound && !p.closed && len(p.idle) < poolSize
	if keep {
		p.idle = append(p.idle, c)
	}
	p.mu.Unlock()
	if !keep {
		c.hangUp()
	}
}

// close closes what is idle now, and the rest when it is given back.
func (p *pool) close() {
	p.mu.Lock()
	idle := p.idle
	p.closed, p.idle = true, nil
	p.mu.Unlock()
	for _, c := range idle {
		c.hangUp()
	}
}

// take returns an idle connection that still answers, or a new one: since the
// last use the server may have been killed and started again, or lost its
// quorum.
func (h *host) take(ctx context.Context) (*conn, error) {
	for {
		c := h.pool.pop()
		if c == nil {
			return h.connect(ctx, h.settings.database)
		}
		bounded, cancel := context.WithTimeout(ctx, h.settings.connectTimeout)
		var err error
		c.look, err = c.lookAround(bounded)
		cancel()
		if err == nil && c.sound() {
			return c, nil
		}
		c.hangUp()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
}

// use runs work on a connection to the first host that takes writes. The
// connection is kept for later; work must leave it outside of any transaction,
// or closed.
func (p *schema) use(ctx context.Context, work func(*conn) error) error {
	release, err := p.slot(ctx)
	if err != nil {
		return err
	}
	defer release()
	c, err := p.firstThatWrites(ctx, p.hosts, func(h *host) (*conn, error) { return h.take(ctx) },
		func(c *conn) { c.host.pool.giveBack(c) })
	if err != nil {
		return err
	}
	defer c.host.pool.giveBack(c)
	return work(c)
}

// useHost is use with a connection to this host, whatever its part is.
func (p *schema) useHost(ctx context.Context, h *host, work func(*conn) error) error {
	release, err := p.slot(ctx)
	if err != nil {
		return err
	}
	defer release()
	c, err := h.take(ctx)
	if err != nil {
		return err
	}
	defer h.pool.giveBack(c)
	return work(c)
}

func (p *schema) slot(ctx context.Context) (release func(), err error) {
	select {
	case p.slots <- struct{}{}:
		return func() { <-p.slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// inTransaction runs work between this statement and COMMIT.
func (c *conn) inTransaction(ctx context.Context, begin string, work func() error) error {
	err := c.exec(ctx, begin)
	if err == nil {
		if err = work(); err == nil {
			err = c.exec(ctx, "COMMIT")
		}
	}
	if err == nil {
		return nil
	}
	// The connection goes back to the pool outside of a transaction, or not.
	if undone := c.exec(ctx, "ROLLBACK"); undone != nil {
		c.hangUp()
	}
	return err
}
