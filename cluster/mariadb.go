package cluster

import (
	"cmp"
	"context"
	"crypto/rand"
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

// MariaDBOptions says how to run MariaDB. The zero value gives one node with
// InnoDB as durable as it gets (each commit is on the disk before it is
// answered), without a binary log, in a temporary folder.
type MariaDBOptions struct {
	// Programs is the folder that holds mariadbd and mariadb-install-db; empty
	// means wherever Program.Find finds them.
	Programs string
	// Nodes is how many nodes there are; 0 means 1. From 2 on, at most 9, they
	// are a Galera cluster, of which every node takes writes.
	Nodes int
	// Dir is the private folder of all nodes, new or empty; empty means a
	// temporary one. Close removes it.
	Dir string
	// LogDir is the folder of the logs mariadb-0.log, mariadb-1.log and so on;
	// empty means Dir. If it is given it must exist, and Close leaves it.
	LogDir string
	// Machines are where the nodes live; nil means that all are on 127.0.0.1. A
	// machine with an address of its own has MariaDB's and Galera's usual ports.
	Machines []*machine.Machine
	// Ports gives out the ports on 127.0.0.1; nil means a new set.
	Ports *Ports
	// Password is that of the user "assay", who may do everything; empty means a
	// random one. There is no other user.
	Password string
	// CacheSize is InnoDB's buffer pool on each node, and with MyRocks also
	// RocksDB's block cache, in bytes; 0 means 128 MiB, InnoDB's default.
	CacheSize int64
	// MyRocks loads the storage engine RocksDB on each node. It is refused where
	// the server has no such plugin, and for a Galera cluster, which replicates
	// InnoDB only.
	MyRocks bool
	// Suspect, Inactive and Install are Galera's evs.suspect_timeout,
	// evs.inactive_timeout and evs.install_timeout: how long the others wait for
	// a node that went silent. 0 means Galera's own, 5, 15 and 7.5 seconds.
	Suspect, Inactive, Install time.Duration
	// Settings are server settings as name=value, after ours and so stronger
	// than these. They are visible in the machine's process list.
	Settings []string
}

// The bounds and usual numbers of a cluster.
const (
	maxMariaDBNodes  = 9
	mariadbUser      = "assay"
	defaultPoolSize  = 128 << 20
	minPoolSize      = 8 << 20
	mariadbPort      = 3306
	galeraPort       = 4567
	galeraISTPort    = 4568
	galeraSSTPort    = 4444
	mariadbStopBound = 60 * time.Second
)

// MariaDB is one node or a Galera cluster on this machine. Nodes are counted
// from 0. Its methods are safe for concurrent use.
type MariaDB struct {
	options  MariaDBOptions
	program  string
	user     *User
	provider string // of Galera; empty for a single node
	members[mariaNode]

	// restarting lets one Restart find out who may begin the cluster anew, and
	// begin it. It is taken after a node's mu.
	restarting sync.Mutex
}

type mariaNode struct {
	number  int
	machine *machine.Machine // nil: here
	host    string
	port    int
	// galera, ist and sst are the ports for the group, for catching up with what
	// was missed, and for a whole copy.
	galera, ist, sst int
	dir              string
	log              string

	process atomic.Pointer[Process] // nil until it is first started
	removed atomic.Bool             // no member of the cluster at present

	mu sync.Mutex // lets one Restart work

	spawning sync.Mutex // between the decision to start a process and process
	closed   bool
}

func mariadbProgram() Program {
	return Program{
		Name: "mariadbd",
		Folders: []string{"/usr/sbin", "/usr/libexec", "/usr/local/mysql/bin", "/usr/local/mariadb*/bin",
			"/opt/mariadb*/bin", "/opt/homebrew/opt/mariadb*/bin", "/usr/local/opt/mariadb*/bin"},
		Get: "install MariaDB (apt-get install mariadb-server galera-4 rsync socat, or scripts/install-servers.sh mariadb)",
	}
}

// StartMariaDB makes new databases and starts servers on them; they take writes
// when StartMariaDB returns. They listen on 127.0.0.1, or their machine's
// address; their Unix sockets are in their private folders. As root they run as
// user mysql, or nobody. A missing program is a *MissingError.
func StartMariaDB(ctx context.Context, o MariaDBOptions) (*MariaDB, error) {
	program, err := mariadbProgram().Find(o.Programs)
	if err != nil {
		return nil, err
	}
	m := &MariaDB{options: o, program: program}
	if err := m.fillIn(); err != nil {
		if missing := (*MissingError)(nil); errors.As(err, &missing) {
			return nil, err
		}
		return nil, fmt.Errorf("start MariaDB: %w", err)
	}
	if err := m.startAll(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start MariaDB: %w", err), m.Close())
	}
	return m, nil
}

// fillIn replaces empty options, gives out the ports and makes the folders.
func (m *MariaDB) fillIn() (err error) {
	o := &m.options
	o.Nodes = cmp.Or(o.Nodes, 1)
	o.CacheSize = cmp.Or(o.CacheSize, defaultPoolSize)
	o.Password = cmp.Or(o.Password, rand.Text())
	o.Ports = cmp.Or(o.Ports, new(Ports))
	switch {
	case o.Nodes < 1 || o.Nodes > maxMariaDBNodes:
		return fmt.Errorf("%d nodes: want 1 to %d", o.Nodes, maxMariaDBNodes)
	case o.CacheSize < minPoolSize:
		return fmt.Errorf("a cache of %d bytes: want at least %d", o.CacheSize, minPoolSize)
	case o.MyRocks && o.Nodes > 1:
		return errors.New("MyRocks in a Galera cluster: Galera replicates InnoDB only")
	case strings.ContainsAny(o.Password, "\x00\n\r"):
		return errors.New("a password of more than one line")
	}
	if o.Nodes > 1 {
		if m.provider, err = galeraLibrary(o.Programs); err != nil {
			return err
		}
	}
	if m.user, err = Unprivileged("mysql", "nobody"); err != nil {
		return err
	}
	if o.Dir, err = PrivateDir(o.Dir, m.user); err != nil {
		return err
	}
	o.LogDir = cmp.Or(o.LogDir, o.Dir)
	if err := m.makeNodes(); err != nil {
		return errors.Join(err, os.RemoveAll(o.Dir))
	}
	return nil
}

func (m *MariaDB) makeNodes() error {
	o := m.options
	for i := range o.Nodes {
		var at *machine.Machine
		if i < len(o.Machines) {
			at = o.Machines[i]
		}
		if _, err := m.makeNode(at); err != nil {
			return err
		}
	}
	return nil
}

// makeNode gives one more node its ports and folders; at is nil for here.
func (m *MariaDB) makeNode(at *machine.Machine) (*mariaNode, error) {
	o, i := m.options, len(m.all())
	node := &mariaNode{number: i, machine: at,
		dir: filepath.Join(o.Dir, "node-"+strconv.Itoa(i)),
		log: filepath.Join(o.LogDir, fmt.Sprintf("mariadb-%d.log", i)),
	}
	var machines []*machine.Machine
	if at != nil {
		machines = append(machines, at)
	}
	ports := []struct {
		port  *int
		usual int
	}{{&node.port, mariadbPort}, {&node.galera, galeraPort}, {&node.ist, galeraISTPort}, {&node.sst, galeraSSTPort}}
	if m.provider == "" {
		ports = ports[:1]
	}
	for _, p := range ports {
		place, err := placeNode(machines, 0, o.Ports, p.usual)
		if err != nil {
			return nil, err
		}
		node.host, *p.port = place.host, place.port
	}
	for _, dir := range []string{node.dir, node.data(), node.temporary()} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, err
		}
		if err := m.user.chown(dir); err != nil {
			return nil, err
		}
	}
	m.add(node)
	return node, nil
}

func (n *mariaNode) data() string      { return filepath.Join(n.dir, "data") }
func (n *mariaNode) temporary() string { return filepath.Join(n.dir, "tmp") }
func (n *mariaNode) name() string      { return fmt.Sprintf("mariadbd %d on port %d", n.number, n.port) }
func (n *mariaNode) hostPort() string  { return net.JoinHostPort(n.host, strconv.Itoa(n.port)) }

func (n *mariaNode) running() bool {
	process := n.process.Load()
	return process != nil && process.Running()
}

// Address is the URL of all nodes that the cluster began with, with the user
// and the password.
func (m *MariaDB) Address() string {
	var hosts []string
	for _, node := range m.all()[:m.options.Nodes] {
		hosts = append(hosts, node.hostPort())
	}
	u := url.URL{Scheme: "mysql", User: url.UserPassword(mariadbUser, m.options.Password),
		Host: strings.Join(hosts, ","), Path: "/"}
	if len(hosts) > 1 { // a silent node must not use up the time of a whole call
		u.RawQuery = "connect_timeout=2"
	}
	return u.String()
}

// Nodes is how many nodes there are or were.
func (m *MariaDB) Nodes() int { return len(m.all()) }

// HostPort is node i's own address, as host:port.
func (m *MariaDB) HostPort(i int) string { return m.node(i).hostPort() }

// Log is the path of node i's log.
func (m *MariaDB) Log(i int) string { return m.node(i).log }

// PID is the id of node i's process.
func (m *MariaDB) PID(i int) int { return m.process(i).PID() }

// Kill ends node i as a power cut would; see Process.Kill.
func (m *MariaDB) Kill(i int) error { return m.process(i).Kill() }

// Stop shuts node i down, which leaves its cluster in order; see Process.Stop.
func (m *MariaDB) Stop(ctx context.Context, i int) error { return m.process(i).Stop(ctx) }

// Pause stops node i where it is; see Process.Pause.
func (m *MariaDB) Pause(i int) error { return m.process(i).Pause() }

// Resume lets a paused node go on.
func (m *MariaDB) Resume(i int) error { return m.process(i).Resume() }

func (m *MariaDB) process(i int) *Process { return m.node(i).process.Load() }

// Close kills all nodes, and what they started, and removes their folder.
func (m *MariaDB) Close() error {
	var failed []error
	// A node that is about to start is not waited for: it is killed.
	for _, node := range m.all() {
		failed = append(failed, node.end())
	}
	if errors.Join(failed...) == nil {
		for _, node := range m.all() {
			node.mu.Lock() // whoever was restarting it gives up
			defer node.mu.Unlock()
		}
	}
	return errors.Join(append(failed, os.RemoveAll(m.options.Dir))...)
}

func (n *mariaNode) ended() bool {
	n.spawning.Lock()
	defer n.spawning.Unlock()
	return n.closed
}

// end kills the node and keeps it from being started again.
func (n *mariaNode) end() error {
	n.spawning.Lock()
	n.closed = true
	process := n.process.Load()
	n.spawning.Unlock()
	if process == nil {
		return nil
	}
	return process.Kill()
}
