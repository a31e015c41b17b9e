// Package redis runs Redis as local processes: a single server, a primary with replicas and a
// Sentinel on the machine of each ("High availability with Redis Sentinel", "Example 2: basic setup
// with three boxes"), or a Redis Cluster of primaries with a replica each ("Scale with Redis
// Cluster"). It must not know how a spec asks for them.
package redis

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"assay/cluster/server"
)

// Options says how to run Redis. The zero value is a single server with Redis's own settings, which
// keep snapshots and no append-only file, in temporary folders. There is no access control: every
// user of this machine can connect.
type Options struct {
	// Layout.Nodes of 0 means one; several are a primary and replicas, with a Sentinel each.
	server.Layout

	// Sharded makes a Redis Cluster instead: the first half of the servers are primaries, the others
	// their replicas. Nodes is even and at least six.
	Sharded bool
	// DownAfter is how long the primary may be silent until a Sentinel takes it for down
	// (down-after-milliseconds); 0 means 30 seconds, Redis's default. A failed failover is repeated
	// after twelve times that, because failover-timeout is six times that, as by default. In a Redis
	// Cluster it is cluster-node-timeout for any server, by default 15 seconds.
	DownAfter time.Duration
	// TLS makes servers and Sentinels speak TLS alone. Its zero value means plain text.
	TLS TLS
	// Settings are lines of every server's redis.conf, such as "appendonly yes".
	Settings []string
}

// TLS is PEM files with absolute paths: the certificates of the servers' issuers, and the
// certificate of all servers and Sentinels, for all their hosts, with its key. Clients need no
// certificate.
type TLS struct{ Authority, Certificate, Key string }

const (
	usualPort         = 6379
	usualSentinelPort = 26379
	usualBusPort      = 16379 // of Redis Cluster ("Redis Cluster TCP ports")
	// Service is the primary's name for Sentinels.
	Service = "assay"
)

// Cluster is Redis in one of its three forms. Its methods are safe for concurrent use.
type Cluster struct {
	options   Options
	program   string
	nodes     []*server.Node
	sentinels []*server.Node
	// lines are the configuration of each server but for whose replica it is. empty is true of a
	// server that comes back as a new machine would. Each belongs to its node's Changing.
	lines [][]string
	empty []bool
	ports server.Ports
	// buses are the ports between the servers of a Redis Cluster.
	buses []int
	// encryption is nil without TLS.
	encryption *tls.Config
}

func redisServer() server.Program {
	return server.Program{
		Name: "redis-server", Folders: []string{"/opt/homebrew/opt/redis/bin", "/usr/local/opt/redis/bin"},
		Get: "install Redis, or run scripts/install-servers.sh redis",
	}
}

// Start returns when the replicas are in step and all Sentinels know each other. A missing program
// is a *server.MissingError.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	program, err := redisServer().Find(o.Programs)
	if err != nil {
		return nil, err
	}
	c := &Cluster{options: o, program: program}
	if err := c.fillIn(); err != nil {
		return nil, fmt.Errorf("start Redis: %w", err)
	}
	if err := c.startAll(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start Redis: %w", err), c.Close())
	}
	return c, nil
}

func (t TLS) client() (*tls.Config, error) {
	if t == (TLS{}) {
		return nil, nil
	}
	text, err := os.ReadFile(t.Authority)
	if err != nil {
		return nil, err
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s holds no certificate", t.Authority)
	}
	return &tls.Config{RootCAs: authorities}, nil
}

func (t TLS) lines(port int, sharded bool) []string {
	if t == (TLS{}) {
		return []string{"port " + strconv.Itoa(port)}
	}
	lines := []string{"port 0", "tls-port " + strconv.Itoa(port), "tls-ca-cert-file " + strconv.Quote(t.Authority),
		"tls-cert-file " + strconv.Quote(t.Certificate), "tls-key-file " + strconv.Quote(t.Key), "tls-auth-clients no", "tls-replication yes"}
	if sharded {
		lines = append(lines, "tls-cluster yes")
	}
	return lines
}

func (c *Cluster) fillIn() (err error) {
	o := &c.options
	o.Nodes = cmp.Or(o.Nodes, 1)
	if o.Nodes < 1 || o.Sharded && (o.Nodes < 6 || o.Nodes%2 > 0) {
		return fmt.Errorf("%d servers", o.Nodes)
	}
	if c.encryption, err = o.TLS.client(); err != nil {
		return err
	}
	if err := o.Make(nil, 0, nil); err != nil {
		return err
	}
	// One program is the server and the checkers of its files, and chooses by the name of its call
	// (server.c of release 7.0, main). The found path has its links resolved.
	named := filepath.Join(o.Dir, redisServer().Name)
	err = os.Symlink(c.program, named)
	c.program = named
	for i := 0; i < o.Nodes && err == nil; i++ {
		err = c.makeNode(i)
	}
	for i := 0; i < o.Nodes && o.Nodes > 1 && !o.Sharded && err == nil; i++ {
		err = c.makeSentinel(i)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(o.Dir))
	}
	return nil
}

// makeNode's configuration is rewritten by the server when its role changes (CONFIG REWRITE).
func (c *Cluster) makeNode(i int) error {
	at := server.MachineAt(c.options.Machines, i)
	node := &server.Node{Number: i, Machine: at, IsError: isError}
	if err := c.options.Place(node, &c.ports, usualPort, "redis-server", "redis"); err != nil {
		return err
	}
	lines := c.listening(node)
	if c.options.Sharded {
		_, bus, err := c.ports.For(at, usualBusPort)
		if err != nil {
			return err
		}
		c.buses = append(c.buses, bus)
		lines = append(lines, c.shardLines(bus)...)
	}
	lines = append(lines, c.options.Settings...)
	c.nodes, c.lines, c.empty = append(c.nodes, node), append(c.lines, lines), append(c.empty, false)
	if err := os.Mkdir(data(node), 0o700); err != nil {
		return err
	}
	if i > 0 && !c.options.Sharded {
		return c.configureReplica(i, 0)
	}
	return configure(node, lines)
}

func (c *Cluster) configureReplica(i, primary int) error {
	of := c.nodes[primary]
	return configure(c.nodes[i], append([]string{fmt.Sprintf("replicaof %s %d", of.Host, of.Port)}, c.lines[i]...))
}

// makeSentinel keeps off the server's disk, because a Sentinel survives a cut of its power.
func (c *Cluster) makeSentinel(i int) error {
	at := server.MachineAt(c.options.Machines, i)
	host, port, err := c.ports.For(at, usualSentinelPort)
	if err != nil {
		return err
	}
	node := &server.Node{
		Number: i, Name: fmt.Sprintf("Sentinel %d on port %d", i, port), Machine: at, Host: host, Port: port,
		Dir: filepath.Join(c.options.Dir, "sentinel-"+strconv.Itoa(i)), Log: filepath.Join(c.options.LogDir, fmt.Sprintf("redis-sentinel-%d.log", i)),
		IsError: isError,
	}
	if err := os.Mkdir(node.Dir, 0o700); err != nil {
		return err
	}
	primary := c.nodes[0]
	lines := append(c.listening(node), fmt.Sprintf("sentinel monitor %s %s %d %d", Service, primary.Host, primary.Port, c.options.Nodes/2+1))
	if down := c.options.DownAfter; down > 0 {
		lines = append(lines, fmt.Sprintf("sentinel down-after-milliseconds %s %d", Service, down.Milliseconds()),
			fmt.Sprintf("sentinel failover-timeout %s %d", Service, 6*down.Milliseconds()))
	}
	c.sentinels = append(c.sentinels, node)
	if err := os.Mkdir(data(node), 0o700); err != nil {
		return err
	}
	return configure(node, lines)
}

func (c *Cluster) listening(node *server.Node) []string {
	return append(c.options.TLS.lines(node.Port, c.options.Sharded),
		"bind "+node.Host, "protected-mode no", "daemonize no", `logfile ""`, "dir "+strconv.Quote(data(node)))
}

func configuration(node *server.Node) string { return filepath.Join(node.Dir, "redis.conf") }

func data(node *server.Node) string { return filepath.Join(node.Dir, "data") }

func configure(node *server.Node, lines []string) error {
	return (*server.User)(nil).WriteFile(configuration(node), strings.Join(lines, "\n")+"\n")
}

// isError finds warnings (#) and errors in a configuration in a log (redis.conf, loglevel).
func isError(line string) bool {
	return strings.Contains(line, " # ") || strings.Contains(line, "FATAL")
}

func (c *Cluster) startAll(ctx context.Context) error {
	for _, node := range c.nodes {
		if err := c.start(ctx, node); err != nil {
			return err
		}
	}
	if c.options.Sharded {
		return c.join(ctx)
	}
	for _, node := range c.nodes[1:] {
		if err := node.Await(ctx, func(ctx context.Context) error { return c.linked(ctx, node) }); err != nil {
			return err
		}
	}
	for _, node := range c.sentinels {
		if err := node.Spawn(server.ProcessOptions{Program: c.program, Args: []string{configuration(node), "--sentinel"}}); err != nil {
			return err
		}
	}
	// One that has ended must be reported as such, not as missing to the others.
	group, starting := errgroup.WithContext(ctx)
	for _, node := range c.sentinels {
		group.Go(func() error {
			return node.Await(starting, func(ctx context.Context) error { return c.informed(ctx, node) })
		})
	}
	return group.Wait()
}

// stopAgain repeats SIGTERM: a server that writes its first append-only file, as after a full copy,
// refuses the signal and goes on (redis.conf, "shutdown-on-sigterm").
const stopAgain = time.Second

func (c *Cluster) start(ctx context.Context, node *server.Node, env ...string) error {
	if err := node.Spawn(server.ProcessOptions{Program: c.program, Args: []string{configuration(node)}, Env: env, StopAgain: stopAgain}); err != nil {
		return err
	}
	return node.Await(ctx, func(ctx context.Context) error { return c.loaded(ctx, node) })
}

// Address is the URL of the server, of the Sentinels, or of all servers of a Redis Cluster.
func (c *Cluster) Address() string {
	scheme, trusting := "redis", ""
	if c.encryption != nil {
		scheme, trusting = "rediss", "?tlsCAFile="+url.QueryEscape(c.options.TLS.Authority)
	}
	switch {
	case c.options.Sharded:
		return scheme + "+cluster://" + server.Hosts(c.nodes) + "/" + trusting
	case len(c.sentinels) == 0:
		return scheme + "://" + c.nodes[0].Address() + "/" + trusting
	}
	return scheme + "+sentinel://" + server.Hosts(c.sentinels) + "/" + Service + trusting
}

// Node is server i.
func (c *Cluster) Node(i int) *server.Node { return c.nodes[i] }

// Sentinel is the Sentinel on the machine of server i.
func (c *Cluster) Sentinel(i int) *server.Node { return c.sentinels[i] }

// Restart starts server i again with env, and returns when it is the primary or in step with it.
// A former primary takes itself for the primary until the Sentinels make it a replica. A server that
// was emptied (Forget) is started as the replica of the primary that they have chosen.
func (c *Cluster) Restart(ctx context.Context, i int, env ...string) error {
	node := c.nodes[i]
	return node.Restart(ctx, func(ctx context.Context) error {
		if err := c.joinOthers(ctx, i); err != nil {
			return err
		}
		if err := c.start(ctx, node, env...); err != nil {
			return err
		}
		switch {
		case len(c.nodes) == 1:
			return nil
		case c.options.Sharded:
			return node.Await(ctx, func(ctx context.Context) error { return c.takesPart(ctx, i) })
		}
		err := node.Await(ctx, func(ctx context.Context) error {
			primary, err := c.primaryBySentinels(ctx)
			if err != nil || primary == i {
				return err
			}
			return c.linked(ctx, node)
		})
		c.empty[i] = c.empty[i] && err != nil
		return err
	})
}

// Close kills all servers and Sentinels and removes their folder.
func (c *Cluster) Close() error {
	return server.Close(append(c.nodes[:len(c.nodes):len(c.nodes)], c.sentinels...), c.options.Dir)
}
