package postgres

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// poolSize bounds the connections beside those of sessions. More streams of
// COPY into one table gain nothing: they wait for one another's pages.
const poolSize = 16

// pool lends connections for everything but transfers.
type pool struct {
	config  *pgx.ConnConfig
	address string // printable
	slots   chan struct{}

	mu     sync.Mutex
	idle   []*pgx.Conn
	closed bool
}

func newPool(config *pgx.ConnConfig, address string) *pool {
	return &pool{config: config, address: address, slots: make(chan struct{}, poolSize)}
}

// use runs work on a connection of its own. The connection is kept for later
// unless it is closed or inside a transaction afterwards.
func (p *pool) use(ctx context.Context, work func(*pgx.Conn) error) error {
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	conn, err := p.take(ctx)
	if err != nil {
		return err
	}
	defer p.giveBack(conn)
	return work(conn)
}

// take returns an idle connection that still answers, or a new one: since the
// last use the server may have been killed and started again.
func (p *pool) take(ctx context.Context) (*pgx.Conn, error) {
	for {
		conn := p.pop()
		if conn == nil {
			break
		}
		bounded, cancel := context.WithTimeout(ctx, p.config.ConnectTimeout)
		err := conn.Ping(bounded)
		cancel()
		if err == nil {
			return conn, nil
		}
		discard(conn)
	}
	conn, err := pgx.ConnectConfig(ctx, p.config)
	if err != nil {
		return nil, connectError(ctx, p.config, p.address, err)
	}
	return conn, nil
}

func (p *pool) pop() *pgx.Conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) == 0 {
		return nil
	}
	last := len(p.idle) - 1
	conn := p.idle[last]
	p.idle = p.idle[:last]
	return conn
}

func (p *pool) giveBack(conn *pgx.Conn) {
	sound := !conn.IsClosed() && !conn.PgConn().IsBusy() && conn.PgConn().TxStatus() == 'I'
	p.mu.Lock()
	keep := sound && !p.closed
	if keep {
		p.idle = append(p.idle, conn)
	}
	p.mu.Unlock()
	if !keep {
		discard(conn)
	}
}

// close closes what is idle now, and the rest when it is given back.
func (p *pool) close() {
	p.mu.Lock()
	idle := p.idle
	p.closed, p.idle = true, nil
	p.mu.Unlock()
	for _, conn := range idle {
		discard(conn)
	}
}

// closeTimeout bounds how long the server is told that a connection ends.
const closeTimeout = time.Second

// discard closes a connection within a bounded time. The error is of no use:
// the connection is gone either way.
func discard(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	_ = conn.Close(ctx)
}

// inTransaction runs work in one transaction with these options.
func (p *pool) inTransaction(ctx context.Context, options pgx.TxOptions, work func(pgx.Tx) error) error {
	return p.use(ctx, func(conn *pgx.Conn) error {
		return pgx.BeginTxFunc(ctx, conn, options, work)
	})
}

// operation puts the name of what was done before an error, if there is one.
func operation(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("postgres: %s: %w", name, err)
}
