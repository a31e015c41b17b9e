package sqldb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"assay/internal/wait"
	"assay/store"
)

// SessionID identifies an open session for its server.
type SessionID struct {
	// Server is the server's name if several servers number their sessions; else empty.
	Server string
	ID     string
}

// Sessions are a database's open sessions. The zero value is empty. It is safe for concurrent use.
type Sessions struct {
	mu   sync.Mutex
	open map[SessionID]int
	n    atomic.Int32 // of open
}

// Alone reports whether at most one is open.
func (s *Sessions) Alone() bool { return s.n.Load() <= 1 }

// Add enters a session.
func (s *Sessions) Add(session SessionID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = make(map[SessionID]int)
	}
	s.open[session]++
	s.n.Store(int32(len(s.open)))
}

// Remove removes a session.
func (s *Sessions) Remove(session SessionID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[session]--; s.open[session] == 0 {
		delete(s.open, session)
	}
	s.n.Store(int32(len(s.open)))
}

// All returns the open sessions.
func (s *Sessions) All() (all []SessionID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for session := range s.open {
		all = append(all, session)
	}
	return all
}

// Owner is the run that this Database works for, empty if not known.
func (n *Namespace) Owner() string {
	if created := n.created.Load(); created != nil {
		return *created
	}
	return n.Taken().Run
}

// Run is Owner or else the mark's run. Without a mark it returns *store.NoSchemaError.
func (n *Namespace) Run(ctx context.Context, c Conn) (string, error) {
	if run := n.Owner(); run != "" {
		return run, nil
	}
	mark, err := n.MustMark(ctx, c)
	if err != nil {
		return "", err
	}
	return mark.Run, nil
}

// An abandoned session may work on for settleGrace before the server is told to end it.
const (
	settleGrace    = time.Second
	settleInterval = 10 * time.Millisecond
)

// SettleOn waits until the connection's server has no abandoned session of this run, whichever
// Database opened it. An idle session counts: bytes sent before the network went silent may still
// arrive. Locks of others can keep a closed session at work. The server is told to end a session
// that lasts longer than a second; its transaction is then rolled back or already committed.
func (n *Namespace) SettleOn(ctx context.Context, c Conn, server string) error {
	run, err := n.Run(ctx, c)
	if nothing := (*store.NoSchemaError)(nil); errors.As(err, &nothing) {
		return nil
	}
	if err != nil {
		return err
	}
	name := store.OfText(n.Server.SessionName(run))
	return SettleBy(ctx, "abandoned sessions are still in the database", func() ([]string, string, error) {
		return n.orphans(ctx, c, server, name)
	}, func(id string) error {
		err := c.Query(ctx, fmt.Sprintf(n.Catalog.EndSession, id), func(store.Row) error { return nil }, name)
		if kind := n.Server.Kind(err); err != nil && kind != NotThere && kind != NotAllowed {
			return err
		}
		return nil
	})
}

// SettleBy looks until nothing is left. Each second it ends what is left.
func SettleBy(ctx context.Context, what string, look func() (ids []string, state string, err error), end func(id string) error) error {
	terminate := time.Now().Add(settleGrace)
	for {
		left, state, err := look()
		if err != nil || len(left) == 0 {
			return err
		}
		if time.Now().After(terminate) {
			for _, id := range left {
				if err := end(id); err != nil {
					return err
				}
			}
			terminate = time.Now().Add(settleGrace)
		}
		if wait.Pause(ctx, settleInterval) != nil {
			return fmt.Errorf("%d %s (%s): %w", len(left), what, state, ctx.Err())
		}
	}
}

// orphans lists the sessions of this name that this Database does not have open, and the state of
// one of them.
func (n *Namespace) orphans(ctx context.Context, c Conn, server string, name store.Value) (ids []string, state string, err error) {
	own := n.Sessions.All()
	err = c.Query(ctx, n.Catalog.Sessions, func(row store.Row) error {
		var id, does string
		err := row.Scan(&id, &does)
		if err == nil && !slices.Contains(own, SessionID{server, id}) {
			ids, state = append(ids, id), does
		}
		return err
	}, name)
	return ids, state, err
}
