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

// SessionID is an open session as its server knows it.
type SessionID struct {
	// Server is the server's name where several count their sessions each for
	// itself, else empty.
	Server string
	ID     string
}

// Sessions are those that a database has open. The zero value has none. It is safe for
// concurrent use.
type Sessions struct {
	mu   sync.Mutex
	open map[SessionID]int
	n    atomic.Int32 // of open
}

// Alone reports whether no more than one is open.
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

// Remove takes it out.
func (s *Sessions) Remove(session SessionID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[session]--; s.open[session] == 0 {
		delete(s.open, session)
	}
	s.n.Store(int32(len(s.open)))
}

// All are the sessions that are open now.
func (s *Sessions) All() (all []SessionID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for session := range s.open {
		all = append(all, session)
	}
	return all
}

// Owner is the run that this Database works for, empty if it does not know.
func (n *Namespace) Owner() string {
	if created := n.created.Load(); created != nil {
		return *created
	}
	return n.Taken().Run
}

// Run is Owner or, if that is not known, the run of the marker. Without a marker it
// gives *store.NoSchemaError.
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

// settleGrace is how long an abandoned session may finish what it does before the
// server is told to end it; settleInterval the pause between two looks.
const (
	settleGrace    = time.Second
	settleInterval = 10 * time.Millisecond
)

// SettleOn waits until no abandoned session of this run is left on the connection's
// server, whichever Database opened it. It is not enough that a session is idle: what
// a client sent before the network went silent may still be on its way to it, and
// somebody else's locks can keep one at work long after it was closed. So one that
// does not end within a second by itself is ended by the server; its transaction is
// then rolled back or already committed.
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

// SettleBy looks until nothing is left. What has not ended within a second by itself is
// ended, and so on each second.
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

// orphans are the ids of the sessions of this name that this Database has not open,
// and what one of them does.
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
