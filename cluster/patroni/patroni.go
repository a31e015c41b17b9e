// Package patroni runs PostgreSQL servers that Patroni leads, as local processes: each node is
// Patroni with the PostgreSQL that it starts. Who takes writes they decide among themselves,
// by a key in a store that is run elsewhere (DCS).
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

// Options says how to run a set. The zero value, but for Stores, has Patroni's defaults.
type Options struct {
	streaming.Placement // three nodes, if it does not say

	// Programs is a folder that is searched first for the programs of PostgreSQL and Patroni.
	Programs string
	// Stores are where the nodes of etcd take clients, as host:port.
	Stores []string

	// Synchronous has the primary wait for one standby (synchronous_mode), as long as there is
	// one that could be waited for; Strict also if there is none (synchronous_mode_strict).
	Synchronous, Strict bool
	// Failsafe has a primary go on that has lost the store and still reaches all other nodes
	// (failsafe_mode).
	Failsafe bool
	// MaximumLag is how many bytes of log a standby may lack and still be promoted
	// (maximum_lag_on_failover); 0 means Patroni's default of 1 MiB.
	MaximumLag int64
	// TTL, LoopWait and RetryTimeout are Patroni's, in whole seconds; 0 means its defaults of
	// 30, 10 and 10 seconds.
	TTL, LoopWait, RetryTimeout time.Duration
	// Settings are settings of every PostgreSQL, as name=value.
	Settings []string
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
	options Options
	// patroni is the program, postgres the folder of PostgreSQL's.
	patroni, postgres string
	rest              []int // the port of each node's REST API
}

// restPort is the usual port of Patroni's REST API.
const restPort = 8008

// Start starts all nodes and returns when one takes writes and all others stream from it. It
// takes Linux and root, since PostgreSQL lets go of Patroni, which starts it. A missing
// program is a *server.MissingError.
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
		Programs: s.postgres, Settings: o.Settings})
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

// startAll has the first node make the database before the others come, which copy it: else
// it is chance which one does, and with it who is the first primary.
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
	if err := s.start(ctx, 0); err != nil {
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
			if err := s.start(starting, i); err != nil {
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

// checkSettings is an error unless the first node has all settings as they were given. Patroni
// leaves one out whose name or value it takes for wrong, and changes one that is out of its
// bounds; it says so in its log alone, and starts PostgreSQL without.
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

// saidOf is what the first node's log has about a parameter; empty if that is nothing.
func (s *Set) saidOf(name string) string {
	for line := range strings.Lines(s.Node(0).Tail(400)) {
		if strings.Contains(line, "parameter="+name+" ") {
			return "; its log: " + strings.TrimSpace(line)
		}
	}
	return ""
}

func (s *Set) file(i int) string { return filepath.Join(s.Node(i).Dir, "patroni.yml") }

// stopBound is how long Patroni may take to end PostgreSQL in order and give up its key.
const stopBound = time.Minute

// script has Patroni be another process than the node's first. As the first it logs the end of each
// child in the handler of that signal, also while it is writing to its log, and then hangs for good
// (Patroni 3.0.2; its pull request 3413 of 2025 describes it; seen here).
const script = `"$@" &
child=$!
trap 'kill "$child"' TERM INT
while kill -0 "$child" 2>/dev/null; do
	wait "$child"
	status=$?
done
exit "$status"`

func (s *Set) start(_ context.Context, i int, env ...string) error {
	return s.Node(i).Spawn(server.ProcessOptions{Program: "/bin/sh", Args: []string{"-c", script, "sh", s.patroni, s.file(i)}, Env: env, Apart: true, StopBound: stopBound})
}

// Restart stops node i if it runs, and starts it again with its data: Patroni makes it what
// the others need. It returns when the node takes writes or streams, or serves reads where
// there is no primary. env is added to its environment this once, as NAME=value.
func (s *Set) Restart(ctx context.Context, i int, env ...string) error {
	return s.Set.Restart(ctx, i, func(ctx context.Context) error { return s.start(ctx, i, env...) })
}

// Settled is as streaming.Set's; where commits wait for a standby, Patroni has also chosen one, if
// a standby runs. It promotes nobody else, and until it has chosen nobody (its manual, "Replication
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

// direct asks the nodes themselves: without the proxy that the environment may name, and without
// connections that outlive the question.
var direct = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// synchronous reports whether node i is a standby that commits wait for, by what Patroni has in the
// store.
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

// at is a path of node i's REST API.
func (s *Set) at(i int, path string) *url.URL {
	return &url.URL{Scheme: "http", Host: net.JoinHostPort(s.Node(i).Host, strconv.Itoa(s.rest[i])), Path: path}
}

// REST is the port of node i's REST API, by which proxies ask whether it is the primary.
func (s *Set) REST(i int) int { return s.rest[i] }

// configuration is node i's patroni.yml (its manual, "YAML Configuration Settings"). It has
// Patroni's defaults where the options say nothing, with exceptions that its examples have
// too: a former primary is rewound (use_pg_rewind), without which it would stay away for good;
// data have checksums, which that needs; and a copy does not wait for a checkpoint that takes
// its time.
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

// parameters are the settings of every PostgreSQL by their names.
func (s *Set) parameters() map[string]string {
	all := map[string]string{}
	for _, setting := range s.Settings() {
		name, value, _ := strings.Cut(setting, "=")
		all[name] = value
	}
	return all
}

// dynamic is what Patroni keeps in the store for all nodes, with PostgreSQL's parameters.
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
