package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"assay/cluster/machine"
)

// CassandraOptions says how to run a ring. The zero value gives three nodes
// with Cassandra's own settings, in temporary folders. There is no access
// control: whoever is on this machine can connect.
type CassandraOptions struct {
	// Programs is the folder that holds Cassandra's jars, itself or in a lib
	// below it; empty means the folder of CacheDir, which
	// scripts/install-servers.sh fills.
	Programs string
	// Nodes is how many there are; 0 means 3. Each has the same share of the
	// ring.
	Nodes int
	// Dir is the private folder of all nodes, new or empty; empty means a
	// temporary one. Close removes it.
	Dir string
	// LogDir is the folder of the logs cassandra-0.log, cassandra-1.log and so
	// on; empty means Dir. If it is given it must exist, and Close leaves it.
	LogDir string
	// Machines are where the nodes live. Those with an address of their own
	// have Cassandra's usual ports. Nil, or machines on the loopback interface,
	// mean that the nodes have the addresses 127.0.0.1, 127.0.0.2 and so on,
	// since clients tell nodes by their address.
	Machines []*machine.Machine
	// Ports gives out the ports of nodes on the loopback interface; nil means a
	// new set.
	Ports *Ports
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
}

// The bounds of a ring.
const (
	maxRing     = 64
	minHeap     = 128 << 20
	defaultHeap = 256 << 20
)

// Values of CassandraOptions.CommitLog.
const (
	commitLogPeriodic = "periodic"
	commitLogBatch    = "batch"
)

// Cassandra is a ring on this machine. Its methods are safe for concurrent use.
type Cassandra struct {
	options CassandraOptions
	java    string
	jars    string
	storage int // the port that the nodes use between them
	nodes   []*cassandraNode
}

type cassandraNode struct {
	number  int
	machine *machine.Machine // nil: here
	host    string
	port    int // of the native protocol
	dir     string
	log     string

	process atomic.Pointer[Process] // nil until it is first started

	mu     sync.Mutex // lets one of Restart and Close work
	closed bool
}

// StartCassandra starts the nodes at once and returns when each of them answers
// and sees all others alive. Only the ports of the native protocol and of the
// nodes between them are open, not JMX. The nodes begin quickly, without the
// half minute in which a ring waits for others to be heard of. Missing jars, or
// no Java 17, are a *MissingError.
func StartCassandra(ctx context.Context, o CassandraOptions) (*Cassandra, error) {
	jars, err := findCassandra(o.Programs)
	if err != nil {
		return nil, err
	}
	java, err := findJava(ctx, javaFolders())
	if err != nil {
		return nil, err
	}
	c := &Cassandra{options: o, java: java, jars: jars}
	if err := c.fillIn(); err != nil {
		return nil, fmt.Errorf("start Cassandra: %w", err)
	}
	if err := c.startAll(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start Cassandra: %w", err), c.Close())
	}
	return c, nil
}

// fillIn replaces empty options, gives out the ports and makes the folders.
func (c *Cassandra) fillIn() (err error) {
	o := &c.options
	o.Nodes = cmp.Or(o.Nodes, 3)
	o.Heap = cmp.Or(o.Heap, defaultHeap)
	o.CommitLog = cmp.Or(o.CommitLog, commitLogPeriodic)
	o.Ports = cmp.Or(o.Ports, new(Ports))
	switch {
	case o.Nodes < 1 || o.Nodes > maxRing:
		return fmt.Errorf("a ring of %d nodes; want 1 to %d", o.Nodes, maxRing)
	case o.Heap < minHeap:
		return fmt.Errorf("a heap of %d bytes; want at least %d", o.Heap, minHeap)
	case o.CommitLog != commitLogPeriodic && o.CommitLog != commitLogBatch:
		return fmt.Errorf("commit log %q; want %s or %s", o.CommitLog, commitLogPeriodic, commitLogBatch)
	}
	if o.Dir, err = PrivateDir(o.Dir, nil); err != nil {
		return err
	}
	o.LogDir = cmp.Or(o.LogDir, o.Dir)
	if err := c.makeNodes(); err != nil {
		return errors.Join(err, os.RemoveAll(o.Dir))
	}
	return nil
}

func (c *Cassandra) makeNodes() error {
	places, err := c.places()
	if err != nil {
		return err
	}
	for i, at := range places {
		node := &cassandraNode{
			number: i, machine: at.machine, host: at.host, port: at.port,
			dir: filepath.Join(c.options.Dir, "node-"+strconv.Itoa(i)),
			log: filepath.Join(c.options.LogDir, fmt.Sprintf("cassandra-%d.log", i)),
		}
		c.nodes = append(c.nodes, node)
	}
	for _, node := range c.nodes {
		if err := c.writeFiles(node); err != nil {
			return err
		}
	}
	return nil
}

// start starts one node and waits until it answers. node.mu is held, or nobody
// else has c yet.
func (c *Cassandra) start(ctx context.Context, node *cassandraNode, further, env []string) error {
	process, err := StartProcess(ProcessOptions{
		Name: node.name(), Program: c.java, Args: c.arguments(node, further), Env: env, Dir: node.dir, Log: node.log,
		Machine: node.machine, StopBound: stopBound,
	})
	if err != nil {
		return err
	}
	node.process.Store(process)
	return node.await(ctx, func(ctx context.Context) error {
		_, err := node.query(ctx, consistencyOne, "SELECT JSON key FROM system.local")
		return err
	})
}

func (n *cassandraNode) name() string {
	return fmt.Sprintf("Cassandra %d on %s", n.number, n.hostPort())
}

func (n *cassandraNode) hostPort() string { return net.JoinHostPort(n.host, strconv.Itoa(n.port)) }

// Address is the URL of the whole ring.
func (c *Cassandra) Address() string {
	var hosts []string
	for _, node := range c.nodes {
		hosts = append(hosts, node.hostPort())
	}
	u := url.URL{Scheme: "cassandra", Host: strings.Join(hosts, ","), Path: "/"}
	return u.String()
}

// Nodes is how many nodes there are.
func (c *Cassandra) Nodes() int { return len(c.nodes) }

// HostPort is node i's own address, as host:port.
func (c *Cassandra) HostPort(i int) string { return c.nodes[i].hostPort() }

// Log is the path of node i's log.
func (c *Cassandra) Log(i int) string { return c.nodes[i].log }

// PID is the id of node i's process.
func (c *Cassandra) PID(i int) int { return c.process(i).PID() }

// Kill ends node i as a power cut would; see Process.Kill.
func (c *Cassandra) Kill(i int) error { return c.process(i).Kill() }

// Pause stops node i where it is; see Process.Pause.
func (c *Cassandra) Pause(i int) error { return c.process(i).Pause() }

// Resume lets a paused node go on.
func (c *Cassandra) Resume(i int) error { return c.process(i).Resume() }

// Stop ends node i in order: it tells the others, writes its tables to the disk
// and goes.
func (c *Cassandra) Stop(ctx context.Context, i int) error { return c.process(i).Stop(ctx) }

func (c *Cassandra) process(i int) *Process { return c.nodes[i].process.Load() }

// Restart stops node i if it runs, starts it again with the same data and
// address, with env added to its environment, and returns when it serves. Before
// that it takes Cassandra's own time to hear of the others, about 8 seconds:
// without it, it would refuse its first clients.
func (c *Cassandra) Restart(ctx context.Context, i int, env ...string) error {
	node := c.nodes[i]
	node.mu.Lock()
	defer node.mu.Unlock()
	if node.closed {
		return fmt.Errorf("restart %s: %w", node.name(), os.ErrClosed)
	}
	if err := node.process.Load().Stop(ctx); err != nil {
		return err
	}
	if err := c.start(ctx, node, nil, env); err != nil {
		return fmt.Errorf("restart %s: %w", node.name(), err)
	}
	return nil
}

// Close kills all nodes and removes their folder.
func (c *Cassandra) Close() error {
	var failed []error
	for _, node := range c.nodes {
		failed = append(failed, node.close())
	}
	return errors.Join(append(failed, os.RemoveAll(c.options.Dir))...)
}

func (n *cassandraNode) close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	if process := n.process.Load(); process != nil {
		return process.Kill()
	}
	return nil
}
