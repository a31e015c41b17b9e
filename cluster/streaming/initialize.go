package streaming

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"assay/cluster/postgres"
	"assay/cluster/server"
)

// Setup is the content of a new database.
type Setup struct {
	// Access is lines of pg_hba.conf. User gets in by password from the node's networks.
	Access []string
	// Settings are name=value; the set's own override them.
	Settings []string
	// Statements are executed before the first start, each a line.
	Statements []string
	// Check makes CheckUser and admits it without a password.
	Check bool
}

// Initialize makes the database of server i, with checksums, which pg_rewind needs. It listens on
// no Unix socket. All its processes run apart, so that a killed one leaves no shared memory.
func (s *Set) Initialize(ctx context.Context, i int, o Setup) error {
	made := s.server(i)
	if err := made.Initdb(ctx, true); err != nil {
		return err
	}
	access := append([]string{"local all all scram-sha-256"}, o.Access...)
	if o.Check {
		access = append([]string{"host postgres " + CheckUser + " samenet trust"}, access...)
		o.Statements = append(o.Statements, "CREATE ROLE "+CheckUser+" LOGIN")
	}
	access = append(access, "host all "+User+" samenet scram-sha-256", "host replication "+User+" samenet scram-sha-256") // by which it is backed up
	settings := "unix_socket_directories = ''\n"
	for _, setting := range slices.Concat(o.Settings, s.Settings()) {
		name, value, _ := strings.Cut(setting, "=")
		settings += name + " = " + postgres.Quote(value) + "\n"
	}
	err := errors.Join(s.user.WriteFile(filepath.Join(s.Data(i), "pg_hba.conf"), strings.Join(access, "\n")+"\n"),
		made.Append("postgresql.conf", settings))
	if err != nil || len(o.Statements) == 0 {
		return err
	}
	return s.prepare(ctx, s.nodes[i], o)
}

const prepareBound = time.Minute

// prepare executes the statements without clients (manual, "postgres", single-user mode). They are
// in a file, since one may have a password. They wait for no standby, since there is none yet.
func (s *Set) prepare(ctx context.Context, n *server.Node, o Setup) error {
	ctx, cancel := context.WithTimeout(ctx, prepareBound)
	defer cancel()
	statements := filepath.Join(n.Dir, "statements")
	defer os.Remove(statements)
	all := slices.Concat([]string{"SET synchronous_commit = local"}, unlogged(), o.Statements)
	if err := s.user.WriteFile(statements, strings.Join(all, "\n")+"\n"); err != nil {
		return err
	}
	_, err := n.Run(ctx, server.ProcessOptions{Name: "postgres --single", Program: "/bin/sh", Apart: true,
		Args: []string{"-c", `exec "$0" --single -D "$1" postgres <"$2"`, filepath.Join(s.options.Programs, "postgres"), Data(n), statements}})
	return err
}

// unlogged are statements that keep the later statements of their session out of the server's log,
// in spite of its settings and even if they fail (manual, "Error Reporting and Logging").
func unlogged() []string {
	return []string{"SET log_statement = 'none'", "SET log_min_duration_statement = -1", "SET log_min_error_statement = 'panic'"}
}

// SetPassword gives an existing user the set's password without logging it.
func (s *Set) SetPassword(ctx context.Context, address, user string) error {
	return Execute(ctx, address, append(unlogged(), "ALTER USER "+user+" PASSWORD "+Literal(s.options.Password))...)
}

// Literal quotes a text for SQL.
func Literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
