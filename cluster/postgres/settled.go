package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"assay/cluster/server"
)

// Primary returns node 0 as soon as it takes writes, as it reports itself.
func (s *Set) Primary(ctx context.Context) (primary int, err error) {
	return 0, s.until(ctx, "PostgreSQL's primary", func(ctx context.Context) error {
		_, err := s.nodes[0].logEnd(ctx)
		return err
	})
}

// until is server.Until, which the end of the set ends with os.ErrClosed.
func (s *Set) until(ctx context.Context, what string, missing func(context.Context) error) error {
	return server.Until(ctx, 20*time.Millisecond, what, func(ctx context.Context) error {
		if s.nodes[0].Closed() {
			return server.Permanent(os.ErrClosed)
		}
		return missing(ctx)
	})
}

// Settled returns when every running standby streams from the primary and has
// replayed what was in the primary's log when that was first asked. When ctx ends, the error
// says which do not.
func (s *Set) Settled(ctx context.Context) error {
	goal := ""
	return s.until(ctx, "the nodes of PostgreSQL", func(ctx context.Context) (err error) {
		if !s.nodes[0].Running() {
			return errors.New("the primary is down")
		}
		if goal == "" {
			if goal, err = s.nodes[0].logEnd(ctx); err != nil {
				return err
			}
		}
		var all []string
		for i, node := range s.nodes[1:] {
			if !node.Running() {
				continue
			}
			switch there, err := node.reached(ctx, goal); {
			case err != nil:
				all = append(all, s.name(i+1)+" does not answer")
			case !there:
				all = append(all, s.name(i+1)+" has not caught up")
			}
		}
		if len(all) > 0 {
			return errors.New(strings.Join(all, ", "))
		}
		return nil
	})
}

// logEnd is how far a primary's log goes; a standby returns an error.
func (p *Server) logEnd(ctx context.Context) (end string, err error) {
	err = p.inSession(ctx, askBound, func(ctx context.Context, conn *pgx.Conn) error {
		return conn.QueryRow(ctx, "SELECT pg_current_wal_lsn()::text").Scan(&end)
	})
	return end, err
}

// reached reports whether a standby streams and has replayed its log that far.
func (p *Server) reached(ctx context.Context, goal string) (there bool, err error) {
	err = p.inSession(ctx, askBound, func(ctx context.Context, conn *pgx.Conn) error {
		return conn.QueryRow(ctx, `SELECT coalesce(pg_last_wal_replay_lsn() >= $1::text::pg_lsn, false)
			AND EXISTS (SELECT FROM pg_stat_wal_receiver WHERE status = 'streaming')`, goal).Scan(&there)
	})
	return there, err
}

// awaitStream returns when standby i streams, or when the primary is down.
func (s *Set) awaitStream(ctx context.Context, i int) error {
	node := s.nodes[i]
	err := s.until(ctx, "the stream of "+s.name(i), func(ctx context.Context) error {
		if there, _ := node.reached(ctx, "0/0"); there || !s.nodes[0].Running() && node.Running() {
			return nil
		}
		if !node.Running() {
			return server.Permanent(node.Process().Ended())
		}
		return fmt.Errorf("it does not stream from %s", s.name(0))
	})
	if err != nil && node.Running() {
		return fmt.Errorf("%w; its log ends with:\n%s", err, node.Tail(10))
	}
	return err
}
