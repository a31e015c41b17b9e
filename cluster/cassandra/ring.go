// Package cassandra runs Cassandra rings as local processes.
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

// Options says how to run a ring. The zero value gives three nodes
// with Cassandra's own settings, in temporary folders. There is no access
// control: whoever is on this machine can connect.
type Options struct {
	// Layout has three nodes, if it does not say, each with the same share of the ring. Programs
	// holds Cassandra's jars, itself or in a lib below it; empty means the folder of
	// server.CacheDir. Without machines of their own addresses nodes have 127.0.0.1, 127.0.0.2
	// and so on, since clients tell nodes by their address.
	server.Layout

	// Ports gives out the ports of nodes on the loopback interface; nil means a
	// new set.
	Ports *server.Ports
	// Heap is each node's Java heap in bytes, at least 128 MiB; 0 means 256 MiB.
	// A node takes about 350 MiB beside it.
	Heap int64
	// CommitLog is Cassandra's commitlog_sync: "periodic", or empty, is its
	// default, by which an acknowledged write reaches the disk up to ten seconds
	// later; "batch" writes it before.
	CommitLog string
	// Settings are further lines of cassandra.yaml, such as
	// "write_request_timeout: 500ms".
	Settings []string
	// Java are further arguments of every node's Java, such as
	// "-XX:TieredStopAtLevel=1", with which a node that lives for minutes takes
	// less of the processors: most of its code is never compiled twice.
	Java []string
}

// The bounds of a ring.
const (
	maxRing = 64
	// MinHeap is the smallest Java heap of a node in bytes, DefaultHeap what it
	// is if nothing is asked for.
	MinHeap     = 128 << 20
	DefaultHeap = 256 << 20
)

// Values of Options.CommitLog.
const (
	CommitLogPeriodic = "periodic"
	CommitLogBatch    = "batch"
)

// Ring is a ring on this machine. Nodes are counted from 0. Its methods are safe
// for concurrent use.
type Ring struct {
	options Options
	java    string
	jars    string
	storage int // the port that the nodes use between them
	nodes   []*server.Node
}

// Start starts the nodes at once and returns when each of them answers and sees
// all others alive. Only the ports of the native protocol and of the nodes between
// them are open, not JMX. The nodes begin quickly, without the half minute in
// which a ring waits for others to be heard of. Missing jars, or no Java 17, are a
// *server.MissingError.
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

// fillIn replaces empty options, gives out the ports and makes the folders.
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

// start starts one node and waits until it answers.
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

// Restart stops node i if it runs, starts it again with the same data and
// address, with env added to its environment, and returns when it serves. Before
// that it takes Cassandra's own time to hear of the others, about 8 seconds:
// without it, it would refuse its first clients.
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
