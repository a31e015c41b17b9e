package binlog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/cluster/server"
)

// Primary returns the node that takes writes, as it says itself, as soon as there is one.
func (s *Set) Primary(ctx context.Context) (primary int, err error) {
	err = s.until(ctx, "a server that takes writes", func(ctx context.Context) (err error) {
		if primary, err = s.leader(); err != nil {
			return err
		}
		return s.inSession(ctx, primary, askBound, func(ctx context.Context, c *sql.Conn) error {
			row, err := Row(ctx, c, "SELECT @@global.read_only AS refuses")
			if err == nil && row["refuses"] != "0" {
				err = errors.New("it is read only")
			}
			return err
		})
	})
	return primary, err
}

// leader is who was last told to take writes, unless it is lost.
func (s *Set) leader() (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.promoted || s.lost || s.starting || !s.members[s.primary].Running() {
		return 0, errors.New("there is no primary")
	}
	return s.primary, nil
}

// until is server.Until, which the end of the set ends with os.ErrClosed.
func (s *Set) until(ctx context.Context, what string, missing func(context.Context) error) error {
	return server.Until(ctx, 20*time.Millisecond, what, func(ctx context.Context) error {
		err := missing(ctx)
		if err != nil && s.alive.Err() != nil {
			return server.Permanent(os.ErrClosed)
		}
		return err
	})
}

// Parameter asks node i for the value of a system variable that it works with.
func (s *Set) Parameter(ctx context.Context, i int, name string) (string, error) {
	return s.options.Login.Variable(ctx, s.options.Nodes[i], name)
}

// Settled returns when no node is being made anew, every running node follows the primary and has
// applied what the primary had when that was first asked, and with Semisync commits wait for all
// of them. When ctx ends, the error says which do not.
func (s *Set) Settled(ctx context.Context) error {
	goals := make(map[int]int64) // by the primary
	return s.until(ctx, "the servers that replicate", func(ctx context.Context) error { return s.behind(ctx, goals) })
}

// behind returns an error that names each node which is not in step.
func (s *Set) behind(ctx context.Context, goals map[int]int64) error {
	primary, err := s.leader()
	if err != nil {
		return err
	}
	goal, asked := goals[primary]
	if !asked {
		answer := s.askAll(ctx, []int{primary})[primary]
		if answer.err != nil {
			return answer.err
		}
		goal = answer.at.executed
		goals[primary] = goal
	}
	s.mu.Lock()
	sure := slices.DeleteFunc(slices.Clone(s.sure), func(i int) bool { return s.members[i].torn })
	var running []int
	var all []string
	for _, i := range s.others(primary) {
		switch node := s.members[i]; {
		case node.renewing:
			all = append(all, node.label+" is made anew")
		case node.Running():
			running = append(running, i)
		}
	}
	s.mu.Unlock()
	answers := s.askAll(ctx, running)
	for _, i := range running {
		label, a := s.members[i].label, answers[i]
		switch {
		case a.err != nil:
			all = append(all, label+" does not answer")
		case !s.follows(a, primary):
			all = append(all, label+" does not follow "+s.members[primary].label)
		case a.at.executed < goal:
			all = append(all, fmt.Sprintf("%s has applied %d transactions of %d", label, a.at.executed, goal))
		case s.options.Semisync && !slices.Contains(sure, i):
			all = append(all, label+" is not certain to have what it confirms")
		}
	}
	if len(all) > 0 {
		return errors.New(strings.Join(all, ", "))
	}
	return nil
}

// follows reports whether a replica has said that it receives and applies what the primary
// commits.
func (s *Set) follows(a answer, primary int) bool {
	dialect, node := s.options.Dialect, s.members[primary]
	return a.status[dialect.host] == node.Host && a.status[dialect.port] == strconv.Itoa(node.Port) &&
		a.status[dialect.receives] == "Yes" && a.status[dialect.applies] == "Yes"
}

// awaitPart returns when node i takes writes, follows who does, or there is nobody whom it
// could follow.
func (s *Set) awaitPart(ctx context.Context, i int) error {
	node := s.members[i]
	err := s.until(ctx, "the part of "+node.label, func(ctx context.Context) error {
		s.mu.Lock()
		primary, lost, following := s.primary, s.lost, node.following
		s.mu.Unlock()
		_, err := s.leader()
		switch {
		case i == primary && err == nil, i != primary && lost && node.Running():
			return nil
		case i != primary && following:
			if a := s.askAll(ctx, []int{i})[i]; a.err == nil && s.follows(a, primary) {
				return nil
			}
		}
		if node.ended() {
			return server.Permanent(node.Process().Ended())
		}
		return fmt.Errorf("it does not follow %s", s.members[primary].label)
	})
	if err != nil && node.Running() {
		return fmt.Errorf("%w; its log ends with:\n%s", err, node.Tail(10))
	}
	return err
}

// ended reports whether the server ended and nobody is starting it again.
func (n *member) ended() bool {
	if n.Running() || !n.Changing.TryLock() {
		return false
	}
	defer n.Changing.Unlock()
	return !n.Running()
}
