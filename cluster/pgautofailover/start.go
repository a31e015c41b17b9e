package pgautofailover

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"assay/cluster/server"
	"assay/cluster/streaming"
)

func (f *Formation) startAll(ctx context.Context) error {
	if err := f.startMonitor(ctx); err != nil {
		return err
	}
	for i, n := range f.Nodes() {
		if i == 0 {
			if err := f.initialize(ctx); err != nil {
				return err
			}
		}
		if err := f.control(ctx, n, f.creation(i)...); err != nil {
			return err
		}
		if err := f.run(n); err != nil {
			return err
		}
		if err := f.AwaitPart(ctx, i); err != nil {
			return err
		}
		if i == 0 {
			if err := f.users(ctx); err != nil {
				return err
			}
		}
	}
	return f.Settled(ctx)
}

// startMonitor gives the nodes' user its password, as the manual says ("Security settings for
// pg_auto_failover").
func (f *Formation) startMonitor(ctx context.Context) error {
	if err := f.control(ctx, f.monitor, "create", "monitor"); err != nil {
		return err
	}
	if err := f.run(f.monitor); err != nil {
		return err
	}
	err := f.monitor.Await(ctx, func(ctx context.Context) error {
		return f.SetPassword(ctx, f.inside(), monitorUser)
	})
	if err == nil && f.options.Unhealthy > 0 {
		err = streaming.Execute(ctx, f.inside(),
			fmt.Sprintf("ALTER SYSTEM SET pgautofailover.node_considered_unhealthy_timeout = %d", f.options.Unhealthy.Milliseconds()), "SELECT pg_reload_conf()")
	}
	if err != nil {
		return fmt.Errorf("%s: %w", f.monitor.Name, err)
	}
	return f.awaitMonitor(ctx)
}

// inside is the monitor's database by its socket, which admits only the superuser, named after the
// user that runs it. The database's encoding is the locale's, which our client cannot use.
func (f *Formation) inside() string {
	query := url.Values{"host": {f.monitor.Dir}, "port": {strconv.Itoa(f.monitor.Port)}, "sslmode": {"disable"}, "connect_timeout": {"2"}, "client_encoding": {"UTF8"}}
	return "postgres://" + url.User(f.monitor.User.Name).String() + "@/" + monitorDatabase + "?" + strings.ReplaceAll(query.Encode(), "+", "%20")
}

func (f *Formation) awaitMonitor(ctx context.Context) error {
	u := url.URL{Scheme: "postgres", User: url.UserPassword(monitorUser, f.Password()), Host: f.monitor.Address(), Path: "/" + monitorDatabase, RawQuery: "sslmode=disable&connect_timeout=2&client_encoding=UTF8"}
	return f.monitor.Await(ctx, func(ctx context.Context) error { return streaming.TakesWrites(ctx, u.String()) })
}

// initialize makes the first node's database. pg_autoctl accepts an existing one and leaves its
// superuser and settings alone (manual, "pg_autoctl create postgres", 2). It connects as a
// superuser with the name of the user that runs it. The other nodes copy all this.
func (f *Formation) initialize(ctx context.Context) error {
	runs := `"` + f.monitor.User.Name + `"`
	return f.Initialize(ctx, 0, streaming.Setup{Check: f.options.Check,
		Access:     []string{"host all " + runs + " samenet scram-sha-256"},
		Statements: []string{"CREATE ROLE " + runs + " SUPERUSER LOGIN PASSWORD " + streaming.Literal(f.Password())},
	})
}

func (f *Formation) creation(i int) []string {
	n := f.Node(i)
	args := []string{"create", "postgres", "--name", f.Name(i), "--monitor", f.uri(), "--pghost", n.Host, "--listen", n.Host,
		"--username", streaming.User, "--dbname", "postgres"}
	if f.options.Asynchronous {
		args = append(args, "--replication-quorum", "false")
	}
	return args
}

func (f *Formation) users(ctx context.Context) error {
	if err := f.SetPassword(ctx, f.AddressOf(0), replicaUser); err != nil {
		return fmt.Errorf("%s: %w", f.Node(0).Name, err)
	}
	return nil
}

// Settled also waits, if the monitor runs, until a standby could be promoted.
func (f *Formation) Settled(ctx context.Context) error {
	if err := f.Set.Settled(ctx); err != nil || !f.monitor.Running() {
		return err
	}
	return f.awaitStates(ctx)
}

// awaitStates returns when every running node has its assigned state, and the primary has seen a
// standby, so that one could be promoted.
func (f *Formation) awaitStates(ctx context.Context) error {
	return server.Until(ctx, 200*time.Millisecond, "the states of the formation", func(ctx context.Context) error {
		var running []string
		for i, n := range f.Nodes() {
			if n.Running() {
				running = append(running, streaming.Literal(f.Name(i)))
			}
		}
		if len(running) == 0 {
			return nil
		}
		query := fmt.Sprintf(`SELECT count(*) = %d AND bool_and(reportedstate = goalstate
			AND reportedstate::text IN ('primary', 'secondary', 'wait_primary', 'single'))
			AND (%t OR bool_or(reportedstate::text = 'primary')) FROM pgautofailover.node WHERE nodename IN (%s)`,
			len(running), len(running) < len(f.Nodes()), strings.Join(running, ", "))
		return streaming.Holds(ctx, f.inside(), query)
	})
}

// CheckReplace is nil: Forget makes an empty node a new one.
func (f *Formation) CheckReplace() error { return nil }

// Forget removes node i from the monitor, as `pg_autoctl drop node --force` does, and what
// pg_autoctl kept beside the data. The next start creates the node again (manual 2.0, "pg_autoctl
// drop node", "pg_autoctl create postgres").
func (f *Formation) Forget(ctx context.Context, i int) error {
	n := f.Node(i)
	err := streaming.Execute(ctx, f.inside(), fmt.Sprintf("SELECT pgautofailover.remove_node(%s, %d, true)", streaming.Literal(n.Host), n.Port))
	for _, kept := range []string{boot(n), filepath.Join(n.Dir, ".config"), filepath.Join(n.Dir, ".local")} {
		err = errors.Join(err, os.RemoveAll(kept))
	}
	return errors.Join(err, os.Mkdir(boot(n), 0o700), n.User.Chown(boot(n)))
}

// CheckSwitchOver is nil: the monitor can always be asked.
func (f *Formation) CheckSwitchOver() error { return nil }

// SwitchOver has the monitor replace the primary, as `pg_autoctl perform switchover` does (manual
// 2.0, "pg_autoctl perform switchover").
func (f *Formation) SwitchOver(ctx context.Context, _ int) error {
	return streaming.Execute(ctx, f.inside(), "SELECT pgautofailover.perform_failover('default', 0)")
}
