package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// copyOutdated has standbys copied anew that run and cannot follow any more: the
// primary has thrown away the log that they need next (see keptLog). s.mu is
// held.
func (s *Set) copyOutdated(ctx context.Context) {
	// Longer than a standby that was paused or cut off takes to connect again.
	patience := s.options.FailoverAfter + retryAfter
	for i, node := range s.nodes {
		if i == s.primary || !node.following || node.copy || !node.Running() ||
			time.Since(node.seen) < patience || time.Now().Before(node.again) {
			continue
		}
		node.again = time.Now().Add(2 * retryAfter) // one that is paused costs askBound each time
		nextPosition, err := node.nextPosition(ctx)
		if err != nil {
			continue
		}
		retains, err := s.nodes[s.primary].retains(ctx, nextPosition)
		if err != nil || retains {
			continue
		}
		node.copy = true
		s.rejoinLater(i, "was away for too long, the log that it needs is gone")
	}
}

// nextPosition is the position in the log from which a standby has to go on.
func (p *Server) nextPosition(ctx context.Context) (at lsn, err error) {
	err = p.inSession(ctx, askBound, func(ctx context.Context, conn *pgx.Conn) error {
		r, err := queryReceiving(ctx, conn)
		at = r.replayed
		return err
	})
	return at, err
}

// retains reports whether the primary's log still reaches back to a position. Its files
// are named by the timeline (8 letters) and the position (16 letters).
func (p *Server) retains(ctx context.Context, at lsn) (yes bool, err error) {
	err = p.inSession(ctx, askBound, func(ctx context.Context, conn *pgx.Conn) error {
		return conn.QueryRow(ctx, `SELECT coalesce(min(right(name, 16) COLLATE "C") <= right(pg_walfile_name($1::text::pg_lsn), 16), false)
			FROM pg_ls_waldir() WHERE name ~ '^[0-9A-F]{24}$'`, at.String()).Scan(&yes)
	})
	return yes, err
}
