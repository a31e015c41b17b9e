package binlog

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"assay/cluster/server"
)

// check looks after the set; see server.Watch.
func (s *Set) check(ctx context.Context) {
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

// failOver fences a lost primary, and promotes a replica as soon as there is one that may
// be. It is called again and again until then. s.mu is held.
func (s *Set) failOver(ctx context.Context) {
	if !s.lost {
		if s.options.Semisync && s.members[s.primary].Running() && s.wentOn() {
			s.announceOnce("%s does not answer for %v, and is not fenced: it goes on without its replicas, and nobody else has the last commits for certain",
				s.members[s.primary].label, s.options.FailoverAfter)
			return
		}
		if err := s.fence(); err != nil {
			s.announceOnce("%s does not answer, and cannot be fenced, so nobody is promoted: %v", s.members[s.primary].label, err)
			return
		}
		s.lost, s.promoted, s.since = true, false, time.Now()
		if s.options.Semisync && s.wentOn() {
			s.sure = nil
		}
	}
	there, silent := s.hold(ctx)
	if ctx.Err() != nil {
		return
	}
	best, why := s.choose(there, silent)
	if why != "" {
		s.announceOnce("nobody is promoted: %s", why)
		return
	}
	// A restart that was given up half way may have left it running.
	if err := s.members[s.primary].Kill(); err != nil {
		s.announceOnce("nobody is promoted: %v", err)
		return
	}
	if err := s.promote(ctx, best); err != nil {
		s.announceOnce("%s is not promoted yet: %v", s.members[best].label, err)
		return
	}
	s.followAll(ctx)
}

// wentOn reports whether the primary may have acknowledged commits that no replica has: it did
// not wait at the last look, or its log says since then that it has waited in vain. A log that
// cannot be read may say so.
func (s *Set) wentOn() bool {
	if len(s.sure) == 0 {
		return true
	}
	file, err := os.Open(s.members[s.primary].Log)
	if err != nil {
		return true
	}
	defer file.Close()
	if _, err := file.Seek(s.seen, io.SeekStart); err != nil {
		return true
	}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if strings.Contains(lines.Text(), WaitedInVain) {
			return true
		}
	}
	return lines.Err() != nil
}

// WaitedInVain is what MySQL and MariaDB log, as a warning, when the time limit of a commit is
// over and they go on without replicas (plugin/semisync and sql/semisync_master.cc of their sources).
const WaitedInVain = "Timeout waiting for reply of binlog"

// logLength is how long a node's log is now; 0 if it cannot be read, so that all of it counts.
func logLength(n *server.Node) int64 {
	info, err := os.Stat(n.Log)
	if err != nil {
		return 0
	}
	return info.Size()
}

// fence makes sure that the old primary takes no more writes: its processes are killed, which
// works with a paused or isolated one too, since they are our own. A node whose power is cut is
// what others call STONITH.
func (s *Set) fence() error {
	old := s.members[s.primary]
	state := "is gone"
	if old.Running() {
		state = "is fenced: its processes are killed"
	}
	if err := old.Kill(); err != nil {
		return err
	}
	s.announce("%s does not answer for %v: it %s", old.label, s.options.FailoverAfter, state)
	return nil
}

// hold has the candidates let go of the old primary, and returns how far each is, and why
// others cannot tell. The candidates are all others, or those of whom one certainly has all
// that was acknowledged.
func (s *Set) hold(ctx context.Context) (there map[int]position, silent map[int]string) {
	candidates := s.others(s.primary)
	if s.options.Semisync {
		candidates = s.sure
	}
	there, silent = make(map[int]position), make(map[int]string)
	answers, failures := make([]position, len(s.members)), make([]error, len(s.members))
	var asking sync.WaitGroup
	for _, i := range candidates {
		if why := s.unfit(i); why != "" {
			silent[i] = why
			continue
		}
		s.members[i].following = false
		asking.Go(func() { answers[i], failures[i] = s.letGo(ctx, i) })
	}
	asking.Wait()
	for _, i := range candidates {
		switch {
		case silent[i] != "":
		case failures[i] != nil:
			silent[i] = "cannot tell how far it is (" + failures[i].Error() + ")"
		case !s.admit(i, answers[i].received):
			silent[i] = "went another way"
		default:
			there[i] = answers[i]
		}
	}
	return there, silent
}

// unfit says why a node cannot be promoted, whatever it would answer.
func (s *Set) unfit(i int) string {
	switch node := s.members[i]; {
	case !node.Running():
		return "is down"
	case node.anew:
		return "is made anew"
	case node.torn && s.options.Semisync:
		return "was started anew, and may have thrown away what it had received"
	}
	return ""
}

// letGo has a replica receive nothing more; it goes on applying what it has.
func (s *Set) letGo(ctx context.Context, i int) (p position, err error) {
	torn := s.members[i].torn
	err = s.inSession(ctx, i, changeBound, func(ctx context.Context, c *sql.Conn) error {
		status, err := Row(ctx, c, s.options.Dialect.show)
		if err == nil && status != nil {
			err = Execute(ctx, c, s.options.Dialect.stopReceiving)
		}
		if err != nil {
			return err
		}
		if status, p, err = s.ask(ctx, c); err != nil {
			return err
		}
		if torn { // it applies nothing since it was started
			p.received = p.executed
		}
		if p.received > p.executed && status[s.options.Dialect.applies] != "Yes" {
			return fmt.Errorf("it does not apply what it has received: %s", status[s.options.Dialect.applyError])
		}
		return nil
	})
	return p, err
}

// admit reports whether a node's data is a part of the database's: it must not go beyond where
// a later primary was promoted.
func (s *Set) admit(i int, at int64) bool {
	node := s.members[i]
	if node.anew {
		return false
	}
	for _, limit := range s.ends[node.term:] {
		if at > limit {
			meant := "they are lost"
			if s.options.Semisync { // else it was not promoted over
				meant = "none of them was acknowledged, and they are dropped"
			}
			s.announce("%s has %d transactions beyond those with which another was promoted: %s", node.label, at-limit, meant)
			node.anew = true
			return false
		}
	}
	node.term = len(s.ends)
	return true
}

// choose returns the replica that has received most, or why none may be promoted; see Set.
func (s *Set) choose(there map[int]position, silent map[int]string) (best int, why string) {
	old := s.members[s.primary].label
	var reasons []string
	for i := range s.members {
		if reason, found := silent[i]; found {
			reasons = append(reasons, s.members[i].label+" "+reason)
		}
	}
	switch listed := strings.Join(reasons, ", "); {
	case s.options.Semisync && len(s.sure) == 0:
		return 0, fmt.Sprintf("%s had gone on without its replicas, and only it is certain to have the last commits; bring it back", old)
	case s.options.Semisync && len(silent) > 0:
		return 0, fmt.Sprintf("%s: the last commits may be only there and on %s; bring back %s, or all of these", listed, old, old)
	case len(there) == 0 && listed == "":
		return 0, "there is no replica; bring back " + old
	case len(there) == 0:
		return 0, fmt.Sprintf("%s; bring back %s, or any of these", listed, old)
	}
	best = -1
	for i, p := range there { // of equals the first
		if best < 0 || p.received > there[best].received || p.received == there[best].received && i < best {
			best = i
		}
	}
	return best, ""
}

// promote makes a replica the primary that has let go of the old one, once it has applied all
// that it has received. An error means that it is to be tried again.
func (s *Set) promote(ctx context.Context, best int) error {
	began := time.Now()
	var at position
	err := s.inSession(ctx, best, changeBound, func(ctx context.Context, c *sql.Conn) error {
		applied, cancel := context.WithTimeout(ctx, askBound)
		defer cancel()
		var status map[string]string
		err := server.Until(applied, 10*time.Millisecond, "what it has received", func(ctx context.Context) (err error) {
			status, at, err = s.ask(ctx, c)
			switch {
			case err != nil:
				return server.Permanent(err)
			case at.executed < at.received && !s.members[best].torn:
				return fmt.Errorf("it has applied %d transactions of %d", at.executed, at.received)
			}
			return nil
		})
		if err == nil && status != nil { // nil: an attempt before this one came so far
			err = Execute(ctx, c, s.options.Dialect.stop, s.options.Dialect.forget)
		}
		if err != nil {
			return err
		}
		return Execute(ctx, c, s.leading()...)
	})
	if err != nil {
		return err
	}
	s.appoint(best, at.executed)
	text := fmt.Sprintf("%s is promoted with %d transactions, and takes writes %d ms after the fencing (the promotion itself took %d ms)",
		s.members[best].label, at.executed, time.Since(s.since).Milliseconds(), time.Since(began).Milliseconds())
	if !s.options.Semisync {
		text += "; commits that it had not received are lost"
	}
	s.announce("%s", text)
	return nil
}

// ask asks a server how it stands as a replica, nil if it follows nobody, and how far it is.
func (s *Set) ask(ctx context.Context, c *sql.Conn) (status map[string]string, p position, err error) {
	if status, err = Row(ctx, c, s.options.Dialect.show); err == nil {
		p, err = s.options.Dialect.position(ctx, c, status)
	}
	p.received = max(p.received, p.executed)
	return status, p, err
}

// appoint records who takes writes now. Whoever follows it may have its next commits.
func (s *Set) appoint(best int, end int64) {
	s.primary, s.promoted, s.lost, s.lastReason = best, true, false, ""
	s.ends = append(s.ends, end)
	for _, node := range s.members {
		node.following = false
	}
	s.members[best].term, s.members[best].torn = len(s.ends), false
	s.sure, s.seen = s.others(best), logLength(s.members[best].Node)
	s.watch.Over(s.answers(best))
}

// inSession runs f in a session with node i.
func (s *Set) inSession(ctx context.Context, i int, bound time.Duration, f func(context.Context, *sql.Conn) error) error {
	err := s.options.Login.InSession(ctx, s.members[i].Node, bound, f)
	if err != nil { // a statement that the server does not understand is quoted in its answer
		err = &quietError{strings.ReplaceAll(err.Error(), Literal(s.options.Login.Password), "..."), err}
	}
	return err
}

// quietError is an error without the password in its text.
type quietError struct {
	text string
	err  error
}

func (e *quietError) Error() string { return e.text }

func (e *quietError) Unwrap() error { return e.err }

// tell executes statements on node i.
func (s *Set) tell(ctx context.Context, i int, statements ...string) error {
	return s.inSession(ctx, i, changeBound, func(ctx context.Context, c *sql.Conn) error { return Execute(ctx, c, statements...) })
}
