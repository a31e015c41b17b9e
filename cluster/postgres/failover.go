package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"assay/cluster/server"
	"assay/internal/wait"
)

// checkPrimary looks after the set; see server.Watch.
func (s *Set) checkPrimary(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	silence := s.watch.Silence()
	switch {
	case s.starting:
	case s.lost || silence >= s.options.FailoverAfter:
		s.failOver(ctx)
	case silence < 2*server.ProbeEvery: // else it may not answer what leading would ask
		s.maintain(ctx)
	}
}

// failOver fences a lost primary, and promotes a standby as soon as there is
// one that may be. It is called again and again until then. s.mu is held.
func (s *Set) failOver(ctx context.Context) {
	if !s.lost {
		if err := s.fence(); err != nil {
			s.announceOnce("%s does not answer, and cannot be fenced, so nobody is promoted: %v", s.nodeName(s.primary), err)
			return
		}
		s.lost, s.since = true, time.Now()
		s.quorum.disconnect()
	}
	frozen, silent := s.freezeCandidates(ctx)
	if ctx.Err() != nil {
		return
	}
	best, why := s.choose(frozen, silent)
	if why != "" {
		s.announceOnce("nobody is promoted: %s", why)
		return
	}
	// A restart that was given up half way may have left it running.
	if err := s.nodes[s.primary].Kill(); err != nil {
		s.announceOnce("nobody is promoted: %v", err)
		return
	}
	if s.appoint(ctx, best, frozen) && s.ensurePromoted(ctx) {
		s.followAll(ctx)
	}
}

// announceOnce announces why something cannot be done, once.
func (s *Set) announceOnce(format string, values ...any) {
	if text := fmt.Sprintf(format, values...); text != s.lastReason {
		s.lastReason = text
		s.announce("%s", text)
	}
}

// fence makes sure that the old primary takes no more writes: its processes are
// killed, which works with a paused or isolated one too, since they are our own.
// A node whose power is cut is what others call STONITH.
func (s *Set) fence() error {
	old := s.nodes[s.primary]
	state := "is gone"
	if old.Running() {
		state = "is fenced: its processes are killed"
	}
	if err := old.Kill(); err != nil {
		return err
	}
	s.announce("%s does not answer for %v: it %s", s.nodeName(s.primary), s.options.FailoverAfter, state)
	return nil
}

// candidates are the nodes that may be promoted. Where commits are not to be lost these
// are the nodes in quorum.sure. Another node that streams may be as far, but nobody need
// know that.
func (s *Set) candidates() []int {
	if s.options.Asynchronous {
		return s.others(s.primary)
	}
	return s.quorum.sure
}

// freezeCandidates freezes the candidates and returns the ends of their logs by node, and
// why the others cannot report one. Only those count whose log is a part of
// the database's, so that the furthest of them has all that the others have.
func (s *Set) freezeCandidates(ctx context.Context) (frozen map[int]lsn, silent map[int]string) {
	frozen, silent = make(map[int]lsn), make(map[int]string)
	var asking sync.WaitGroup
	var mu sync.Mutex
	for _, i := range s.candidates() {
		node := s.nodes[i]
		node.following = false
		if !node.Running() {
			mu.Lock()
			silent[i] = "is down"
			mu.Unlock()
			continue
		}
		asking.Go(func() {
			end, err := node.freeze(ctx)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case errors.Is(err, errNoSession):
				silent[i] = "does not answer"
			case err != nil:
				silent[i] = "cannot report how far it is (" + err.Error() + ")"
			case !s.admit(node, end):
				silent[i] = "went another way"
			default:
				frozen[i] = end
			}
		})
	}
	asking.Wait()
	return frozen, silent
}

// admit reports whether a frozen node's log is a part of the database's: it
// must not go beyond the position where a later primary was promoted.
func (s *Set) admit(node *member, end lsn) bool {
	if node.rewind || node.copy {
		return false
	}
	for _, limit := range s.ends[node.term:] {
		if end > limit {
			node.rewind = true
			return false
		}
	}
	node.term = len(s.ends)
	return true
}

// choose returns the standby that is furthest, or why none may be promoted.
//
// A commit was acknowledged when the primary and at least one of the nodes
// in quorum.sure had it on disk. Logs are the same as far as they go, so the
// furthest of several nodes has what any of them has: if all of quorum.sure are
// frozen, the furthest of them has every such commit. If one of them is not
// frozen, it may be the only one that has the last, however far the others are.
// If quorum.sure is empty, acknowledged commits may be on the primary alone.
func (s *Set) choose(frozen map[int]lsn, silent map[int]string) (best int, why string) {
	old := s.nodeName(s.primary)
	switch certain := !s.options.Asynchronous; {
	case certain && len(s.quorum.sure) == 0:
		return 0, fmt.Sprintf("only %s is certain to have the last commits; bring it back", old)
	case certain && len(silent) > 0:
		return 0, fmt.Sprintf("%s: the last commits may be only there and on %s; bring back %s, or all of these",
			s.listSilent(silent), old, old)
	case len(frozen) == 0 && len(silent) == 0:
		return 0, "there is no standby; bring back " + old
	case len(frozen) == 0:
		return 0, fmt.Sprintf("%s; bring back %s, or any of these", s.listSilent(silent), old)
	}
	best = -1
	for i, end := range frozen { // of equals the first
		if best < 0 || end > frozen[best] || end == frozen[best] && i < best {
			best = i
		}
	}
	return best, ""
}

func (s *Set) listSilent(silent map[int]string) string {
	var all []string
	for i := range s.nodes {
		if reason, found := silent[i]; found {
			all = append(all, s.nodeName(i)+" "+reason)
		}
	}
	return strings.Join(all, ", ")
}

// appoint records a frozen standby as the primary, after which no other
// can be promoted that does not follow it. It is not promoted yet. It reports
// whether that worked.
func (s *Set) appoint(ctx context.Context, best int, frozen map[int]lsn) bool {
	var others []int
	if !s.options.Asynchronous {
		for i := range s.nodes {
			if _, found := frozen[i]; found && i != best {
				others = append(others, i)
			}
		}
	}
	// Commits must wait for others from the first one on, so this comes before
	// the promotion. The server has had some names ever since it started (see
	// startStandby), so that it need not begin to wait, which would take effect
	// a little later; it only waits for fewer.
	names := s.names(others)
	if err := s.setNames(ctx, best, names); err != nil {
		s.announceOnce("%s cannot be prepared for promotion: %v", s.nodeName(best), err)
		return false
	}
	s.nodes[s.primary].rewind = true
	s.primary, s.promoted, s.lost, s.lastReason = best, false, false, ""
	s.ends = append(s.ends, frozen[best])
	for _, node := range s.nodes {
		node.following = false
	}
	for i := range frozen {
		s.nodes[i].term = len(s.ends)
		s.nodes[i].seen = time.Now()
	}
	s.quorum.reset(others)
	s.timeline++
	s.watch.Over(s.nodes[best].answers)
	return true
}

// setNames sets whom commits on node i wait for, and returns when the server
// has heard of it.
func (s *Set) setNames(ctx context.Context, i int, names string) error {
	node := s.nodes[i].Server
	ctx, cancel := context.WithTimeout(ctx, 5*askBound)
	defer cancel()
	err := node.inSession(ctx, askBound, func(ctx context.Context, conn *pgx.Conn) error {
		return alter(ctx, conn, standbyNames, names)
	})
	if err != nil {
		return err
	}
	return node.awaitSetting(ctx, standbyNames, names)
}

// ensurePromoted promotes the appointed primary if it still is a standby, and
// returns when it takes writes, or does not answer for FailoverAfter. It
// reports whether it takes writes. s.mu is held.
func (s *Set) ensurePromoted(ctx context.Context) bool {
	if s.promoted {
		return true
	}
	node, began := s.nodes[s.primary], time.Now()
	timeline := uint64(0)
	for timeline == 0 {
		err := node.inSession(ctx, askBound, func(ctx context.Context, conn *pgx.Conn) (err error) {
			timeline, err = promote(ctx, conn)
			return err
		})
		if err != nil && (!node.Running() || s.watch.Silence() >= s.options.FailoverAfter) {
			return false
		}
		if timeline == 0 && wait.Pause(ctx, 10*time.Millisecond) != nil {
			return false
		}
	}
	s.promoted = true
	s.options.Leads(node.label, node.Node)
	s.recordTimeline(timeline)
	text := fmt.Sprintf("%s is promoted and takes writes %d ms after the fencing (the promotion itself took %d ms)",
		s.nodeName(s.primary), time.Since(s.since).Milliseconds(), time.Since(began).Milliseconds())
	switch {
	case s.options.Asynchronous:
		text += "; commits that it had not received are lost"
	case len(s.quorum.named) == 0:
		text += "; commits wait for nobody, since no standby is left"
	default:
		text += "; commits wait for " + s.describe(s.quorum.named)
	}
	s.announce("%s", text)
	return true
}

// promote has a standby promote itself; it returns its new timeline as soon as
// it takes writes, and 0 before.
func promote(ctx context.Context, conn *pgx.Conn) (timeline uint64, err error) {
	const ready = `SELECT CASE WHEN pg_is_in_recovery() THEN NULL ELSE substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) END`
	asked := false
	for {
		var hex *string
		if err := conn.QueryRow(ctx, ready).Scan(&hex); err != nil {
			return 0, err
		}
		if hex != nil {
			_, err := fmt.Sscanf(*hex, "%x", &timeline)
			return timeline, err
		}
		if !asked {
			if _, err := conn.Exec(ctx, "SELECT pg_promote(false)"); err != nil {
				return 0, err
			}
			asked = true
		}
		if err := wait.Pause(ctx, 5*time.Millisecond); err != nil {
			return 0, err
		}
	}
}

// recordTimeline notes the timeline that the new primary took. Where that number may have
// been another primary's before, nodes cannot tell the two apart, and all must
// be copied anew; it takes two losses in a row, asynchronously.
func (s *Set) recordTimeline(timeline uint64) {
	if timeline >= s.timeline {
		s.timeline = timeline
		return
	}
	for i, node := range s.nodes {
		node.copy = node.copy || i != s.primary
	}
}

// describe lists nodes for a reader.
func (s *Set) describe(nodes []int) string {
	var all []string
	for _, i := range slices.Sorted(slices.Values(nodes)) {
		all = append(all, s.nodeName(i))
	}
	if len(all) == 1 {
		return all[0]
	}
	return "any one of " + strings.Join(all, ", ")
}
