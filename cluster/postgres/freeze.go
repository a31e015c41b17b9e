package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"assay/internal/wait"
)

// freezeBound is how long a standby may take to stop receiving and to replay
// what it has.
const freezeBound = 10 * time.Second

// freeze makes a running standby stop receiving, and returns the end of its log
// when it has replayed all of it. From then on its log stays as it is: bytes of
// a dead primary that are still on their way do not change the outcome.
func (p *Server) freeze(ctx context.Context) (end lsn, err error) {
	err = p.inSession(ctx, freezeBound, func(ctx context.Context, conn *pgx.Conn) error {
		if err := alter(ctx, conn, primaryConninfo, ""); err != nil {
			return err
		}
		var before receiving
		still := time.Now() // since when nothing has changed
		for {
			now, err := queryReceiving(ctx, conn)
			if err != nil {
				return err
			}
			if now.received != before.received || now.replayed != before.replayed {
				before, still = now, time.Now()
			}
			if now.complete(time.Since(still)) {
				end = now.replayed
				return nil
			}
			if err := wait.Pause(ctx, 10*time.Millisecond); err != nil {
				return fmt.Errorf("it has replayed its log up to %s, and received it up to %s", now.replayed, now.received)
			}
		}
	})
	return end, err
}

// receiving is what a standby does with its log.
type receiving struct {
	receives bool // a receiver runs
	received lsn  // 0: nothing since the start
	replayed lsn
	waits    bool // the replaying process looks for more
}

// errNoStandby means that a node that was to be a standby takes writes.
var errNoStandby = errors.New("it is no standby")

func queryReceiving(ctx context.Context, conn *pgx.Conn) (receiving, error) {
	var r receiving
	var standby bool
	var received, replayed string
	err := conn.QueryRow(ctx, `SELECT pg_is_in_recovery(),
		EXISTS (SELECT FROM pg_stat_wal_receiver),
		coalesce(pg_last_wal_receive_lsn()::text, '0/0'), coalesce(pg_last_wal_replay_lsn()::text, '0/0'),
		EXISTS (SELECT FROM pg_stat_activity WHERE backend_type = 'startup'
			AND wait_event IN ('RecoveryWalStream', 'RecoveryRetrieveRetryInterval'))`,
	).Scan(&standby, &r.receives, &received, &replayed, &r.waits)
	if err != nil {
		return r, err
	}
	if !standby {
		return r, errNoStandby
	}
	if r.received, err = parseLSN(received); err != nil {
		return r, err
	}
	r.replayed, err = parseLSN(replayed)
	return r, err
}

// complete reports whether all of the log is replayed, given for how long
// nothing changed. Where the last record was received in part, or nothing was
// received since the start, the two places tell nothing; then the replaying
// process must have looked for more in vain, which it does each
// wal_retrieve_retry_interval (100 ms here), in its folder too.
func (r receiving) complete(unchanged time.Duration) bool {
	if r.receives {
		return false
	}
	if r.received > 0 && r.replayed >= r.received {
		return true
	}
	return r.waits && unchanged >= 500*time.Millisecond
}
