// Package cassandra runs Cassandra rings as local processes. It must not know how a spec asks for
// them.
package cassandra

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"assay/cluster/server"
)

// Options says how to run a ring. The zero value has three nodes with Cassandra's own settings, in
// temporary folders. There is no access control: every user of this machine can connect.
type Options struct {
	// Layout.Nodes of 0 means three; all have the same share of the ring. Programs, or its lib, holds
	// Cassandra's jars; empty means the folder of server.CacheDir. Nodes without addresses of their
	// own have 127.0.0.1, 127.0.0.2 and so on, since clients tell nodes by their address.
	server.Layout

	Ports *server.Ports
	// Heap is each node's Java heap in bytes, at least MinHeap; 0 means DefaultHeap. A node takes
	// about 350 MiB beside it.
	Heap int64
	// CommitLog is commitlog_sync. By "periodic" (or empty, Cassandra's default) an acknowledged
	// write reaches the disk up to ten seconds later, by "batch" before.
	CommitLog string
	// Settings are further lines of cassandra.yaml, such as "write_request_timeout: 500ms".
	Settings []string
	// Java are further arguments of every node's Java, such as "-XX:TieredStopAtLevel=1". This one
	// saves processor time if a node lives for minutes: most code is never compiled twice.
	Java []string
}

const (
	maxRing = 64
	// MinHeap and DefaultHeap are sizes of a node's Java heap in bytes.
	MinHeap     = 128 << 20
	DefaultHeap = 256 << 20
)

// Values of Options.CommitLog.
const (
	CommitLogPeriodic = "periodic"
	CommitLogBatch    = "batch"
)

// Ring is a ring on this machine, with nodes from 0. Its methods are safe for concurrent use.
type Ring struct {
	options Options
	java    string
	jars    string
	storage int // the port that the nodes use between them
	nodes   []*server.Node
}

// Start returns when each node answers and believes all others alive. It opens only the ports of
// the native protocol and between the nodes, not JMX. The nodes skip the half minute in which a
// ring waits for others. Missing jars, or no Java 17, are a *server.MissingError.
func Start(ctx context.Context, o Options) (*Ring, error) {
	jars, err := findJars(o.Programs)
	if err != nil {
		return nil, err
	}
	java, err := findJava(ctx, javaFolders())
	if err != nil {
		return nil, err
	}
	c := &Ring{options: o, java: java, jars: jars}
	if err := c.fillIn(); err != nil {
		return nil, fmt.Errorf("start Cassandra: %w", err)
	}
	if err := c.startAll(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start Cassandra: %w", err), c.Close())
	}
	return c, nil
}

func (c *Ring) fillIn() (err error) {
	o := &c.options
	o.Nodes = cmp.Or(o.Nodes, 3)
	o.Heap = cmp.Or(o.Heap, DefaultHeap)
	o.CommitLog = cmp.Or(o.CommitLog, CommitLogPeriodic)
	o.Ports = cmp.Or(o.Ports, new(server.Ports))
	switch {
	case o.Nodes < 1 || o.Nodes > maxRing:
		return fmt.Errorf("a ring of %d nodes; want 1 to %d", o.Nodes, maxRing)
	case o.Heap < MinHeap:
		return fmt.Errorf("a heap of %d bytes; want at least %d", o.Heap, MinHeap)
	case o.CommitLog != CommitLogPeriodic && o.CommitLog != CommitLogBatch:
		return fmt.Errorf("commit log %q; want %s or %s", o.CommitLog, CommitLogPeriodic, CommitLogBatch)
	}
	if err := o.Make(nil, 0, nil); err != nil {
		return err
	}
	err = c.makeNodes()
	for _, node := range c.nodes {
		if err == nil {
			err = c.writeFiles(node)
		}
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(o.Dir))
	}
	return nil
}

func (c *Ring) start(ctx context.Context, node *server.Node, further, env []string) error {
	err := node.Spawn(server.ProcessOptions{Program: c.java, Args: c.arguments(node, further), Env: env, StopBound: stopBound})
	if err != nil {
		return err
	}
	return node.Await(ctx, func(ctx context.Context) error {
		_, err := query(ctx, node, gocql.One, "SELECT JSON key FROM system.local")
		return err
	})
}

// Address is the URL of the whole ring.
func (c *Ring) Address() string {
	u := url.URL{Scheme: "cassandra", Host: server.Hosts(c.nodes), Path: "/"}
	return u.String()
}

// Nodes are all nodes.
func (c *Ring) Nodes() []*server.Node { return c.nodes }

// Node is node i.
func (c *Ring) Node(i int) *server.Node { return c.nodes[i] }

// Primary returns a *server.NoPrimaryError.
func (c *Ring) Primary(context.Context) (int, error) {
	return 0, &server.NoPrimaryError{Product: "Cassandra"}
}

// Restart stops node i if it runs, starts it with the same data and address and with env added to
// its environment, and returns when it serves. First it waits about 8 seconds to hear of the
// others, as by Cassandra's default; without that it would refuse its first clients.
func (c *Ring) Restart(ctx context.Context, i int, env ...string) error {
	node := c.nodes[i]
	return node.Restart(ctx, func(ctx context.Context) error {
		if err := c.configure(node); err != nil {
			return err
		}
		return c.start(ctx, node, nil, env)
	})
}

// Close kills all nodes and removes their folder.
func (c *Ring) Close() error { return server.Close(c.nodes, c.options.Dir) }
