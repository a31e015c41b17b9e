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
	"time"

	"assay/cluster/machine"
)

// MongoDBOptions says how to run a replica set. The zero value gives three
// data nodes with MongoDB's own timing, in temporary folders. There is no access
// control: whoever is on this machine can connect.
type MongoDBOptions struct {
	// Programs is the folder that holds mongod; empty means wherever
	// Program.Find finds it.
	Programs string
	// Nodes is how many members hold data; 0 means 3. One is enough for
	// transactions.
	Nodes int
	// Arbiters is how many members only vote. Nodes and Arbiters together are
	// at most 7, the most that may vote.
	Arbiters int
	// Dir is the private folder of all nodes, new or empty; empty means a
	// temporary one. Close removes it.
	Dir string
	// LogDir is the folder of the logs mongodb-0.log, mongodb-1.log and so on;
	// empty means Dir. If it is given it must exist, and Close leaves it.
	LogDir string
	// Machines are where the members live, data nodes first; nil means that all
	// are on 127.0.0.1. A machine with an address of its own has MongoDB's usual
	// port.
	Machines []*machine.Machine
	// Ports gives out the ports on 127.0.0.1; nil means a new set.
	Ports *Ports
	// ReplicaSet is the set's name; empty means "rs0".
	ReplicaSet string
	// ElectionTimeout is how long the set does without a primary before it
	// elects another (settings.electionTimeoutMillis); 0 means MongoDB's
	// default, 10 seconds.
	ElectionTimeout time.Duration
	// Heartbeat is the interval at which members look after one another
	// (settings.heartbeatIntervalMillis); 0 means the default, 2 seconds.
	Heartbeat time.Duration
	// CacheSize is WiredTiger's cache on each node in bytes, at least 256 MiB;
	// 0 means 256 MiB. MongoDB's own default is half of the machine, for every
	// node.
	CacheSize int64
	// OplogSize is the size of the oplog in bytes; 0 means 128 MiB.
	OplogSize int64
	// Args are further arguments of every mongod, such as "--setParameter",
	// "transactionLifetimeLimitSeconds=30". They are visible in the machine's
	// process list. Arguments that turn access control on leave a set without
	// users; StepDown is then refused.
	Args []string
}

// The bounds and sizes of a replica set.
const (
	maxVoters        = 7 // MongoDB manual, "Replica Set Members"
	minCacheSize     = 256 << 20
	defaultOplogSize = 128 << 20
)

// MongoDB is a replica set on this machine. Data nodes have the numbers from 0
// on, arbiters follow. Its methods are safe for concurrent use.
type MongoDB struct {
	options MongoDBOptions
	program string
	members[mongoNode]
}

type mongoNode struct {
	number  int
	machine *machine.Machine // nil: here
	host    string
	port    int
	dir     string
	log     string
	arbiter bool

	process atomic.Pointer[Process] // nil until it is first started
	removed atomic.Bool             // no member of the set at present

	mu     sync.Mutex // lets one of Restart and Close work
	closed bool
}

func mongodProgram() Program {
	return Program{
		Name:    "mongod",
		Folders: []string{"/opt/mongodb*/bin", "/opt/homebrew/opt/mongodb-community*/bin", "/usr/local/opt/mongodb-community*/bin"},
		Get:     "install MongoDB, or run scripts/install-servers.sh mongodb",
	}
}

// StartMongoDB starts the members, makes them a replica set, and returns when
// it has a primary and all members are in step. The members listen on
// 127.0.0.1, or their machine's address, without Unix sockets. A missing program is a *MissingError.
func StartMongoDB(ctx context.Context, o MongoDBOptions) (*MongoDB, error) {
	program, err := mongodProgram().Find(o.Programs)
	if err != nil {
		return nil, err
	}
	m := &MongoDB{options: o, program: program}
	if err := m.fillIn(); err != nil {
		return nil, fmt.Errorf("start MongoDB: %w", err)
	}
	if err := m.startAll(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start MongoDB: %w", err), m.Close())
	}
	return m, nil
}

// fillIn replaces empty options, gives out the ports and makes the folders.
func (m *MongoDB) fillIn() (err error) {
	o := &m.options
	o.Nodes = cmp.Or(o.Nodes, 3)
	o.CacheSize = cmp.Or(o.CacheSize, minCacheSize)
	o.OplogSize = cmp.Or(o.OplogSize, defaultOplogSize)
	o.ReplicaSet = cmp.Or(o.ReplicaSet, "rs0")
	o.Ports = cmp.Or(o.Ports, new(Ports))
	if o.Nodes < 1 || o.Arbiters < 0 || o.Nodes+o.Arbiters > maxVoters {
		return fmt.Errorf("%d data nodes and %d arbiters: want at least one data node and at most %d members",
			o.Nodes, o.Arbiters, maxVoters)
	}
	if o.CacheSize < minCacheSize {
		return fmt.Errorf("a cache of %d bytes: mongod takes at least %d", o.CacheSize, minCacheSize)
	}
	if o.Dir, err = PrivateDir(o.Dir, nil); err != nil {
		return err
	}
	o.LogDir = cmp.Or(o.LogDir, o.Dir)
	if err := m.makeNodes(); err != nil {
		return errors.Join(err, os.RemoveAll(o.Dir))
	}
	return nil
}

func (m *MongoDB) makeNodes() error {
	o := m.options
	for i := range o.Nodes + o.Arbiters {
		at, err := placeNode(o.Machines, i, o.Ports, mongodbPort)
		if err != nil {
			return err
		}
		if _, err := m.makeNode(at, i >= o.Nodes); err != nil {
			return err
		}
	}
	return nil
}

// makeNode makes one more member's folder; the member is not started.
func (m *MongoDB) makeNode(at where, arbiter bool) (*mongoNode, error) {
	i := len(m.all())
	node := &mongoNode{
		number: i, machine: at.machine, host: at.host, port: at.port, arbiter: arbiter,
		dir: filepath.Join(m.options.Dir, "node-"+strconv.Itoa(i)),
		log: filepath.Join(m.options.LogDir, fmt.Sprintf("mongodb-%d.log", i)),
	}
	if err := os.Mkdir(node.dir, 0o700); err != nil {
		return nil, err
	}
	m.add(node)
	return node, nil
}

// start starts one member and waits until it answers. node.mu is held, or
// nobody else has m yet.
func (m *MongoDB) start(ctx context.Context, node *mongoNode, env ...string) error {
	o := m.options
	args := []string{
		"--replSet", o.ReplicaSet, "--port", strconv.Itoa(node.port), "--bind_ip", node.host, "--nounixsocket",
		"--dbpath", node.dir, "--oplogSize", strconv.FormatInt(max(o.OplogSize>>20, 1), 10),
		// mongod sees the machine's memory, not a limit set on the process.
		"--wiredTigerCacheSizeGB", strconv.FormatFloat(float64(o.CacheSize)/(1<<30), 'f', -1, 64),
	}
	process, err := StartProcess(ProcessOptions{
		Name: node.name(), Program: m.program, Args: append(args, o.Args...), Env: env, Dir: node.dir, Log: node.log,
		Machine: node.machine,
	})
	if err != nil {
		return err
	}
	node.process.Store(process)
	return node.await(ctx, func(helloReply) bool { return true })
}

// await asks a member who it is until the answer is as wanted.
func (n *mongoNode) await(ctx context.Context, want func(helloReply) bool) error {
	process := n.process.Load()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		reply, err := n.hello(ctx)
		if err == nil && want(reply) {
			return nil
		}
		select {
		case <-process.Exited():
			return ended(process)
		case <-ctx.Done():
			if err == nil {
				err = fmt.Errorf("it says %+v", reply)
			}
			return fmt.Errorf("wait for %s: %w (%v); its log ends with:\n%s",
				n.name(), ctx.Err(), err, process.Tail(10))
		case <-ticker.C:
		}
	}
}

func (n *mongoNode) name() string { return fmt.Sprintf("mongod %d on port %d", n.number, n.port) }

func (n *mongoNode) hostPort() string {
	return net.JoinHostPort(n.host, strconv.Itoa(n.port))
}

// ended describes an end that nobody asked for. A mongod that gives up logs
// the reason and then a page about its shutdown; so errors (E) and fatal ones
// (F) are repeated (MongoDB manual, "Log Messages", severity).
func ended(process *Process) error {
	var reasons []string
	for line := range strings.Lines(process.Tail(300)) {
		if strings.Contains(line, `"s":"E"`) || strings.Contains(line, `"s":"F"`) {
			reasons = append(reasons, strings.TrimSpace(line))
		}
	}
	if len(reasons) == 0 {
		return process.Ended()
	}
	const most = 5
	reasons = reasons[max(len(reasons)-most, 0):]
	return fmt.Errorf("%w\nerrors in it:\n%s", process.Ended(), strings.Join(reasons, "\n"))
}

// Address is the URL of the whole set. It names the data nodes that the set
// began with; clients hear of the others from them.
func (m *MongoDB) Address() string {
	var hosts []string
	for _, node := range m.all()[:m.options.Nodes] {
		hosts = append(hosts, node.hostPort())
	}
	u := url.URL{Scheme: "mongodb", Host: strings.Join(hosts, ","), Path: "/",
		RawQuery: url.Values{"replicaSet": {m.options.ReplicaSet}}.Encode()}
	return u.String()
}

// Nodes is how many members there are or were, arbiters included.
func (m *MongoDB) Nodes() int { return len(m.all()) }

// HostPort is member i's own address, as host:port.
func (m *MongoDB) HostPort(i int) string { return m.node(i).hostPort() }

// Log is the path of member i's log.
func (m *MongoDB) Log(i int) string { return m.node(i).log }

// PID is the id of member i's process.
func (m *MongoDB) PID(i int) int { return m.process(i).PID() }

// Kill ends member i as a power cut would; see Process.Kill.
func (m *MongoDB) Kill(i int) error { return m.process(i).Kill() }

// Pause stops member i where it is; see Process.Pause.
func (m *MongoDB) Pause(i int) error { return m.process(i).Pause() }

// Resume lets a paused member go on.
func (m *MongoDB) Resume(i int) error { return m.process(i).Resume() }

func (m *MongoDB) process(i int) *Process { return m.node(i).process.Load() }

// Restart stops member i if it runs, starts it again with the same data and
// port, with env added to its environment, and returns when it has its part in the set again, which after Kill
// takes as long as recovery. A running member that is stopped gives its clients
// 15 seconds to leave (MongoDB manual, shutdownTimeoutMillisForSignaledShutdown).
func (m *MongoDB) Restart(ctx context.Context, i int, env ...string) error {
	node := m.node(i)
	node.mu.Lock()
	defer node.mu.Unlock()
	if err := m.startAgain(ctx, node, env...); err != nil {
		return fmt.Errorf("restart %s: %w", node.name(), err)
	}
	return node.await(ctx, helloReply.inStep)
}

// startAgain stops the member if it runs and starts it with its data. node.mu
// is held.
func (m *MongoDB) startAgain(ctx context.Context, node *mongoNode, env ...string) error {
	if node.closed {
		return os.ErrClosed
	}
	if err := node.process.Load().Stop(ctx); err != nil {
		return err
	}
	return m.start(ctx, node, env...)
}

// Close kills all members and removes their folder.
func (m *MongoDB) Close() error {
	var failed []error
	for _, node := range m.all() {
		failed = append(failed, node.close())
	}
	return errors.Join(append(failed, os.RemoveAll(m.options.Dir))...)
}

func (n *mongoNode) close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	if process := n.process.Load(); process != nil {
		return process.Kill()
	}
	return nil
}
