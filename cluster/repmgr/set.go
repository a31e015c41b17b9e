// Package repmgr runs PostgreSQL servers that repmgr leads, as local processes: each node is
// PostgreSQL with repmgrd, which promotes standbys. repmgr leaves the return of a lost node to an
// operator; this package does it as its manual says. It must not know how a spec asks for them.
package repmgr

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"assay/cluster/postgres"
	"assay/cluster/server"
	"assay/cluster/streaming"
)

// Options says how to run a set. The zero value has repmgr's defaults: commits do not wait, and
// repmgr tries a lost primary for a minute.
type Options struct {
	streaming.Placement // three nodes, if it does not say

	Programs string
	// Synchronous commits wait until any standby has them on disk (synchronous_standby_names).
	Synchronous bool
	// Fencing ends a primary after 30 s without standbys (child_nodes_disconnect_command).
	Fencing bool
	// Consensus is primary_visibility_consensus: no promotion while a standby sees the primary.
	Consensus bool
	// ReconnectAttempts at ReconnectInterval, in whole seconds, try a lost primary; 0 means repmgr's
	// defaults of 6 and 10 seconds.
	ReconnectAttempts int
	ReconnectInterval time.Duration
	Check             bool
	Settings          []string
}

// repmgrUser is also the database's name, as in repmgr's manual.
const repmgrUser = "repmgr"

// Set is PostgreSQL servers under repmgr. Its methods are safe for concurrent use.
type Set struct {
	*streaming.Set
	options  Options
	programs string // the folder of PostgreSQL's programs and repmgr's
}

// Start returns when all stream from the first node. It needs Linux and root. A missing program is
// a *server.MissingError.
func Start(ctx context.Context, o Options) (*Set, error) {
	s := &Set{options: o}
	var err error
	if s.programs, err = postgres.FindPrograms(o.Programs); err != nil {
		return nil, err
	}
	// Debian's program in PATH is a wrapper that looks for a cluster of Debian's.
	if server.Executable(filepath.Join(s.programs, "repmgrd")) == "" {
		return nil, &server.MissingError{Program: "repmgrd", Looked: []string{s.programs},
			Get: "install repmgr (apt-get install postgresql-15-repmgr, or scripts/install-servers.sh repmgr)"}
	}
	s.Set, err = streaming.NewSet(streaming.Options{Placement: o.Placement, Product: "repmgr", LogPrefix: "repmgr", Usual: 3,
		Programs: s.programs, Settings: o.Settings,
		ManagerVersion: server.VersionOf(ctx, filepath.Join(s.programs, "repmgr"))}) // repmgrd tells root nothing
	if err != nil {
		return nil, fmt.Errorf("start repmgr: %w", err)
	}
	if err := s.startAll(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start repmgr: %w", err), s.Close())
	}
	return s, nil
}

func (s *Set) startAll(ctx context.Context) error {
	for i, n := range s.Nodes() {
		err := errors.Join(n.User.WriteFile(s.file(n, "passwords"), "*:*:*:*:"+s.Password()+"\n"),
			n.User.WriteFile(s.file(n, "repmgr.conf"), s.configuration(i)), n.User.WriteFile(s.file(n, "run.sh"), script),
			n.User.WriteFile(s.file(n, "node.conf"), fmt.Sprintf("listen_addresses = '%s'\nport = %d\n", n.Host, n.Port)))
		if err != nil {
			return err
		}
		order := "register-standby"
		if i == 0 {
			order = "register-primary"
			err = s.Initialize(ctx, 0, s.setup())
		} else {
			err = s.clone(ctx, n, 0)
		}
		if err == nil {
			err = s.run(n, order, "")
		}
		if err == nil {
			err = s.AwaitPart(ctx, i)
		}
		if err == nil {
			err = s.awaitDaemon(ctx, i)
		}
		if err != nil {
			return err
		}
	}
	return s.Settled(ctx)
}

// awaitDaemon returns when repmgrd runs on node i, which is registered then.
func (s *Set) awaitDaemon(ctx context.Context, i int) error {
	at := s.inside(i)
	return s.Node(i).Await(ctx, func(ctx context.Context) error {
		if err := streaming.Holds(ctx, at, "SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'repmgr')"); err != nil {
			return err
		}
		return streaming.Holds(ctx, at, "SELECT repmgr.repmgrd_is_running()")
	})
}

// ready returns when other nodes can rejoin the primary i. repmgr must know it as the primary,
// which takes a moment, and it must have had a checkpoint: before that pg_rewind sees no new
// timeline and rewinds nothing (PostgreSQL's manual up to 15, "pg_rewind").
func (s *Set) ready(ctx context.Context, i int) error {
	err := server.Until(ctx, 100*time.Millisecond, "the registration of "+s.Node(i).Name, func(ctx context.Context) error {
		return streaming.Holds(ctx, s.inside(i), fmt.Sprintf("SELECT EXISTS (SELECT FROM repmgr.nodes WHERE node_id = %d AND active AND type = 'primary')", i+1))
	})
	if err != nil {
		return err
	}
	if err := streaming.Execute(ctx, s.AddressOf(i), "CHECKPOINT"); err != nil {
		return fmt.Errorf("checkpoint of %s: %w", s.Node(i).Name, err)
	}
	return nil
}

func (s *Set) inside(i int) string { return s.conninfo(i) + " password=" + s.Password() }

func (s *Set) file(n *server.Node, name string) string { return filepath.Join(n.Dir, name) }

// setup is the first node's database, which the others copy (manual, "Quick-start guide"). A node's
// address is in a file beside its data. A node keeps 1 GB of its log for one that was away.
func (s *Set) setup() streaming.Setup {
	settings := []string{"include=../node.conf", "shared_preload_libraries=repmgr", "wal_keep_size=1GB"}
	if s.options.Synchronous {
		settings = append(settings, streaming.AnyOne(s.Names()))
	}
	return streaming.Setup{
		Check: s.options.Check, Settings: settings,
		Access: []string{"host all " + repmgrUser + " samenet scram-sha-256", "host replication " + repmgrUser + " samenet scram-sha-256"},
		Statements: []string{"CREATE ROLE " + repmgrUser + " SUPERUSER LOGIN PASSWORD " + streaming.Literal(s.Password()),
			"CREATE DATABASE " + repmgrUser + " OWNER " + repmgrUser},
	}
}

// environment gives libpq the password, which must be in no command line.
func (s *Set) environment(n *server.Node, env ...string) []string {
	return append([]string{"PGPASSFILE=" + s.file(n, "passwords")}, env...)
}

func (s *Set) clone(ctx context.Context, n *server.Node, i int) error {
	primary := s.Node(i)
	_, err := n.Run(ctx, server.ProcessOptions{Name: "repmgr standby clone for " + n.Name, Program: filepath.Join(s.programs, "repmgr"), Env: s.environment(n),
		Args: []string{"-h", primary.Host, "-p", strconv.Itoa(primary.Port), "-U", repmgrUser, "-d", repmgrUser, "-f", s.file(n, "repmgr.conf"),
			"standby", "clone", "--fast-checkpoint"}})
	return err
}

const stopBound = time.Minute

func (s *Set) run(n *server.Node, order, target string, env ...string) error {
	return n.Spawn(server.ProcessOptions{Program: "/bin/sh", Env: s.environment(n, env...), Apart: true, StopBound: stopBound, FenceStatus: fenceStatus,
		Args: []string{s.file(n, "run.sh"), s.programs, streaming.Data(n), n.Log, s.file(n, "repmgr.conf"), order, target, strconv.Itoa(fenceStatus)}})
}

// copyPrimary fills the data of node i, which has none. It waits for a primary, as after the end of
// the node's own until repmgrd promotes another. repmgr must know it: else the copy would follow the
// primary that repmgr knew before, which may be the node itself.
func (s *Set) copyPrimary(ctx context.Context, i int) error {
	leader, err := s.Primary(ctx)
	if err == nil {
		err = s.ready(ctx, leader)
	}
	if err == nil {
		err = s.clone(ctx, s.Node(i), leader)
	}
	if err != nil { // a part of a copy is none: the next try begins anew
		_, _, cleared := server.Clear(s.Data(i))
		return errors.Join(fmt.Errorf("copy the primary: %w", err), cleared)
	}
	return nil
}

// Restart starts node i again with env as the manual says ("repmgr node rejoin", "repmgr standby
// follow"). A standby follows the primary, and a former primary becomes its standby, by pg_rewind
// if needed. Without a primary the node starts in its old role. So it may become a second primary
// if repmgrd promotes another at that moment; afterwards it is refused. Restart returns when the
// node takes writes or streams; without a primary, when it serves reads.
func (s *Set) Restart(ctx context.Context, i int, env ...string) error {
	err := s.Set.Restart(ctx, i, func(ctx context.Context) error {
		order, target := "start", ""
		if server.IsEmpty(s.Data(i)) {
			if err := s.copyPrimary(ctx, i); err != nil {
				return err
			}
			return s.run(s.Node(i), "register-standby", "", env...)
		}
		if leader, ok := s.Leader(ctx); ok {
			if err := s.ready(ctx, leader); err != nil {
				return err
			}
			if order, target = "rejoin", s.conninfo(leader); server.Exists(filepath.Join(s.Data(i), "standby.signal")) {
				order, target = "follow", strconv.Itoa(leader+1)
			}
		}
		return s.run(s.Node(i), order, target, env...)
	})
	if _, ok := s.Leader(ctx); err != nil || !ok { // beside a standby it waits for a primary
		return err
	}
	return s.awaitDaemon(ctx, i)
}

func (s *Set) conninfo(i int) string {
	n := s.Node(i)
	return fmt.Sprintf("host=%s port=%d user=%s dbname=%s sslmode=disable connect_timeout=2", n.Host, n.Port, repmgrUser, repmgrUser)
}

// configuration is node i's repmgr.conf (manual, "repmgrd configuration").
func (s *Set) configuration(i int) string {
	n, o := s.Node(i), s.options
	command := filepath.Join(s.programs, "repmgr") + " -f " + s.file(n, "repmgr.conf") + " "
	lines := [][2]string{
		{"node_id", strconv.Itoa(i + 1)}, {"node_name", s.Name(i)}, {"conninfo", s.conninfo(i)},
		{"data_directory", s.Data(i)}, {"pg_bindir", s.programs}, {"passfile", s.file(n, "passwords")},
		{"pg_ctl_options", "-l " + n.Log}, // else repmgr waits for the output of the server that it starts
		{"failover", "automatic"},
		{"promote_command", command + "standby promote"}, {"follow_command", command + "standby follow --upstream-node-id=%n"},
	}
	if o.ReconnectAttempts > 0 {
		lines = append(lines, [2]string{"reconnect_attempts", strconv.Itoa(o.ReconnectAttempts)})
	}
	if o.ReconnectInterval > 0 {
		lines = append(lines, [2]string{"reconnect_interval", strconv.Itoa(int(o.ReconnectInterval.Seconds()))})
	}
	if o.Consensus {
		lines = append(lines, [2]string{"primary_visibility_consensus", "true"})
	}
	if o.Fencing { // manual, "Monitoring standby disconnections on the primary node"
		lines = append(lines, [2]string{"child_nodes_connected_min_count", "1"}, [2]string{"child_nodes_disconnect_command", "kill -QUIT 1"})
	}
	var b strings.Builder
	for _, line := range lines {
		fmt.Fprintf(&b, "%s=%s\n", line[0], streaming.Literal(line[1]))
	}
	return b.String()
}

const fenceStatus = 75

// script is a node's first process. It starts PostgreSQL, executes the order, and runs repmgrd
// until PostgreSQL ends or a signal comes. It restarts repmgrd, which ends on a standby without a
// primary. QUIT is the fence: PostgreSQL ends at once, and the exit status is the last argument.
const script = `bin=$1 data=$2 log=$3 conf=$4 order=$5 target=$6 fenced=$7
daemon=
end() {
	[ -z "$daemon" ] || kill "$daemon"
	"$bin/pg_ctl" -D "$data" -m "$1" -w -t 50 stop
	exit "$2"
}
trap 'end fast 0' TERM INT
trap "end immediate $fenced" QUIT
if [ "$order" = rejoin ]; then
	# What was not shut down in order is recovered first: else its log looks shorter than it is.
	"$bin/pg_controldata" "$data" | grep -q 'state: *shut down' || "$bin/postgres" --single -D "$data" postgres </dev/null || exit 1
	# It keeps the settings meanwhile where else another cluster's node of this name would.
	"$bin/repmgr" -f "$conf" -d "$target" node rejoin --force-rewind --config-archive-dir="${conf%/*}" || exit 1
else
	"$bin/pg_ctl" -D "$data" -l "$log" -w -t 600 start || exit 1
fi
case $order in
register-primary) "$bin/repmgr" -f "$conf" primary register || exit 1 ;;
register-standby) # which takes only one that streams already
	tries=30
	until "$bin/repmgr" -f "$conf" standby register --force; do # also one that was there before
		tries=$((tries - 1))
		[ "$tries" -gt 0 ] || exit 1
		sleep 1
	done
	;;
follow) "$bin/repmgr" -f "$conf" standby follow --upstream-node-id="$target" ;; # or repmgrd does, later
esac
while "$bin/pg_ctl" -D "$data" status >/dev/null; do
	if [ -z "$daemon" ] || ! kill -0 "$daemon" 2>/dev/null; then
		"$bin/repmgrd" -f "$conf" --daemonize=false --no-pid-file &
		daemon=$!
	fi
	sleep 1 &
	wait $!
done
exit 1
`

// CheckReplace is nil: repmgr clones the primary anew.
func (s *Set) CheckReplace() error { return nil }

// CheckSwitchOver always returns an error.
func (s *Set) CheckSwitchOver() error {
	return errors.New("repmgr switches over by ssh between the nodes (repmgr manual, \"repmgr standby switchover\"), which they do not have here")
}

// SwitchOver always returns an error.
func (s *Set) SwitchOver(context.Context, int) error { return s.CheckSwitchOver() }
