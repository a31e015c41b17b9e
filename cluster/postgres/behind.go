package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// lookBehind has standbys copied anew that run and cannot follow any more: the
// primary has thrown away the log that they need next (see keptLog). s.mu is
// held.
func (s *Set) lookBehind(ctx context.Context) {
	// Longer than a standby that was paused or cut off takes to connect again.
	patience := s.options.FailoverAfter + againAfter
	for i, node := range s.nodes {
		if i == s.primary || !node.following || node.copy || !node.Running() ||
			time.Since(node.seen) < patience || time.Now().Before(node.again) {
			continue
		}
		node.again = time.Now().Add(2 * againAfter) // one that is paused costs askBound each time
		needs, err := node.needs(ctx)
		if err != nil {
			continue
		}
		has, err := s.nodes[s.primary].has(ctx, needs)
		if err != nil || has {
			continue
		}
		node.copy = true
		s.bringBackLater(i, "was away for too long, the log that it needs is gone")
	}
}

// needs is the place in the log from which a standby has to go on.
func (p *Server) needs(ctx context.Context) (at lsn, err error) {
	err = p.talk(ctx, askBound, func(ctx context.Context, conn *pgx.Conn) error {
		r, err := askReceiving(ctx, conn)
		at = r.replayed
		return err
	})
	return at, err
}

// has reports whether the primary's log still reaches back to a place. Its files
// are named by the timeline (8 letters) and the place (16 letters).
func (p *Server) has(ctx context.Context, at lsn) (yes bool, err error) {
	err = p.talk(ctx, askBound, func(ctx context.Context, conn *pgx.Conn) error {
		return conn.QueryRow(ctx, `SELECT coalesce(min(right(name, 16) COLLATE "C") <= right(pg_walfile_name($1::text::pg_lsn), 16), false)
			FROM pg_ls_waldir() WHERE name ~ '^[0-9A-F]{24}$'`, at.String()).Scan(&yes)
	})
	return yes, err
}
