// Package ferretdb runs one FerretDB 1 server, over a file of SQLite's or a PostgreSQL that is there,
// as a local process.
//
// It must not know any workload, driver or fault, nor other products.
package ferretdb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"assay/cluster/server"
)

// Options says how to run a server. The zero value is one with a temporary folder.
type Options struct {
	server.Place

	// Programs is a folder that is searched first for ferretdb.
	Programs string
	// PostgreSQL is the URL of the database that keeps the documents, with user and password; empty
	// means a file of SQLite's in its folder.
	PostgreSQL string
	// ReplicaSet has it call itself a replica set of this name; empty means that it does not.
	ReplicaSet string
}

const usualPort = 27017 // as MongoDB's

// Server is a FerretDB server. Its methods are safe for concurrent use.
type Server struct {
	*server.Node
	program, postgres, replicaSet string
}

// Start starts a server that asks nobody for a password: FerretDB 1 over SQLite knows no users, and
// over PostgreSQL whoever names none is the URL's. A missing program is a *server.MissingError.
func Start(ctx context.Context, o Options) (*Server, error) {
	program, err := server.Program{Name: "ferretdb", Get: "run scripts/install-servers.sh ferretdb"}.Find(o.Programs)
	if err != nil {
		return nil, err
	}
	s := &Server{program: program, postgres: o.PostgreSQL, replicaSet: o.ReplicaSet}
	if s.Node, err = o.NewNode(new(server.Ports), usualPort); err != nil {
		return nil, fmt.Errorf("start FerretDB: %w", err)
	}
	s.Name = fmt.Sprintf("ferretdb on port %d", s.Port)
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start FerretDB: %w", err), s.Close())
	}
	return s, nil
}

func (s *Server) start(ctx context.Context, env ...string) error {
	backend := []string{"--handler=sqlite", "--sqlite-url=file:" + s.Dir + "/"}
	if s.postgres != "" {
		backend = []string{"--handler=postgresql"}
		env = append(env, "FERRETDB_POSTGRESQL_URL="+s.postgres) // its password stays out of the list of processes
	}
	args := append(backend, "--listen-addr="+s.Node.Address(), "--debug-addr=-", "--telemetry=disable", "--state-dir="+s.Dir, "--log-level=error")
	if s.replicaSet != "" {
		args = append(args, "--repl-set-name="+s.replicaSet)
	}
	if err := s.Spawn(server.ProcessOptions{Program: s.program, Args: args, Env: env}); err != nil {
		return err
	}
	return s.Ready(ctx)
}

// Ready returns when the server takes connections.
func (s *Server) Ready(ctx context.Context) error {
	return s.Await(ctx, func(ctx context.Context) error { return s.Dial(ctx, time.Second) })
}

// Address is the server's URL.
func (s *Server) Address() string { return "mongodb://" + s.Node.Address() + "/" }

// Restart starts the server again with its data, stopping it first if it runs.
func (s *Server) Restart(ctx context.Context, env ...string) error {
	return s.Node.Restart(ctx, func(ctx context.Context) error { return s.start(ctx, env...) })
}

// Close ends the server and removes its data.
func (s *Server) Close() error { return server.Close([]*server.Node{s.Node}, s.Dir) }
