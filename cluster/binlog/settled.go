package binlog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"assay/cluster/server"
)

// Primary returns node 0 as soon as it takes writes, as it says itself.
func (s *Set) Primary(ctx context.Context) (primary int, err error) {
	return 0, s.until(ctx, "a server that takes writes", func(ctx context.Context) error {
		return s.options.Login.InSession(ctx, s.options.Nodes[0], askBound, func(ctx context.Context, c *sql.Conn) error {
			row, err := Row(ctx, c, "SELECT @@global.read_only AS refuses")
			if err == nil && row["refuses"] != "0" {
				err = errors.New("it is read only")
			}
			return err
		})
	})
}

// Parameter asks node i for the value of a system variable that it works with.
func (s *Set) Parameter(ctx context.Context, i int, name string) (string, error) {
	return s.options.Login.Variable(ctx, s.options.Nodes[i], name)
}

// answer is what a server says of itself.
type answer struct {
	status   map[string]string // as a replica; nil if it follows nobody
	executed int64             // transactions in its data, from the beginning of the set on
	err      error
}

// ask asks a server how it stands as a replica, and how far it is.
func (s *Set) ask(ctx context.Context, i int) (a answer) {
	a.err = s.options.Login.InSession(ctx, s.options.Nodes[i], askBound, func(ctx context.Context, c *sql.Conn) (err error) {
		if a.status, err = Row(ctx, c, s.options.Dialect.show); err == nil {
			a.executed, err = s.options.Dialect.executed(ctx, c)
		}
		return err
	})
	return a
}

// missing is what keeps a server from being a replica that receives and applies what the primary
// commits; empty if nothing does.
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

// Settled returns when every running replica follows the primary and has applied what that had
// when it was first asked. When ctx ends, the error says which do not.
func (s *Set) Settled(ctx context.Context) error {
	goal := int64(-1)
	return s.until(ctx, "the servers that replicate", func(ctx context.Context) error {
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

// behind returns an error that names each node which is not in step.
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
