package serve

import (
	"context"
	"sync"

	"assay/workload/keyvalue"
)

// pool lends the Store's sessions to requests, at most so many at a time. It is
// safe for concurrent use.
type pool struct {
	store  keyvalue.Store
	tokens chan struct{} // holds a token for each session that is lent

	mu   sync.Mutex
	idle []keyvalue.Session
}

func newPool(store keyvalue.Store, size int) *pool {
	return &pool{store: store, tokens: make(chan struct{}, size)}
}

// take waits for a session; the caller gives it back. Nothing was sent if it
// returns an error: ctx's if it waited too long.
func (p *pool) take(ctx context.Context) (keyvalue.Session, error) {
	select {
	case p.tokens <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	p.mu.Lock()
	if n := len(p.idle); n > 0 {
		session := p.idle[n-1]
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		return session, nil
	}
	p.mu.Unlock()
	session, err := p.store.Session(ctx)
	if err != nil {
		<-p.tokens
		return nil, err
	}
	return session, nil
}

// give takes a session back, and closes it if it is of no further use.
func (p *pool) give(session keyvalue.Session, useless bool) {
	if useless {
		session.Close()
	} else {
		p.mu.Lock()
		p.idle = append(p.idle, session)
		p.mu.Unlock()
	}
	<-p.tokens
}

// drain closes the sessions that nobody has.
func (p *pool) drain() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, session := range p.idle {
		session.Close()
	}
	p.idle = nil
}
