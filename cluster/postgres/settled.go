package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"assay/cluster/server"
)

// Primary returns the node that takes writes, as the nodes themselves report, as
// soon as there is one.
func (s *Set) Primary(ctx context.Context) (primary int, err error) {
	err = s.until(ctx, "a node of PostgreSQL that takes writes", func(ctx context.Context) (err error) {
		primary, err = s.askPrimary(ctx)
		return err
	})
	return primary, err
}

// until is server.Until, which the end of the set ends with os.ErrClosed.
func (s *Set) until(ctx context.Context, what string, missing func(context.Context) error) error {
	return server.Until(ctx, 20*time.Millisecond, what, func(ctx context.Context) error {
		err := missing(ctx)
		if err != nil && s.alive.Err() != nil {
			return server.Permanent(os.ErrClosed)
		}
		return err
	})
}

// askPrimary asks all running nodes at the same time.
func (s *Set) askPrimary(ctx context.Context) (int, error) {
	writes := make([]bool, len(s.nodes))
	var asking sync.WaitGroup
	for i, node := range s.nodes {
		if node.Running() {
			asking.Go(func() { writes[i], _ = node.isPrimary(ctx) })
		}
	}
	asking.Wait()
	if i := slices.Index(writes, true); i >= 0 {
		return i, nil
	}
	return 0, errors.New("there is none")
}

func (p *Server) isPrimary(ctx context.Context) (yes bool, err error) {
	err = p.inSession(ctx, askBound, func(ctx context.Context, conn *pgx.Conn) error {
		return conn.QueryRow(ctx, "SELECT NOT pg_is_in_recovery()").Scan(&yes)
	})
	return yes, err
}

// Settled returns when every running node streams from the primary and has
// replayed what was in the primary's log when that was first asked, and commits
// wait for all of them (but for Asynchronous). When ctx ends, the error says
// which do not.
func (s *Set) Settled(ctx context.Context) error {
	var goal walGoal
	return s.until(ctx, "the nodes of PostgreSQL", func(ctx context.Context) error { return s.behind(ctx, &goal) })
}

// walGoal is what standbys are to reach: a position in the primary's log.
type walGoal struct {
	primary  int
	timeline uint64 // 0: not asked yet
	end      string
}

// behind returns an error that names each node which is not in step.
func (s *Set) behind(ctx context.Context, goal *walGoal) error {
	s.mu.Lock()
	primary, ready := s.primary, s.promoted && !s.lost && !s.starting
	sure := slices.Clone(s.quorum.sure)
	s.mu.Unlock()
	if !ready || !s.nodes[primary].Running() {
		return errors.New("there is no primary")
	}
	if goal.timeline == 0 || goal.primary != primary {
		if err := s.nodes[primary].queryGoal(ctx, goal); err != nil {
			return err
		}
		goal.primary = primary
	}
	var all []string
	for i, node := range s.nodes {
		if i == primary || !node.Running() {
			continue
		}
		switch there, err := node.reached(ctx, *goal); {
		case err != nil:
			all = append(all, s.nodeName(i)+" does not answer")
		case !there:
			all = append(all, s.nodeName(i)+" has not caught up")
		case !s.options.Asynchronous && !slices.Contains(sure, i):
			all = append(all, "commits do not wait for "+s.nodeName(i))
		}
	}
	if len(all) > 0 {
		return errors.New(strings.Join(all, ", "))
	}
	return nil
}

func (p *Server) queryGoal(ctx context.Context, goal *walGoal) error {
	return p.inSession(ctx, askBound, func(ctx context.Context, conn *pgx.Conn) error {
		var hex string
		err := conn.QueryRow(ctx, "SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8), pg_current_wal_lsn()::text").
			Scan(&hex, &goal.end)
		if err != nil {
			return err
		}
		_, err = fmt.Sscanf(hex, "%x", &goal.timeline)
		return err
	})
}

// reached reports whether a standby streams on the goal's timeline and has
// replayed that far. The timeline matters: a node that went another way may be
// as far in numbers.
func (p *Server) reached(ctx context.Context, goal walGoal) (there bool, err error) {
	err = p.inSession(ctx, askBound, func(ctx context.Context, conn *pgx.Conn) error {
		return conn.QueryRow(ctx, `SELECT coalesce(pg_last_wal_replay_lsn() >= $1::text::pg_lsn, false) AND EXISTS
			(SELECT FROM pg_stat_wal_receiver WHERE status = 'streaming' AND received_tli = $2)`,
			goal.end, int64(goal.timeline)).Scan(&there)
	})
	return there, err
}

// awaitPart returns when node i is the primary, streams from it, or there is no
// primary that it could stream from.
func (s *Set) awaitPart(ctx context.Context, i int) error {
	node := s.nodes[i]
	err := s.until(ctx, "the stream of "+s.nodeName(i), func(ctx context.Context) error {
		s.mu.Lock()
		primary, promoted, lost := s.primary, s.promoted, s.lost
		s.mu.Unlock()
		switch {
		case i == primary && promoted && !lost, i != primary && lost && node.Running():
			return nil
		case i != primary && promoted:
			var goal walGoal
			if s.nodes[primary].queryGoal(ctx, &goal) != nil {
				break
			}
			goal.end = "0/0" // it need not have caught up
			if there, _ := node.reached(ctx, goal); there {
				return nil
			}
		}
		if node.ended() {
			return server.Permanent(node.Process().Ended())
		}
		return fmt.Errorf("it does not stream from %s", s.nodeName(primary))
	})
	if err != nil && node.Running() {
		return fmt.Errorf("%w; its log ends with:\n%s", err, node.Tail(10))
	}
	return err
}

// ended reports whether the server ended and nobody is starting it again.
func (p *Server) ended() bool {
	if p.Running() || !p.Changing.TryLock() {
		return false
	}
	defer p.Changing.Unlock()
	return !p.Running()
}
