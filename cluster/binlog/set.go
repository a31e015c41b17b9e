// Package binlog runs servers that replicate by the binary log, of MySQL and of MariaDB: replicas
// follow a primary. Replicas are never promoted, neither by the servers nor here.
//
// It must not know how servers are started, which a product's package does.
package binlog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"assay/cluster/server"
)

// Options describes the servers of a set.
type Options struct {
	// Nodes are the servers. The first is the primary.
	Nodes   []*server.Node
	Dialect Dialect
	Login   Login
	// Start starts the server of node i with its data, and returns when it answers. Only the first
	// takes writes. A node without data gets an empty database without transactions in its binary
	// log. A node that followed another follows it again. env, as NAME=value, is added to its
	// environment.
	Start func(ctx context.Context, i int, env []string) error
	Dir   string
}

// Set is a primary, node 0, and its replicas. A lost primary is lost until it is started again, and
// then the replicas connect to it by themselves. Methods are safe for concurrent use.
type Set struct{ options Options }

const (
	// askBound limits a small question to a serving node, changeBound a change of its role.
	askBound    = time.Second
	changeBound = 5 * time.Second
	askEvery    = 20 * time.Millisecond
	// Silence is after which a replica gives up a silent primary; TCP alone would take minutes.
	Silence = 3 * time.Second
)

// Start returns when all are in step. After an error all are ended and their folder is gone.
func Start(ctx context.Context, o Options) (*Set, error) {
	s := &Set{o}
	if err := s.startAll(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Set) startAll(ctx context.Context) error {
	group, starting := errgroup.WithContext(ctx) // the first to fail is the reason for which the others are cut short
	for i := range s.options.Nodes {
		group.Go(func() error { return s.options.Start(starting, i, nil) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i := 1; i < len(s.options.Nodes); i++ {
		if err := s.follow(ctx, i); err != nil {
			return fmt.Errorf("%s: %w", s.options.Nodes[i].Name, err)
		}
	}
	return s.Settled(ctx)
}

func (s *Set) follow(ctx context.Context, i int) error {
	login := s.options.Login
	err := login.InSession(ctx, s.options.Nodes[i], changeBound, func(ctx context.Context, c *sql.Conn) error {
		return Execute(ctx, c, s.options.Dialect.follow(s.options.Nodes[0], login)...)
	})
	if err != nil { // a statement that the server does not understand is quoted in its answer
		return errors.New(strings.ReplaceAll(err.Error(), Literal(login.Password), "..."))
	}
	return nil
}

// Address is the URL of all nodes. Clients choose the node that takes writes.
func (s *Set) Address() string { return s.options.Login.Address(s.options.Nodes) }

// Node is node i.
func (s *Set) Node(i int) *server.Node { return s.options.Nodes[i] }

func (s *Set) label(i int) string {
	if m := s.options.Nodes[i].Machine; m != nil {
		return m.Name()
	}
	return "n" + strconv.Itoa(i+1)
}

// Restart starts node i again with env in its old role, and returns when it takes writes or
// follows; if the primary is down, when it answers.
func (s *Set) Restart(ctx context.Context, i int, env ...string) error {
	err := s.options.Nodes[i].Restart(ctx, func(ctx context.Context) error { return s.options.Start(ctx, i, env) })
	if err == nil && i > 0 {
		err = s.awaitFollowing(ctx, i)
	}
	if err != nil {
		return fmt.Errorf("restart %s: %w", s.label(i), err)
	}
	return nil
}

// awaitFollowing returns when replica i follows, or the primary is down.
func (s *Set) awaitFollowing(ctx context.Context, i int) error {
	node := s.options.Nodes[i]
	return node.Await(ctx, func(ctx context.Context) error {
		a := s.ask(ctx, i)
		if a.err == nil && s.missing(a) == "" || !s.options.Nodes[0].Running() && node.Running() {
			return nil
		}
		return errors.New("it " + s.missing(a))
	})
}

// Close ends all nodes and removes their folder.
func (s *Set) Close() error { return server.Close(s.options.Nodes, s.options.Dir) }
