// Package patroni runs PostgreSQL servers that Patroni leads, as local processes: each node is
// Patroni with the PostgreSQL that it starts. They elect a primary by a key in a store (DCS).
//
// It must not know how that store is run.
package patroni

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"assay/cluster/postgres"
	"assay/cluster/server"
	"assay/cluster/streaming"
)

// Options needs Stores; zero values of the others are Patroni's defaults.
type Options struct {
	streaming.Placement // three nodes, if it does not say

	Programs string
	// Stores are the addresses of the nodes of etcd for clients, as host:port.
	Stores []string

	// Synchronous makes the primary wait for one standby (synchronous_mode) if there is one; with
	// Strict it waits even if there is none (synchronous_mode_strict).
	Synchronous, Strict bool
	// Failsafe keeps a primary that has lost the store but reaches all other nodes (failsafe_mode).
	Failsafe bool
	// MaximumLag is how many bytes of log a standby may lack for a promotion
	// (maximum_lag_on_failover); 0 means Patroni's default of 1 MiB.
	MaximumLag int64
	// TTL, LoopWait and RetryTimeout are Patroni's, in whole seconds; 0 means its defaults of 30, 10
	// and 10 seconds.
	TTL, LoopWait, RetryTimeout time.Duration
	Settings                    []string
}

// Patroni's defaults (its manual, "Dynamic Configuration Settings").
const (
	DefaultTTL          = 30 * time.Second
	DefaultLoopWait     = 10 * time.Second
	DefaultRetryTimeout = 10 * time.Second
)

// Set is PostgreSQL servers under Patroni. Its methods are safe for concurrent use.
type Set struct {
	*streaming.Set
	options           Options
	patroni, postgres string
	rest              []int // the port of each node's REST API
}

const restPort = 8008

// Start returns when all stream from the primary. It needs Linux and root, since PostgreSQL
// outlives Patroni. A missing program is a *server.MissingError.
func Start(ctx context.Context, o Options) (*Set, error) {
	s := &Set{options: o}
	var err error
	if s.postgres, err = postgres.FindPrograms(o.Programs); err != nil {
		return nil, err
	}
	if s.patroni, err = patroniProgram().Find(o.Programs); err != nil {
		return nil, err
	}
	s.Set, err = streaming.NewSet(streaming.Options{Placement: o.Placement, Product: "Patroni", LogPrefix: "patroni", Usual: 3,
		Programs: s.postgres, Settings: o.Settings, ManagerVersion: server.VersionOf(ctx, s.patroni)})
	if err != nil {
		return nil, fmt.Errorf("start Patroni: %w", err)
	}
	if err := s.startAll(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start Patroni: %w", err), s.Close())
	}
	return s, nil
}

func patroniProgram() server.Program {
	return server.Program{Name: "patroni", Folders: []string{"/usr/bin", "/usr/local/bin"},
		Get: "install Patroni (apt-get install patroni python3-etcd, or scripts/install-servers.sh patroni)"}
}

// startAll has the first node make the database alone. Otherwise chance would choose the primary.
func (s *Set) startAll(ctx context.Context) error {
	for i, n := range s.Nodes() {
		port, err := s.Port(n, restPort)
		if err != nil {
			return err
		}
		s.rest = append(s.rest, port)
		text, err := json.MarshalIndent(s.configuration(i), "", "  ") // which is YAML too
		if err != nil {
			return err
		}
		if err := n.User.WriteFile(s.file(i), string(text)+"\n"); err != nil {
			return err
		}
	}
	if err := s.start(0); err != nil {
		return err
	}
	if err := s.AwaitPart(ctx, 0); err != nil {
		return err
	}
	if err := s.checkSettings(ctx); err != nil {
		return err
	}
	group, starting := errgroup.WithContext(ctx)
	for i := 1; i < len(s.Nodes()); i++ {
		group.Go(func() error {
			if err := s.start(i); err != nil {
				return err
			}
			return s.AwaitPart(starting, i)
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return s.Settled(ctx)
}

// checkSettings returns an error unless the first node has all settings as given. Patroni drops a
// setting whose name or value it takes for wrong, and changes a value out of bounds. It only logs
// this.
func (s *Set) checkSettings(ctx context.Context) error {
	parameters := s.parameters()
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		value := parameters[name]
		err := streaming.Holds(ctx, s.AddressOf(0), fmt.Sprintf("SELECT EXISTS (SELECT FROM pg_file_settings WHERE lower(name) = lower(%s) AND setting = %s)",
			streaming.Literal(name), streaming.Literal(value)))
		if err != nil {
			return fmt.Errorf("%s=%s was left out or changed by Patroni; want a parameter that it knows and a value within its bounds%s", name, value, s.saidOf(name))
		}
	}
	return nil
}

func (s *Set) saidOf(name string) string {
	for line := range strings.Lines(s.Node(0).Tail(400)) {
		if strings.Contains(line, "parameter="+name+" ") {
			return "; its log: " + strings.TrimSpace(line)
		}
	}
	return ""
}

func (s *Set) file(i int) string { return filepath.Join(s.Node(i).Dir, "patroni.yml") }

const stopBound = time.Minute

// script keeps Patroni from being the node's first process. As that it logs the end of each child
// in a signal handler, even while it is writing to its log, and then hangs for good (seen in
// Patroni 3.0.2; its pull request 3413 of 2025 describes it).
const script = `"$@" &
child=$!
trap 'kill "$child"' TERM INT
while kill -0 "$child" 2>/dev/null; do
	wait "$child"
	status=$?
done
exit "$status"`

func (s *Set) start(i int, env ...string) error {
	return s.Node(i).Spawn(server.ProcessOptions{Program: "/bin/sh", Args: []string{"-c", script, "sh", s.patroni, s.file(i)}, Env: env, Apart: true, StopBound: stopBound})
}

// Restart starts node i again with env; Patroni chooses its role. It returns when the node takes
// writes or streams; without a primary, when it serves reads.
func (s *Set) Restart(ctx context.Context, i int, env ...string) error {
	return s.Set.Restart(ctx, i, func(context.Context) error { return s.start(i, env...) })
}

// Settled is streaming.Set.Settled. If commits wait for a standby and one runs, it also waits until
// Patroni has chosen that standby: without it no standby can be promoted (its manual, "Replication
// modes").
func (s *Set) Settled(ctx context.Context) error {
	if err := s.Set.Settled(ctx); err != nil || !(s.options.Synchronous || s.options.Strict) {
		return err
	}
	return server.Until(ctx, 100*time.Millisecond, "a synchronous standby of Patroni", func(ctx context.Context) error {
		running := 0
		for i, n := range s.Nodes() {
			if !n.Running() {
				continue
			}
			if running++; s.synchronous(ctx, i) {
				return nil
			}
		}
		if running > 1 {
			return errors.New("none is chosen")
		}
		return nil
	})
}

// direct ignores the proxy of the environment and keeps no connection.
var direct = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

func (s *Set) synchronous(ctx context.Context, i int) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	at := s.at(i, "/synchronous")
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, at.String(), nil)
	if err != nil {
		return false
	}
	answer, err := direct.Do(request)
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

func (s *Set) at(i int, path string) *url.URL {
	return &url.URL{Scheme: "http", Host: net.JoinHostPort(s.Node(i).Host, strconv.Itoa(s.rest[i])), Path: path}
}

// REST is the port of node i's REST API, by which proxies look for the primary.
func (s *Set) REST(i int) int { return s.rest[i] }

// configuration is node i's patroni.yml (its manual, "YAML Configuration Settings"). Where it
// differs from the defaults it follows Patroni's examples: a former primary is rewound
// (use_pg_rewind), without which it would stay away for good; data have checksums, which that
// needs; and a copy does not wait for a slow checkpoint.
func (s *Set) configuration(i int) map[string]any {
	n := s.Node(i)
	access := func(user string) map[string]any { return map[string]any{"username": user, "password": s.Password()} }
	connect := net.JoinHostPort(n.Host, strconv.Itoa(s.rest[i]))
	return map[string]any{
		"scope": "assay", "name": s.Name(i),
		"restapi": map[string]any{"listen": connect, "connect_address": connect},
		"etcd3":   map[string]any{"hosts": s.options.Stores},
		"bootstrap": map[string]any{
			"dcs":    s.options.dynamic(s.parameters()),
			"initdb": []any{map[string]any{"encoding": "UTF8"}, map[string]any{"locale": "C"}, map[string]any{"auth": "scram-sha-256"}, "data-checksums"},
		},
		"postgresql": map[string]any{
			"listen": n.Address(), "connect_address": n.Address(), "data_dir": s.Data(i), "bin_dir": s.postgres,
			"pgpass":         filepath.Join(n.Dir, "pgpass"),
			"authentication": map[string]any{"superuser": access(streaming.User), "replication": access("replicator"), "rewind": access("rewind")},
			"pg_hba":         []string{"local all all scram-sha-256", "host all all samenet scram-sha-256", "host replication all samenet scram-sha-256"},
			"basebackup":     []any{map[string]any{"checkpoint": "fast"}},
			"parameters":     map[string]any{"unix_socket_directories": ""},
		},
	}
}

func (s *Set) parameters() map[string]string {
	all := map[string]string{}
	for _, setting := range s.Settings() {
		name, value, _ := strings.Cut(setting, "=")
		all[name] = value
	}
	return all
}

// dynamic is the configuration that Patroni keeps in the store for all nodes.
func (o Options) dynamic(parameters map[string]string) map[string]any {
	all := map[string]any{"postgresql": map[string]any{"use_pg_rewind": true, "parameters": parameters}}
	for name, seconds := range map[string]time.Duration{"ttl": o.TTL, "loop_wait": o.LoopWait, "retry_timeout": o.RetryTimeout} {
		if seconds > 0 {
			all[name] = int(seconds.Seconds())
		}
	}
	if o.MaximumLag > 0 {
		all["maximum_lag_on_failover"] = o.MaximumLag
	}
	for name, on := range map[string]bool{"synchronous_mode": o.Synchronous || o.Strict, "synchronous_mode_strict": o.Strict, "failsafe_mode": o.Failsafe} {
		if on {
			all[name] = true
		}
	}
	return all
}
