package streaming

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"assay/cluster/postgres"
	"assay/cluster/server"
)

const (
	// askBound limits a small question to a server.
	askBound = time.Second
	askEvery = 50 * time.Millisecond
)

type standing struct {
	// timeline is the server's own or the streamed one; 0 of a standby that does not stream.
	timeline int64
	writes   bool
	// position is the end of its log, of a standby the end of the replayed log.
	position string
}

// askStanding needs PostgreSQL 13. A standby that has stopped streaming for a moment
// (wal_retrieve_retry_interval) has no timeline. pg_auto_failover keeps a promoted standby
// read-only until the old primary must have given way.
const askStanding = `SELECT NOT pg_is_in_recovery() AND current_setting('default_transaction_read_only') = 'off',
	CASE WHEN pg_is_in_recovery()
		THEN coalesce((SELECT received_tli FROM pg_stat_wal_receiver WHERE status = 'streaming'), 0)::bigint
		ELSE ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint END,
	coalesce(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END::text, '0/0')`

func ask(ctx context.Context, address, text string, into ...any) error {
	return postgres.InSession(ctx, address, askBound, func(ctx context.Context, conn *pgx.Conn) error {
		return conn.QueryRow(ctx, text, pgx.QueryExecModeSimpleProtocol).Scan(into...) // which poolers pass on
	})
}

// TakesWrites is nil if a server that takes writes answers at the address.
func TakesWrites(ctx context.Context, address string) error {
	var writes bool
	err := ask(ctx, address, "SELECT NOT pg_is_in_recovery()", &writes)
	if err == nil && !writes {
		err = errors.New("a standby answers")
	}
	return err
}

// Holds is nil if the query returns true.
func Holds(ctx context.Context, address, query string) error {
	var yes bool
	err := ask(ctx, address, query, &yes)
	if err == nil && !yes {
		err = errors.New("not yet")
	}
	return err
}

// Execute executes statements, each in a transaction of its own.
func Execute(ctx context.Context, address string, texts ...string) error {
	const bound = 30 * time.Second
	return postgres.InSession(ctx, address, bound, func(ctx context.Context, conn *pgx.Conn) error {
		for _, text := range texts {
			if _, err := conn.Exec(ctx, text, pgx.QueryExecModeSimpleProtocol); err != nil {
				return err
			}
		}
		return nil
	})
}

// askAll asks all running servers at the same time. The others have an error.
func (s *Set) askAll(ctx context.Context) (all []standing, failed []error) {
	return s.inOrder(server.AskAll(s.nodes, func(i int) (standing, error) { return s.standing(ctx, i) }))
}

// leading is the server that takes writes. If a split set has several, it is the one promoted last.
func leading(all []standing, failed []error) (primary int, ok bool) {
	for i, now := range all {
		if failed[i] == nil && now.writes && (!ok || now.timeline > all[primary].timeline) {
			primary, ok = i, true
		}
	}
	return primary, ok
}

// Leader looks once for the primary. ok is false if no server takes writes. It does not wait for
// silent servers if another takes writes: a primary that is cut off tells nobody of its end.
func (s *Set) Leader(ctx context.Context) (primary int, ok bool) {
	return leading(s.inOrder(server.AskMost(ctx, s.nodes, s.standing, func(answers map[int]standing, failures map[int]error) bool {
		_, known := leading(s.inOrder(answers, failures))
		return known
	})))
}

func (s *Set) standing(ctx context.Context, i int) (now standing, err error) {
	err = ask(ctx, s.AddressOf(i), askStanding, &now.writes, &now.timeline, &now.position)
	return now, err
}

// inOrder lists answers and failures by the servers' numbers. A server without either is down.
func (s *Set) inOrder(answers map[int]standing, failures map[int]error) (all []standing, failed []error) {
	all, failed = make([]standing, len(s.nodes)), make([]error, len(s.nodes))
	for i := range s.nodes {
		var told bool
		if all[i], told = answers[i]; !told {
			failed[i] = cmp.Or(failures[i], errors.New("it is down"))
		}
	}
	return all, failed
}

// Primary waits for a server that reports that it takes writes.
func (s *Set) Primary(ctx context.Context) (primary int, err error) {
	err = s.nodes[0].Until(ctx, askEvery, "a node of "+s.options.Product+" that takes writes", func(ctx context.Context) error {
		var ok bool
		if primary, ok = s.Leader(ctx); !ok {
			return errors.New("there is none")
		}
		return nil
	})
	return primary, err
}

// Settled returns when one server takes writes, and every other running server streams from it and
// has replayed its log up to the end at the first question. When ctx ends the error names the
// others; it is server.ErrOwnWrites if a second server takes writes.
func (s *Set) Settled(ctx context.Context) error {
	var goal standing
	return s.nodes[0].Until(ctx, askEvery, "the nodes of "+s.options.Product, func(ctx context.Context) error {
		all, failed := s.askAll(ctx)
		primary, ok := leading(all, failed)
		if !ok {
			return errors.New("there is no primary")
		}
		if all[primary].timeline != goal.timeline {
			goal = all[primary]
		}
		var missing error
		for i, n := range s.nodes {
			if i == primary || !n.Running() {
				continue
			}
			switch err := behind(goal, all[i], failed[i]); {
			case err == nil:
			case missing == nil:
				missing = fmt.Errorf("%s %w", s.names[i], err)
			default:
				missing = fmt.Errorf("%w, %s %w", missing, s.names[i], err)
			}
		}
		return missing
	})
}

// behind is server.ErrOwnWrites, or another error, if a server is not in step with the goal.
func behind(goal, now standing, failed error) error {
	there, err := reached(now.position, goal.position)
	switch {
	case failed != nil:
		return errors.New("does not answer")
	case now.writes:
		return server.ErrOwnWrites
	case now.timeline != goal.timeline:
		return errors.New("does not stream from the primary")
	case err == nil && !there:
		return errors.New("has not caught up")
	}
	return err
}

// reached compares two positions in the log, which PostgreSQL writes as two hexadecimal halves.
func reached(now, goal string) (bool, error) {
	var high, low, goalHigh, goalLow uint64
	_, err := fmt.Sscanf(now, "%X/%X", &high, &low)
	if err == nil {
		_, err = fmt.Sscanf(goal, "%X/%X", &goalHigh, &goalLow)
	}
	if err != nil {
		return false, fmt.Errorf("%q or %q is no position in a log", now, goal)
	}
	return high<<32|low >= goalHigh<<32|goalLow, nil
}

// AwaitPart returns when server i takes writes or streams from the primary. Without a primary it
// returns when server i answers. If the server ends meanwhile it returns an error.
func (s *Set) AwaitPart(ctx context.Context, i int) error {
	return s.nodes[i].Await(ctx, func(ctx context.Context) error {
		all, failed := s.askAll(ctx)
		primary, ok := leading(all, failed)
		switch {
		case failed[i] != nil:
			return failed[i]
		case ok && i != primary && all[i].writes:
			return fmt.Errorf("it takes writes of its own, and so does %s", s.names[primary])
		case ok && i != primary && all[i].timeline != all[primary].timeline:
			return fmt.Errorf("it does not stream from %s", s.names[primary])
		}
		return nil
	})
}

// isError also knows the logs of programs that lead a server.
func isError(line string) bool {
	for _, mark := range []string{"FATAL", "PANIC", "ERROR", "CRITICAL"} {
		if strings.Contains(line, mark) {
			return true
		}
	}
	return false
}
