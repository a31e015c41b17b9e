// Package tidb runs one TiDB server on its own store for tests (unistore), as a local process.
//
// It must not know any workload, driver or fault, nor other products.
package tidb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"assay/cluster/binlog"
	"assay/cluster/server"
)

// Options says how to run a server. The zero value is one with a temporary folder.
type Options struct {
	server.Place

	// Programs is a folder that is searched first for tidb-server.
	Programs string
	// Password is that of the user assay; empty means a random one.
	Password string
}

// Ports that TiDB has by itself: of clients, and of its status.
const (
	usualPort       = 4000
	usualStatusPort = 10080
)

// Server is a TiDB server. Its methods are safe for concurrent use.
type Server struct {
	*server.Node
	program string
	status  int
	login   binlog.Login
}

// Start starts a server whose user assay may do everything, and that keeps CHECK constraints. A
// missing program is a *server.MissingError.
func Start(ctx context.Context, o Options) (*Server, error) {
	program, err := server.Program{Name: "tidb-server", Get: "run scripts/install-servers.sh tidb, which takes a quarter of an hour"}.Find(o.Programs)
	if err != nil {
		return nil, err
	}
	login, err := binlog.NewLogin(o.Password)
	if err != nil {
		return nil, fmt.Errorf("start TiDB: %w", err)
	}
	s := &Server{program: program, login: login}
	if err := s.place(o); err != nil {
		return nil, fmt.Errorf("start TiDB: %w", err)
	}
	if err = s.spawn(); err == nil {
		err = s.makeUser(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start TiDB: %w", err), s.Close())
	}
	return s, nil
}

// place finds the server's ports and makes its folder.
func (s *Server) place(o Options) (err error) {
	var ports server.Ports
	if _, s.status, err = ports.For(o.Machine, usualStatusPort); err != nil {
		return err
	}
	if s.Node, err = o.NewNode(&ports, usualPort); err != nil {
		return err
	}
	s.Name, s.IsError = fmt.Sprintf("tidb-server on port %d", s.Port), isError
	return nil
}

func isError(line string) bool {
	return strings.Contains(line, "[FATAL]") || binlog.IsError(line)
}

func (s *Server) spawn(env ...string) error {
	at := func(name string) string { return filepath.Join(s.Dir, name) }
	return s.Spawn(server.ProcessOptions{Program: s.program, Env: env, Args: []string{
		"-store", "unistore", "-path", at("data"), "-host", s.Host, "-P", strconv.Itoa(s.Port), "-socket", "",
		"-advertise-address", s.Host, "-status-host", s.Host, "-status", strconv.Itoa(s.status),
		"-temp-dir", at("temp"), "-log-slow-query", at("slow.log"), "-L", "error",
	}})
}

// makeUser logs in as TiDB's first user, who has no password until then.
func (s *Server) makeUser(ctx context.Context) error {
	return s.by(ctx, binlog.Login{User: "root"}, func(ctx context.Context, db *sql.DB) error {
		password := binlog.Literal(s.login.Password)
		for _, text := range []string{
			"SET GLOBAL tidb_enable_check_constraint = ON",
			"CREATE USER " + s.login.User + " IDENTIFIED BY " + password, "GRANT ALL ON *.* TO " + s.login.User + " WITH GRANT OPTION",
			"SET PASSWORD FOR root = " + password,
		} {
			if _, err := db.ExecContext(ctx, text); err != nil {
				return fmt.Errorf("make its user: %w", err)
			}
		}
		return nil
	})
}

// by waits until the server takes this user, and works as it.
func (s *Server) by(ctx context.Context, login binlog.Login, work func(context.Context, *sql.DB) error) error {
	db, err := login.Open(s.Node)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := s.Await(ctx, db.PingContext); err != nil {
		return err
	}
	return work(ctx, db)
}

// Ready returns when the server takes the user assay.
func (s *Server) Ready(ctx context.Context) error {
	return s.by(ctx, s.login, func(context.Context, *sql.DB) error { return nil })
}

// Address is the server's URL, with the user and the password.
func (s *Server) Address() string { return s.login.Address([]*server.Node{s.Node}) }

// Restart starts the server again with its data, stopping it first if it runs.
func (s *Server) Restart(ctx context.Context, env ...string) error {
	return s.Node.Restart(ctx, func(ctx context.Context) error {
		if err := s.spawn(env...); err != nil {
			return err
		}
		return s.Ready(ctx)
	})
}

// Close ends the server and removes its data.
func (s *Server) Close() error { return server.Close([]*server.Node{s.Node}, s.Dir) }
