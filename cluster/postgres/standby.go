package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"assay/cluster/machine"
	"assay/cluster/server"
)

// StandbyOptions says how to run a streaming standby of a PostgreSQL node. The
// zero value gives an asynchronous one on a free port, in a temporary folder.
type StandbyOptions struct {
	// Dir, Log, Machine, Port and Ports are as in Options; where Ports is
	// nil, the port comes from the primary's. A standby on a machine with an
	// address of its own needs a primary on another of the same network.
	Dir     string
	Log     string
	Machine *machine.Machine
	Port    int
	Ports   *server.Ports
	// Synchronous makes every commit on the primary wait until this standby has
	// it on disk (synchronous_standby_names). While the standby is down, commits
	// wait.
	Synchronous bool
	// Settings are server settings as name=value, after the primary's and so
	// stronger than these.
	Settings []string
}

// StartStandby makes a copy of the running node's data and starts a hot standby
// on it, which replicates when StartStandby returns, and with Synchronous is
// waited for by commits. It has the node's user and password. A missing
// pg_basebackup is a *MissingError. Closing the node does not close its
// standbys.
func (p *Server) StartStandby(ctx context.Context, o StandbyOptions) (*Server, error) {
	if err := p.canCopy(); err != nil {
		return nil, err
	}
	s, err := newServer(p.programs, Options{
		Dir: o.Dir, Log: o.Log, Machine: o.Machine, Port: o.Port, Ports: cmp.Or(o.Ports, p.options.Ports), User: p.options.User, Password: p.options.Password,
		// A standby refuses to start with less room than its primary has, for
		// connections for example (manual, "Hot Standby", "Administrator's
		// Overview"). It asks for log again after 100 ms and not five seconds.
		// The names come with the copy, and mean the primary's standbys.
		Settings: slices.Concat([]string{"wal_retrieve_retry_interval=100ms", "synchronous_standby_names="},
			p.options.Settings, o.Settings),
	})
	if err != nil {
		return nil, fmt.Errorf("start a standby: %w", err)
	}
	if err := s.copyData(ctx, p, s.standbyName()); err != nil {
		return nil, errors.Join(fmt.Errorf("start a standby of %s: %w", p.Name, err), os.RemoveAll(s.Dir))
	}
	if err := s.start(ctx, stateReady); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if err := p.adopt(ctx, s, o.Synchronous); err != nil {
		return nil, errors.Join(fmt.Errorf("start a standby of %s: %w", p.Name, err), s.Close())
	}
	return s, nil
}

// canCopy returns a *server.MissingError if the program that copies a running node is
// not there.
func (p *Server) canCopy() error {
	if server.Executable(filepath.Join(p.programs, "pg_basebackup")) == "" {
		return &server.MissingError{Program: "pg_basebackup", Looked: []string{p.programs}, Get: serverProgram().Get}
	}
	return nil
}

// standbyName is what the primary calls the standby.
func (p *Server) standbyName() string {
	if p.label != "" {
		return p.label
	}
	return fmt.Sprintf("standby_%d", p.Port)
}

// copyData fills the standby's data folder. While it copies, the primary sees a
// receiver of this name, which must not be one that commits wait for: pg_basebackup
// confirms what it has received, and would be taken for the standby. The password goes through the
// environment, which only root and the server's user can see, into a file of
// that folder (primary_conninfo).
func (p *Server) copyData(ctx context.Context, primary *Server, as string, env ...string) error {
	return p.runTool(ctx, "pg_basebackup", []string{
		"--pgdata=" + p.data(), "--write-recovery-conf", "--checkpoint=fast", "--wal-method=stream", "--no-sync",
		"--no-password", "--dbname=application_name=" + as, "--host=" + primary.Host,
		"--port=" + strconv.Itoa(primary.Port), "--username=" + primary.options.User,
	}, append(env, "PGPASSWORD="+primary.options.Password)...)
}

// adopt waits until the standby replicates, and has commits wait for it if it
// is to be synchronous.
func (p *Server) adopt(ctx context.Context, standby *Server, synchronous bool) error {
	conn, err := pgx.Connect(ctx, p.Address())
	if err != nil {
		return fmt.Errorf("connect to the primary as user %s failed", p.options.User) // pgx's error tells too much
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if synchronous {
		if err := p.waitFor(ctx, conn, standby.standbyName()); err != nil {
			return err
		}
	}
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		var ready bool
		err := conn.QueryRow(ctx, `SELECT count(*) > 0 FROM pg_stat_replication
			WHERE application_name = $1 AND state = 'streaming' AND (NOT $2 OR sync_state IN ('sync', 'quorum'))`,
			standby.standbyName(), synchronous).Scan(&ready)
		if err != nil {
			return err
		}
		if ready {
			return nil
		}
		select {
		case <-standby.Process().Exited():
			return standby.Process().Ended()
		case <-ctx.Done():
			return fmt.Errorf("wait for %s to replicate: %w; its log ends with:\n%s",
				standby.Name, ctx.Err(), standby.Process().Tail(10))
		case <-ticker.C:
		}
	}
}

// waitFor adds a standby to those that each commit waits for. It refuses where
// the node's own settings name some, which would be stronger.
func (p *Server) waitFor(ctx context.Context, conn *pgx.Conn, name string) error {
	const setting = "synchronous_standby_names"
	if slices.ContainsFunc(p.options.Settings, func(s string) bool { return strings.HasPrefix(s, setting+"=") }) {
		return fmt.Errorf("%s was started with %s of its own", p.Name, setting)
	}
	p.mu.Lock()
	p.waitedFor = append(p.waitedFor, name)
	names := fmt.Sprintf("FIRST %d (%s)", len(p.waitedFor), strings.Join(p.waitedFor, ", "))
	p.mu.Unlock()
	if _, err := conn.Exec(ctx, "ALTER SYSTEM SET "+setting+" = '"+names+"'"); err != nil {
		return err
	}
	_, err := conn.Exec(ctx, "SELECT pg_reload_conf()")
	return err
}

// AddressWith is the URL of this node and its standbys together, of which
// clients choose the one that takes writes.
func (p *Server) AddressWith(standbys ...*Server) string {
	nodes := []*server.Node{p.Node}
	for _, standby := range standbys {
		nodes = append(nodes, standby.Node)
	}
	return p.options.url(server.Hosts(nodes), "sslmode=disable&target_session_attrs=read-write")
}

// Data is the path of the server's data folder.
func (p *Server) Data() string { return p.data() }
