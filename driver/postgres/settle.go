package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// settleGrace is how long an abandoned session may finish what it does before
// the server is told to end it.
const settleGrace = time.Second

const (
	// orphans are the backends of sessions of this database that no session of
	// this Store owns. Somebody else's locks or a client that went silent can
	// keep one alive long after its session was closed.
	orphans = ` FROM pg_stat_activity
		WHERE application_name = $2 AND datname = current_database() AND pid::text <> ALL ($1::text[])`
	countOrphans = `SELECT count(*), coalesce(min(coalesce(state, 'in an unknown state')), '')` + orphans
	endOrphans   = `SELECT count(pg_terminate_backend(pid))` + orphans
)

// Settle waits until no abandoned session of this run is left in this database,
// whichever Store opened it; a Store that does not know its run has that of the
// mark. It is not enough that a session is idle: what a
// client sent before the network went silent may still be on its way to it. So
// one that does not end within a second by itself is ended by the server; its
// transaction is then rolled back or already committed.
func (p *schema) Settle(ctx context.Context) error {
	err := p.pool.use(ctx, func(conn *pgx.Conn) error {
		run, known, err := p.runOn(ctx, conn)
		if err != nil || !known {
			return err
		}
		name := p.sessionName(run)
		terminate := time.Now().Add(settleGrace)
		pause := time.NewTicker(10 * time.Millisecond)
		defer pause.Stop()
		for {
			var left int
			var state string
			own := p.ownSessions()
			if err := conn.QueryRow(ctx, p.dialect.orphans, own, name).Scan(&left, &state); err != nil {
				return err
			}
			if left == 0 {
				return nil
			}
			if time.Now().After(terminate) {
				if _, err := conn.Exec(ctx, p.dialect.end, own, name); err != nil && !hasCode(err, codeInsufficientPrivilege) {
					return err
				}
				terminate = time.Now().Add(settleGrace)
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("%d abandoned sessions are still in the database (%s): %w", left, state, ctx.Err())
			case <-pause.C:
			}
		}
	})
	return operation("settle", err)
}

// ownSessions are what the server calls the sessions that are open.
func (p *schema) ownSessions() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	names := make([]string, 0, len(p.connections))
	for l := range p.connections {
		names = append(names, l.id)
	}
	return names
}
