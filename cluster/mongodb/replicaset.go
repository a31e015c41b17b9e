// Package mongodb runs MongoDB replica sets as local processes. It must not know how a spec asks
// for them.
package mongodb

import (
	"cmp"
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
	"assay/cluster/server"
)

// Options says how to run a replica set. The zero value has three data nodes with MongoDB's own
// timing, in temporary folders. There is no access control: every user of this machine can connect.
type Options struct {
	// Layout.Nodes hold data; 0 means three, and one is enough for transactions. Machines are for
	// the data nodes, then for the arbiters.
	server.Layout

	// Arbiters only vote. Nodes and Arbiters together are at most 7, since no more can vote.
	Arbiters int
	// ReplicaSet is the set's name; empty means "rs0".
	ReplicaSet string
	// ElectionTimeout is how long the set waits for its primary before an election
	// (settings.electionTimeoutMillis); 0 means MongoDB's default, 10 seconds.
	ElectionTimeout time.Duration
	// Heartbeat is settings.heartbeatIntervalMillis; 0 means the default, 2 seconds.
	Heartbeat time.Duration
	// CacheSize is WiredTiger's cache on each node in bytes; 0 means MinCacheSize. MongoDB's own
	// default is half of the machine for every node.
	CacheSize int64
	// OplogSize is in bytes; 0 means 128 MiB.
	OplogSize int64
	// Args are further arguments of every mongod, such as "--setParameter",
	// "transactionLifetimeLimitSeconds=30". The process list shows them. Arguments for access
	// control leave a set without users, where StepDown is refused.
	Args []string
	// Settings are name=value: parameters of every mongod (--setParameter), or keys of its
	// configuration file, which have dots, such as storage.journal.commitIntervalMs=50. Args
	// override them.
	Settings []string
}

// MinCacheSize is the smallest cache that mongod accepts for WiredTiger, in bytes.
const MinCacheSize = 256 << 20

const (
	maxVoters        = 7 // MongoDB manual, "Replica Set Members"
	defaultOplogSize = 128 << 20
	usualPort        = 27017
)

// ReplicaSet is a replica set on this machine. Data nodes have the numbers from 0 on, then come the
// arbiters, then added nodes. Its methods are safe for concurrent use.
type ReplicaSet struct {
	options Options
	program string
	nodes   server.List[server.Node]
	ports   server.Ports
}

func mongod() server.Program {
	return server.Program{
		Name:    "mongod",
		Folders: []string{"/opt/mongodb*/bin", "/opt/homebrew/opt/mongodb-community*/bin", "/usr/local/opt/mongodb-community*/bin"},
		Get:     "install MongoDB, or run scripts/install-servers.sh mongodb",
	}
}

// Start returns when the set has a primary and all members are in step. The members listen on
// 127.0.0.1, or their machine's address, without Unix sockets. A missing program is a
// *server.MissingError.
func Start(ctx context.Context, o Options) (*ReplicaSet, error) {
	program, err := mongod().Find(o.Programs)
	if err != nil {
		return nil, err
	}
	m := &ReplicaSet{options: o, program: program}
	if err := m.fillIn(); err != nil {
		return nil, fmt.Errorf("start MongoDB: %w", err)
	}
	if err := m.startAll(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start MongoDB: %w", err), m.Close())
	}
	return m, nil
}

func (m *ReplicaSet) fillIn() error {
	o := &m.options
	o.Nodes = cmp.Or(o.Nodes, 3)
	o.CacheSize = cmp.Or(o.CacheSize, MinCacheSize)
	o.OplogSize = cmp.Or(o.OplogSize, defaultOplogSize)
	o.ReplicaSet = cmp.Or(o.ReplicaSet, "rs0")
	if o.Nodes < 1 || o.Arbiters < 0 || o.Nodes+o.Arbiters > maxVoters {
		return fmt.Errorf("%d data nodes and %d arbiters: want at least one data node and at most %d members",
			o.Nodes, o.Arbiters, maxVoters)
	}
	if o.CacheSize < MinCacheSize {
		return fmt.Errorf("a cache of %d bytes: mongod takes at least %d", o.CacheSize, MinCacheSize)
	}
	return o.Make(nil, o.Nodes+o.Arbiters, func(at *machine.Machine) error {
		_, err := m.makeNode(at)
		return err
	})
}

func (m *ReplicaSet) makeNode(at *machine.Machine) (*server.Node, error) {
	node := &server.Node{Number: len(m.nodes.All()), Machine: at, IsError: isError}
	if err := m.options.Place(node, &m.ports, usualPort, "mongod", "mongodb"); err != nil {
		return nil, err
	}
	m.nodes.Add(node)
	return node, nil
}

// isError finds errors (E) and fatal errors (F) in a log (MongoDB manual, "Log Messages",
// severity). After them a mongod that gives up logs a page about its shutdown.
func isError(line string) bool {
	return strings.Contains(line, `"s":"E"`) || strings.Contains(line, `"s":"F"`)
}

func (m *ReplicaSet) isArbiter(node *server.Node) bool {
	return node.Number >= m.options.Nodes && node.Number < m.options.Nodes+m.options.Arbiters
}

func (m *ReplicaSet) start(ctx context.Context, node *server.Node, env ...string) error {
	o := m.options
	args := []string{
		"--replSet", o.ReplicaSet, "--port", strconv.Itoa(node.Port), "--bind_ip", node.Host, "--nounixsocket",
		"--dbpath", node.Dir, "--oplogSize", strconv.FormatInt(max(o.OplogSize>>20, 1), 10),
		// mongod sees the machine's memory, not a limit on the process.
		"--wiredTigerCacheSizeGB", strconv.FormatFloat(float64(o.CacheSize)/(1<<30), 'f', -1, 64),
	}
	parameters, config := settings(node.Settings(o.Settings))
	if len(config) > 0 {
		file := filepath.Join(node.Dir, "mongod.conf")
		if err := os.WriteFile(file, []byte(strings.Join(config, "\n")+"\n"), 0o600); err != nil {
			return err
		}
		args = append(args, "--config", file)
	}
	args = slices.Concat(args, o.Args, parameters)
	if err := node.Spawn(server.ProcessOptions{Program: m.program, Args: args, Env: env}); err != nil {
		return err
	}
	return await(ctx, node, func(helloReply) bool { return true })
}

func await(ctx context.Context, node *server.Node, want func(helloReply) bool) error {
	return node.Await(ctx, func(ctx context.Context) error {
		reply, err := hello(ctx, node)
		if err == nil && !want(reply) {
			err = fmt.Errorf("it answers %+v", reply)
		}
		return err
	})
}

// Address names the original data nodes, from which clients learn of others.
func (m *ReplicaSet) Address() string {
	u := url.URL{Scheme: "mongodb", Host: server.Hosts(m.nodes.All()[:m.options.Nodes]), Path: "/",
		RawQuery: url.Values{"replicaSet": {m.options.ReplicaSet}}.Encode()}
	return u.String()
}

// Nodes are all past and present members, with the arbiters.
func (m *ReplicaSet) Nodes() []*server.Node { return m.nodes.All() }

// Node is member i.
func (m *ReplicaSet) Node(i int) *server.Node { return m.nodes.At(i) }

// Restart starts member i again with env, and returns when it is in step. After Kill that includes
// recovery. A running member first gives its clients 15 seconds to leave (MongoDB manual,
// shutdownTimeoutMillisForSignaledShutdown).
func (m *ReplicaSet) Restart(ctx context.Context, i int, env ...string) error {
	node := m.nodes.At(i)
	return node.Restart(ctx, func(ctx context.Context) error {
		if err := m.start(ctx, node, env...); err != nil {
			return err
		}
		return await(ctx, node, helloReply.inStep)
	})
}

// Close kills all members and removes their folder.
func (m *ReplicaSet) Close() error { return server.Close(m.nodes.All(), m.options.Dir) }
