package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"assay/cluster/server"
	"assay/internal/wait"
)

// quorum holds which nodes commits wait for, as far as that is known. It is guarded by
// Set.mu.
type quorum struct {
	// named are the nodes in the primary's synchronous_standby_names, unless
	// unsettled: then a change was not seen through, and it may hold others.
	named     []int
	unsettled bool
	// sure are nodes of whom the furthest certainly has every commit that was
	// acknowledged to a client. Empty means that only the primary has them.
	sure []int
	// session is a session with the primary, kept for the next check; it may be
	// nil.
	session *pgx.Conn
	// of is whose session it is.
	of int
	// failed is how many looks in a row ended with an error.
	failed int
}

// reset is for a primary whose commits wait for these nodes, and of whose log
// nobody else is certain to have all.
func (q *quorum) reset(named []int) {
	q.disconnect()
	q.named, q.unsettled, q.sure = named, false, nil
}

func (q *quorum) disconnect() {
	if q.session != nil {
		closeSession(q.session)
		q.session = nil
	}
}

// names is the setting that has commits wait for any one of these nodes.
func (s *Set) names(nodes []int) string {
	if len(nodes) == 0 {
		return ""
	}
	var quoted []string
	for _, i := range slices.Sorted(slices.Values(nodes)) {
		quoted = append(quoted, `"`+strings.ReplaceAll(s.nodeName(i), `"`, `""`)+`"`)
	}
	return "ANY 1 (" + strings.Join(quoted, ", ") + ")"
}

// others are all nodes but one.
func (s *Set) others(than int) []int {
	var all []int
	for i := range s.nodes {
		if i != than {
			all = append(all, i)
		}
	}
	return all
}

// maintain has the standbys follow a primary that answers, and commits wait for
// those that do. s.mu is held.
func (s *Set) maintain(ctx context.Context) {
	if !s.ensurePromoted(ctx) {
		return
	}
	s.followAll(ctx)
	if len(s.nodes) == 1 || ctx.Err() != nil {
		return
	}
	streams, err := s.queryPrimary(ctx)
	if err == nil && !s.options.Asynchronous {
		err = s.updateQuorum(ctx, streams)
	}
	if err == nil {
		s.quorum.failed = 0
		s.copyOutdated(ctx)
		return
	}
	s.quorum.disconnect()
	if s.quorum.failed++; s.quorum.failed == mostFailures {
		s.announce("%s answers, but cannot be asked whom commits wait for: %v", s.nodeName(s.primary), err)
	}
}

// mostFailures is how many looks at an answering primary may fail in silence.
const mostFailures = 20

// queryPrimary asks the primary who streams, and how far.
func (s *Set) queryPrimary(ctx context.Context) (map[int]lsn, error) {
	q := &s.quorum
	if q.of != s.primary {
		q.disconnect()
	}
	var err error
	if q.session == nil {
		if q.session, err = s.nodes[s.primary].connect(ctx); err != nil {
			return nil, err
		}
		q.of = s.primary
	}
	ctx, cancel := context.WithTimeout(ctx, askBound)
	defer cancel()
	streams, err := s.queryStreams(ctx, q.session)
	for i := range streams {
		s.nodes[i].seen = time.Now()
	}
	return streams, err
}

// updateQuorum changes whom commits wait for where a standby came or was lost. An
// error means that the primary did not answer as it should: the next check tries
// again.
func (s *Set) updateQuorum(ctx context.Context, streams map[int]lsn) error {
	q := &s.quorum
	var want []int
	for i, node := range s.nodes {
		_, streams := streams[i]
		if streams || slices.Contains(q.named, i) && time.Since(node.seen) < s.options.FailoverAfter {
			want = append(want, i)
		}
	}
	if !q.unsettled && slices.Equal(want, q.named) && slices.Equal(want, q.sure) {
		return nil
	}
	return s.waitFor(ctx, want)
}

// queryStreams returns how far each node that has caught up with the primary has
// its log on disk.
func (s *Set) queryStreams(ctx context.Context, conn *pgx.Conn) (map[int]lsn, error) {
	rows, err := conn.Query(ctx, `SELECT application_name, max(flush_lsn)::text FROM pg_stat_replication
		WHERE state = 'streaming' AND flush_lsn IS NOT NULL GROUP BY application_name`)
	if err != nil {
		return nil, err
	}
	flushed := make(map[string]string)
	var name, at string
	if _, err := pgx.ForEachRow(rows, []any{&name, &at}, func() error { flushed[name] = at; return nil }); err != nil {
		return nil, err
	}
	streams := make(map[int]lsn)
	for i := range s.nodes {
		text, found := flushed[s.nodeName(i)]
		if !found {
			continue
		}
		if streams[i], err = parseLSN(text); err != nil {
			return nil, err
		}
	}
	return streams, nil
}

// waitFor has commits wait for any one of these nodes. At each moment
// quorum.sure must be true, since the primary may be lost in the next:
//
// Before the change, whoever may confirm a commit from now on is added to it; a
// set that is certain stays so when it grows. If commits will wait for nobody,
// or did so far, it is empty. It becomes the new set when one of that has all
// that was in the log after the change took effect.
func (s *Set) waitFor(ctx context.Context, want []int) error {
	q := &s.quorum
	switch {
	case len(want) == 0:
		q.sure = nil
	case len(q.sure) > 0:
		q.sure = union(q.sure, q.named, want)
	}
	if q.unsettled || !slices.Equal(want, q.named) {
		if err := s.changeNames(ctx, want); err != nil {
			return err
		}
	}
	if len(want) == 0 {
		return nil
	}
	reached, err := s.awaitFlush(ctx, want)
	if reached {
		q.sure = want
	}
	return err
}

// changeNames changes the setting and sees to it that it has taken effect.
func (s *Set) changeNames(ctx context.Context, want []int) error {
	q := &s.quorum
	begins := q.unsettled || len(q.named) == 0
	q.unsettled = true
	if err := s.setNames(ctx, s.primary, s.names(want)); err != nil {
		return err
	}
	if begins && len(want) > 0 {
		if err := s.awaitCheckpointer(ctx); err != nil {
			return err
		}
	}
	if err := s.dropStreams(ctx, want); err != nil {
		return err
	}
	if !slices.Equal(want, q.named) {
		s.announceWait(q.named, want)
	}
	q.named, q.unsettled = want, false
	return nil
}

func union(sets ...[]int) []int {
	all := slices.Concat(sets...)
	slices.Sort(all)
	return slices.Compact(all)
}

// awaitCheckpointer returns when the checkpointer has taken over the settings
// that new sessions see: it is this process that has commits begin to wait
// (SyncRepUpdateSyncStandbysDefined). It was notified before those sessions were
// forked, and does it whenever it waits for work or spreads its writes.
func (s *Set) awaitCheckpointer(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*askBound)
	defer cancel()
	if err := wait.Pause(ctx, 100*time.Millisecond); err != nil { // it may not have been scheduled yet
		return err
	}
	return server.Until(ctx, 20*time.Millisecond, "the checkpointer", func(ctx context.Context) error {
		var idle bool
		err := s.quorum.session.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_stat_activity
			WHERE backend_type = 'checkpointer' AND wait_event IN ('CheckpointerMain', 'CheckpointWriteDelay'))`).Scan(&idle)
		if err != nil {
			return server.Permanent(err)
		}
		if !idle {
			return errors.New("it works")
		}
		return nil
	})
}

// dropStreams ends the streams of standbys that no longer count: one that is
// only slow might else confirm a commit by the names of before. It may connect
// again.
func (s *Set) dropStreams(ctx context.Context, keep []int) error {
	var names []string
	for i := range s.nodes {
		if i != s.primary && !slices.Contains(keep, i) {
			names = append(names, s.nodeName(i))
		}
	}
	ctx, cancel := context.WithTimeout(ctx, askBound)
	defer cancel()
	_, err := s.quorum.session.Exec(ctx,
		"SELECT pg_terminate_backend(pid) FROM pg_stat_replication WHERE application_name = ANY ($1)", names)
	return err
}

// awaitFlush reports whether one of the nodes has the present log on its disk.
func (s *Set) awaitFlush(ctx context.Context, nodes []int) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, askBound)
	defer cancel()
	var text string
	if err := s.quorum.session.QueryRow(ctx, "SELECT pg_current_wal_lsn()::text").Scan(&text); err != nil {
		return false, err
	}
	end, err := parseLSN(text)
	if err != nil {
		return false, err
	}
	for {
		streams, err := s.queryStreams(ctx, s.quorum.session)
		if err != nil {
			return false, err
		}
		for _, i := range nodes {
			if at, found := streams[i]; found && at >= end {
				return true, nil
			}
		}
		if err := wait.Pause(ctx, 5*time.Millisecond); err != nil {
			return false, nil // it is slow; the next check tries again
		}
	}
}

func (s *Set) announceWait(before, now []int) {
	var changes []string
	for i := range s.nodes {
		switch was, is := slices.Contains(before, i), slices.Contains(now, i); {
		case was && !is:
			changes = append(changes, fmt.Sprintf("%s has not streamed for %v", s.nodeName(i), s.options.FailoverAfter))
		case is && !was:
			changes = append(changes, s.nodeName(i)+" streams")
		}
	}
	whom := "nobody, since no standby is left"
	if len(now) > 0 {
		whom = s.describe(now)
	}
	s.announce("%s: commits wait for %s", strings.Join(changes, ", "), whom)
}
