package binlog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"assay/cluster/server"
)

// Primary waits until node 0 says that it takes writes.
func (s *Set) Primary(ctx context.Context) (primary int, err error) {
	return 0, s.Node(0).Until(ctx, askEvery, "a server that takes writes", func(ctx context.Context) error {
		return s.options.Login.InSession(ctx, s.options.Nodes[0], askBound, func(ctx context.Context, c *sql.Conn) error {
			row, err := Row(ctx, c, "SELECT @@global.read_only AS refuses")
			if err == nil && refusesWrites(row["refuses"]) {
				err = errors.New("it is read only")
			}
			return err
		})
	})
}

// refusesWrites reads read_only, which from MariaDB 12.0 on is OFF, ON, NO_LOCK or NO_LOCK_NO_ADMIN.
func refusesWrites(readOnly string) bool {
	return readOnly != "0" && !strings.EqualFold(readOnly, "OFF")
}

// Parameter asks node i for the value of a system variable.
func (s *Set) Parameter(ctx context.Context, i int, name string) (string, error) {
	return s.options.Login.Variable(ctx, s.options.Nodes[i], name)
}

type answer struct {
	status   map[string]string // as a replica; nil if it follows nobody
	executed int64             // transactions in its data, from the beginning of the set on
	err      error
}

func (s *Set) ask(ctx context.Context, i int) (a answer) {
	a.err = s.options.Login.InSession(ctx, s.options.Nodes[i], askBound, func(ctx context.Context, c *sql.Conn) (err error) {
		if a.status, err = Row(ctx, c, s.options.Dialect.show); err == nil {
			a.executed, err = s.options.Dialect.executed(ctx, c)
		}
		return err
	})
	return a
}

// missing says what a server lacks to receive and apply the primary's commits; empty if nothing.
func (s *Set) missing(a answer) string {
	d := s.options.Dialect
	switch {
	case a.err != nil:
		return "does not answer"
	case a.status[d.receives] == "Yes" && a.status[d.applies] == "Yes":
		return ""
	}
	why := strings.TrimSpace(a.status[d.receiveError] + " " + a.status[d.applyError])
	return strings.TrimSpace("does not follow " + s.label(0) + " " + why)
}

// Settled returns when every running replica follows the primary and has applied all that the
// primary had at the first answer. When ctx ends the error names the others.
func (s *Set) Settled(ctx context.Context) error {
	goal := int64(-1)
	return s.Node(0).Until(ctx, askEvery, "the servers that replicate", func(ctx context.Context) error {
		if !s.options.Nodes[0].Running() {
			return errors.New("the primary is down")
		}
		if goal < 0 {
			a := s.ask(ctx, 0)
			if a.err != nil {
				return a.err
			}
			goal = a.executed
		}
		return s.behind(ctx, goal)
	})
}

func (s *Set) behind(ctx context.Context, goal int64) error {
	replicas := s.options.Nodes[1:]
	answers, _ := server.AskAll(replicas, func(i int) (answer, error) { return s.ask(ctx, i+1), nil })
	var all []string
	for i := range replicas {
		a, asked := answers[i]
		if !asked {
			continue
		}
		if why := s.missing(a); why != "" {
			all = append(all, s.label(i+1)+" "+why)
		} else if a.executed < goal {
			all = append(all, fmt.Sprintf("%s has applied %d transactions of %d", s.label(i+1), a.executed, goal))
		}
	}
	if len(all) > 0 {
		return errors.New(strings.Join(all, ", "))
	}
	return nil
}
