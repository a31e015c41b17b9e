package serve

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"assay/internal/wait"
	"assay/store"
	"assay/workload/entity"
	"assay/workload/keyvalue"
)

// HeaderClient names a connection's client, so that the service can tell when the client's last
// connection is gone, and with it everything under way.
const HeaderClient = "Assay-Client"

// connections is the set of open connections. It is safe for concurrent use.
type connections struct {
	mu   sync.Mutex
	open map[net.Conn]*connection
}

type connection struct {
	client string
	asked  bool // at least once
}

func newConnections() *connections { return &connections{open: map[net.Conn]*connection{}} }

type connectionKey struct{}

// opened is for http.Server.ConnContext.
func (c *connections) opened(ctx context.Context, raw net.Conn) context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	one := new(connection)
	c.open[raw] = one
	return context.WithValue(ctx, connectionKey{}, one)
}

// changed is for http.Server.ConnState.
func (c *connections) changed(raw net.Conn, state http.ConnState) {
	if state != http.StateClosed && state != http.StateHijacked {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, raw)
}

// belongs notes the client of a request's connection.
func (c *connections) belongs(r *http.Request) {
	one, ok := r.Context().Value(connectionKey{}).(*connection)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	one.asked = true
	if name := r.Header.Get(HeaderClient); name != "" {
		one.client = name
	}
}

const goneInterval = 5 * time.Millisecond

// gone returns when no connection is open that belongs to the client, or that has asked nothing
// yet and may belong to anybody. The time limit for headers ends the latter.
func (c *connections) gone(ctx context.Context, client string) error {
	for {
		c.mu.Lock()
		left := 0
		for _, one := range c.open {
			if one.client == client && client != "" || !one.asked {
				left++
			}
		}
		c.mu.Unlock()
		if left == 0 {
			return nil
		}
		if err := wait.Pause(ctx, goneInterval); err != nil {
			return err
		}
	}
}

// pool lends the database's sessions to requests. It is safe for concurrent use.
type pool struct {
	store store.Database
	// lent holds a token for each session lent.
	lent chan struct{}
	idle chan store.Session
}

func newPool(db store.Database, size int) *pool {
	return &pool{store: db, lent: make(chan struct{}, size), idle: make(chan store.Session, size)}
}

// take waits for a session, which the caller gives back. After an error, nothing was sent.
func (p *pool) take(ctx context.Context) (store.Session, error) {
	select {
	case p.lent <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case session := <-p.idle:
		return session, nil
	default:
	}
	session, err := p.store.Session(ctx, keyvalue.Statements(entity.Schema()))
	if err != nil {
		<-p.lent
	}
	return session, err
}

// give takes a session back, and closes it if it is useless.
func (p *pool) give(session store.Session, useless bool) {
	if useless {
		session.Close()
	} else {
		p.idle <- session // which has room for all that are lent
	}
	<-p.lent
}

func (p *pool) drain() {
	for {
		select {
		case session := <-p.idle:
			session.Close()
		default:
			return
		}
	}
}
