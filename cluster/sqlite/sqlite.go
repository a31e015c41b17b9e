// Package sqlite runs SQLite, a library, in a process whose power can be cut: assay serve, on a
// database file in a private folder.
//
// It must not know any workload, driver or other package of assay. Of the service it knows the
// command line.
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"assay/cluster/server"
)

// Options of zero value mean the defaults of assay's SQLite driver, in a temporary folder.
type Options struct {
	server.Place

	// Programs is a folder with the program assay; empty means the running program.
	Programs string
	// Journal and Synchronous are SQLite's PRAGMAs; empty means the driver's defaults.
	Journal, Synchronous string
}

const usualPort = 8080

// Server is one process with its database file. Its methods are safe for concurrent use.
type Server struct {
	*server.Node
	options Options
	program string
}

// Start starts the process on a new folder; it serves when Start returns.
func Start(ctx context.Context, o Options) (*Server, error) {
	program, err := findProgram(o.Programs)
	if err != nil {
		return nil, err
	}
	s := &Server{options: o, program: program}
	if s.Node, err = o.NewNode(new(server.Ports), usualPort); err != nil {
		return nil, fmt.Errorf("start SQLite: %w", err)
	}
	s.Name = "SQLite behind " + s.Node.Address()
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start SQLite: %w", err), s.Close())
	}
	return s, nil
}

func findProgram(folder string) (string, error) {
	if folder != "" {
		if found := server.Executable(filepath.Join(folder, "assay")); found != "" {
			return found, nil
		}
	}
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find the program that runs: %w", err)
	}
	return self, nil
}

func (s *Server) start(ctx context.Context, env ...string) error {
	args := []string{"serve", "--db", "sqlite:" + filepath.Join(s.Dir, "assay.sqlite"), "--listen", s.Node.Address(), "--allow-reset"}
	for name, value := range map[string]string{"journal": s.options.Journal, "synchronous": s.options.Synchronous} {
		if value != "" {
			args = append(args, "--option", name+"="+value)
		}
	}
	if err := s.Spawn(server.ProcessOptions{Program: s.program, Args: args, Env: env}); err != nil {
		return err
	}
	return s.Ready(ctx)
}

// Ready returns when the process takes connections. Its database file is open then.
func (s *Server) Ready(ctx context.Context) error {
	return s.Await(ctx, func(ctx context.Context) error { return s.Dial(ctx, time.Second) })
}

// Address is the service's URL.
func (s *Server) Address() string { return "http://" + s.Node.Address() }

// Restart stops the process if it runs and starts it on its file. env holds for this start alone.
func (s *Server) Restart(ctx context.Context, env ...string) error {
	return s.Node.Restart(ctx, func(ctx context.Context) error { return s.start(ctx, env...) })
}

// Close ends the process and removes its files.
func (s *Server) Close() error { return server.Close([]*server.Node{s.Node}, s.Dir) }
