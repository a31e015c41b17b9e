// Package pgautofailover runs PostgreSQL servers that pg_auto_failover leads, as local processes:
// each node is pg_autoctl with the PostgreSQL that it starts, and the monitor chooses the primary.
// It must not know how a spec asks for them.
package pgautofailover

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/cluster/machine"
	"assay/cluster/postgres"
	"assay/cluster/server"
	"assay/cluster/streaming"
)

// Options says how to run a formation. The zero value has pg_auto_failover's defaults.
type Options struct {
	streaming.Placement // two nodes, if it does not say

	Programs string
	// Monitor is where the monitor lives; nil means here.
	Monitor *machine.Machine
	// Asynchronous keeps all nodes out of the quorum for commits (--replication-quorum false).
	Asynchronous bool
	// Unhealthy is how long a node may be silent until it counts as lost
	// (node_considered_unhealthy_timeout); 0 means the default of 20 seconds.
	Unhealthy time.Duration
	Check     bool
	Settings  []string
}

// Formation is PostgreSQL servers and their monitor. Its methods are safe for concurrent use.
type Formation struct {
	*streaming.Set
	options  Options
	autoctl  string // the program
	postgres string // the folder of PostgreSQL's programs
	monitor  *server.Node
}

// Names that pg_auto_failover prescribes.
const (
	monitorDatabase = "pg_auto_failover"
	monitorUser     = "autoctl_node"
	replicaUser     = "pgautofailover_replicator"
)

const stopBound = time.Minute

// Start returns when all stream from the primary. It needs Linux and root. A missing program is a
// *server.MissingError.
func Start(ctx context.Context, o Options) (*Formation, error) {
	f := &Formation{options: o}
	var err error
	if f.postgres, err = postgres.FindPrograms(o.Programs); err != nil {
		return nil, err
	}
	if f.autoctl, err = autoctlProgram(f.postgres).Find(o.Programs); err != nil {
		return nil, err
	}
	if err := f.makeNodes(ctx); err != nil {
		return nil, fmt.Errorf("start pg_auto_failover: %w", err)
	}
	if err := f.startAll(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start pg_auto_failover: %w", err), f.Close())
	}
	return f, nil
}

func autoctlProgram(beside string) server.Program {
	return server.Program{Name: "pg_autoctl", Folders: []string{beside, "/usr/bin", "/usr/local/bin"},
		Get: "install pg_auto_failover (apt-get install pg-auto-failover-cli postgresql-15-auto-failover, or scripts/install-servers.sh pg-auto-failover)"}
}

func (f *Formation) makeNodes(ctx context.Context) error {
	o := f.options
	var err error
	f.Set, err = streaming.NewSet(streaming.Options{Placement: o.Placement, Product: "pg_auto_failover", LogPrefix: "pg_autoctl", Usual: 2,
		Programs: f.postgres, Settings: o.Settings, ManagerVersion: server.VersionOf(ctx, f.autoctl)})
	if err != nil {
		return err
	}
	if f.monitor, err = f.NewNode(o.Monitor, len(f.Nodes()), "monitor"); err != nil {
		return errors.Join(err, f.Set.Close())
	}
	for _, n := range f.all() {
		if err := n.User.WriteFile(passwords(n), "*:*:*:*:"+f.Password()+"\n"); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	return nil
}

func (f *Formation) all() []*server.Node { return append(slices.Clone(f.Nodes()), f.monitor) }

// Beside is the monitor. Its number follows the last node's.
func (f *Formation) Beside() []*server.Node { return []*server.Node{f.monitor} }

// passwords is a node's password file (manual, "Security settings for pg_auto_failover").
func passwords(n *server.Node) string { return filepath.Join(n.Dir, "passwords") }

// boot is the folder of pg_autoctl's files that a reboot invalidates.
func boot(n *server.Node) string { return filepath.Join(n.Dir, "run") }

// environment puts PostgreSQL's socket in the node's folder, since clusters would clash in the
// system's. By the socket pg_autoctl reaches the monitor's PostgreSQL, and recovers a former
// primary without the network before it rewinds it.
func (f *Formation) environment(n *server.Node, env ...string) []string {
	all := []string{"PGPASSFILE=" + passwords(n), "XDG_RUNTIME_DIR=" + boot(n), "PG_REGRESS_SOCK_DIR=" + n.Dir}
	if n == f.monitor {
		all = append(all, "PGHOST="+n.Dir)
	}
	return append(all, env...)
}

// uri is the monitor's address for nodes, without the password.
func (f *Formation) uri() string {
	u := url.URL{Scheme: "postgres", User: url.User(monitorUser), Host: f.monitor.Address(), Path: "/" + monitorDatabase, RawQuery: "sslmode=disable"}
	return u.String()
}

func (f *Formation) control(ctx context.Context, n *server.Node, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	args = append(args, "--pgdata", streaming.Data(n), "--pgctl", filepath.Join(f.postgres, "pg_ctl"), "--hostname", n.Host, "--pgport", strconv.Itoa(n.Port),
		"--auth", "scram-sha-256", "--no-ssl")
	_, err := n.Run(ctx, server.ProcessOptions{Name: "pg_autoctl " + strings.Join(args[:2], " ") + " for " + n.Name, Program: f.autoctl, Args: args,
		Env: f.environment(n), Apart: true})
	return err
}

// run first removes what a reboot invalidates: process ids that other processes may have.
func (f *Formation) run(n *server.Node, env ...string) error {
	if err := streaming.Forget(n); err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(boot(n)), os.Mkdir(boot(n), 0o700), n.User.Chown(boot(n))); err != nil {
		return err
	}
	return n.Spawn(server.ProcessOptions{Program: f.autoctl, Args: []string{"run", "--pgdata", streaming.Data(n)}, Env: f.environment(n, env...), Apart: true, StopBound: stopBound})
}

// Restart starts node i, or the monitor, again with env; pg_auto_failover chooses its role. It
// returns when the node has its part, or the monitor answers.
func (f *Formation) Restart(ctx context.Context, i int, env ...string) error {
	if i != f.monitor.Number {
		return f.Set.Restart(ctx, i, func(ctx context.Context) error {
			if server.IsEmpty(f.Data(i)) {
				if err := f.control(ctx, f.Node(i), f.creation(i)...); err != nil {
					return err
				}
			}
			return f.run(f.Node(i), env...)
		})
	}
	return f.monitor.Restart(ctx, func(ctx context.Context) error {
		if err := f.run(f.monitor, env...); err != nil {
			return err
		}
		return f.awaitMonitor(ctx)
	})
}

// Close kills all nodes and the monitor, and removes their folders.
func (f *Formation) Close() error { return server.Close(f.all(), f.Dir()) }
