package binlog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"
)

// retryAfter is how long to leave a node alone with which something failed.
const retryAfter = 2 * time.Second

// maintain looks after a set whose primary answers. s.mu is held.
func (s *Set) maintain(ctx context.Context) {
	if !s.promoted {
		if err := s.lead(ctx); err != nil {
			s.announceOnce("%s takes no writes: %v", s.members[s.primary].label, err)
			return
		}
	}
	s.followAll(ctx)
	if ctx.Err() == nil {
		s.look(ctx)
	}
}

// followAll points the running replicas that do not follow the primary at it. s.mu is held.
func (s *Set) followAll(ctx context.Context) {
	for i, node := range s.members {
		if i == s.primary || node.following || ctx.Err() != nil || time.Now().Before(node.again) || !node.Running() {
			continue
		}
		err := s.follow(ctx, i)
		if node.anew {
			s.renewLater(i, "cannot follow with what it has")
		}
		if err != nil || node.anew {
			node.again = time.Now().Add(retryAfter)
		}
	}
}

func (s *Set) follow(ctx context.Context, i int) error {
	node, dialect := s.members[i], s.options.Dialect
	err := s.inSession(ctx, i, changeBound, func(ctx context.Context, c *sql.Conn) error {
		status, at, err := s.ask(ctx, c)
		if err == nil && status != nil {
			err = Execute(ctx, c, dialect.stop)
		}
		if err == nil && status != nil { // it may have applied more until it stopped
			_, at, err = s.ask(ctx, c)
		}
		if err != nil || !s.admit(i, at.executed) {
			return err
		}
		// What it has received and not applied is thrown away by the next statements.
		node.torn = node.torn || at.received > at.executed
		if len(s.sure) > 0 && !slices.Contains(s.sure, i) { // it may confirm commits from now on
			s.sure = append(s.sure, i)
		}
		return Execute(ctx, c, dialect.follow(s.members[s.primary].Node, s.options.Login, s.options.FailoverAfter)...)
	})
	if err == nil && !node.anew {
		node.following = true
		node.torn = node.torn && s.options.Semisync
	}
	return err
}

// look asks all nodes how they are. A replica that has stopped at an error is made anew. s.mu is
// held.
func (s *Set) look(ctx context.Context) {
	var followers []int // before the primary is asked: whoever else has confirmed a commit did so before
	for i, node := range s.members {
		if i != s.primary && node.following && node.Running() {
			followers = append(followers, i)
		}
	}
	length := logLength(s.members[s.primary].Node) // before it says that commits wait
	goal, waits, err := s.askPrimary(ctx)
	if err != nil {
		return // the next look is soon
	}
	furthest := int64(-1)
	for i, l := range s.askAll(ctx, followers) {
		node, dialect := s.members[i], s.options.Dialect
		switch {
		case l.err != nil:
		case l.status[dialect.receives] == "No" || l.status[dialect.applies] == "No":
			node.anew, node.following = true, false
			s.renewLater(i, fmt.Sprintf("has stopped at an error (%s%s)", l.status[dialect.receiveError], l.status[dialect.applyError]))
		default:
			furthest = max(furthest, l.at.received)
			node.torn = node.torn && l.at.received < goal.executed
		}
	}
	switch {
	case !s.options.Semisync:
	case !waits:
		if len(s.sure) > 0 {
			s.announce("%s goes on without its replicas, since none has answered in time: commits wait for nobody", s.members[s.primary].label)
		}
		s.sure = nil
	case len(s.sure) > 0:
		s.seen = length
		if furthest >= goal.executed {
			s.sure = followers
		}
	case furthest >= goal.executed:
		s.announce("commits wait for any one of %s again", s.labels(followers))
		s.sure, s.seen = followers, length
	}
}

// askPrimary asks the primary how far it is, and whether commits wait for a replica.
func (s *Set) askPrimary(ctx context.Context) (at position, waits bool, err error) {
	err = s.inSession(ctx, s.primary, askBound, func(ctx context.Context, c *sql.Conn) error {
		status, err := Row(ctx, c, "SHOW GLOBAL STATUS LIKE "+Literal(s.options.Dialect.waiting))
		if err == nil {
			waits = status["Value"] == "ON"
			_, at, err = s.ask(ctx, c)
		}
		return err
	})
	return at, waits, err
}

// answer is what a replica says of itself.
type answer struct {
	status map[string]string
	at     position
	err    error
}

// askAll asks nodes at the same time.
func (s *Set) askAll(ctx context.Context, nodes []int) map[int]answer {
	answers := make([]answer, len(nodes))
	var asking sync.WaitGroup
	for n, i := range nodes {
		asking.Go(func() {
			a := &answers[n]
			a.err = s.inSession(ctx, i, askBound, func(ctx context.Context, c *sql.Conn) (err error) {
				a.status, a.at, err = s.ask(ctx, c)
				return err
			})
		})
	}
	asking.Wait()
	all := make(map[int]answer)
	for n, i := range nodes {
		all[i] = answers[n]
	}
	return all
}

// renewLater stops a node that cannot follow as it is, and starts it again without its data. A
// node that somebody is restarting is left to them.
func (s *Set) renewLater(i int, why string) {
	s.routines.Go(func() {
		node := s.members[i]
		if !node.Changing.TryLock() {
			return
		}
		defer node.Changing.Unlock()
		s.mu.Lock()
		anew := node.anew
		node.renewing = anew
		s.mu.Unlock()
		defer s.renewed(i)
		if node.Closed() || !node.Running() || !anew { // or it has been done meanwhile
			return
		}
		s.announce("%s %s: it is made anew", node.label, why)
		err := node.Halt(s.alive)
		if err == nil {
			err = s.begin(s.alive, i, false, nil)
		}
		if err != nil {
			s.announce("%s cannot be made anew: %v", node.label, err)
		}
	})
}

// renewed ends what renewLater began, whatever came of it.
func (s *Set) renewed(i int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.members[i].renewing = false
}

// Restart stops node i if it runs, and starts it again: as the primary if it is the last that
// was, else as a replica of the present one, anew where it has what is no part of the database.
// It returns when the node takes writes or follows, or, if there is no primary, when it
// answers. env is added to the server's environment this once, as NAME=value.
func (s *Set) Restart(ctx context.Context, i int, env ...string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.alive, cancel)()
	primary := s.claim(i)
	err := s.members[i].Restart(ctx, func(ctx context.Context) error { return s.begin(ctx, i, primary, env) })
	if primary {
		err = errors.Join(err, s.goOn(ctx, i, err == nil))
	}
	s.watch.CheckNow()
	if err == nil {
		err = s.awaitPart(ctx, i)
	}
	if err != nil && s.alive.Err() != nil {
		return fmt.Errorf("restart %s: %w", s.members[i].label, os.ErrClosed)
	}
	return err
}

// claim reports whether node i is the primary, and if so keeps it from being fenced until goOn.
func (s *Set) claim(i int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i == s.primary {
		s.starting = true
		return true
	}
	s.members[i].following = false
	return false
}

// begin starts a node that has ended, without its data if they are of no use. Its Changing is
// held.
func (s *Set) begin(ctx context.Context, i int, primary bool, env []string) error {
	node := s.members[i]
	s.mu.Lock()
	anew := node.anew
	node.following = false
	if anew {
		s.ids++
		node.id = s.ids
	}
	id := node.id
	s.mu.Unlock()
	if anew {
		if err := s.options.Empty(i); err != nil {
			return err
		}
	}
	if err := s.options.Start(ctx, i, Beginning{ID: id, Primary: primary, Env: env}); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if node.again, node.torn = (time.Time{}), !primary; anew {
		node.anew, node.term = false, 0
	}
	return nil
}

// goOn has a primary that was started again take writes, unless another has been promoted.
func (s *Set) goOn(ctx context.Context, i int, started bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.starting = false
	if !started || s.primary != i {
		return nil
	}
	s.watch.Answered()
	return s.lead(ctx)
}
