// Package mysql runs MySQL as local processes: single servers, groups that elect a primary (Group
// Replication), and sets of a primary with replicas, which are never promoted (package binlog). It
// must not know how a spec asks for them.
package mysql

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"assay/cluster/binlog"
	"assay/cluster/machine"
	"assay/cluster/server"
)

// Replication is the kind of replication among several servers.
type Replication int

const (
	// Group is Group Replication in single-primary mode: the members elect the primary, and a commit
	// waits for the agreement of a majority.
	Group Replication = iota
	Semisync
	Asynchronous
)

// Options says how to run MySQL. The zero value is one node with MySQL's own defaults, by which a
// commit waits for the disk, in a temporary folder.
type Options struct {
	server.Layout // one node, if it does not say, and 9 at most

	Replication Replication
	// Password is for the only login, "assay", who has all rights; empty means a random one.
	Password string
	// CacheSize is InnoDB's buffer pool on each node, in bytes; 0 means 128 MiB, InnoDB's default.
	CacheSize int64
	// Expel is how long a group waits for a suspected member
	// (group_replication_member_expel_timeout, in whole seconds), after the five seconds of silence
	// that make it suspected; nil means MySQL's default, 5 s. MySQL looks at a suspicion at its
	// beginning and then every 15 s, so 1 to 14 s become 16.
	Expel *time.Duration
	// Settings are name=value and override ours. The process list shows them.
	Settings []string
	// Announce hears what the cluster does by itself, such as beginning a group anew. It must not
	// block. Nil discards all.
	Announce func(text string)
}

// MinPoolSize is InnoDB's smallest buffer pool, in bytes.
const MinPoolSize = 8 << 20

const (
	maxNodes        = 9
	defaultPoolSize = 128 << 20
	usualPort       = 3306
	usualGroupPort  = 33061
	stopBound       = 60 * time.Second
	// askBound limits a small question to a serving node.
	askBound = time.Second
)

// Cluster is one server or a group, with nodes from 0, safe for concurrent use.
type Cluster struct {
	options Options
	program string
	login   binlog.Login
	nodes   []*member
	ports   server.Ports

	alive    context.Context // ends with Close
	end      context.CancelFunc
	routines sync.WaitGroup
	closing  sync.Once
	closed   error
	announce func(text string) // nobody is told before all nodes are in step
	told     string            // by announceOnce; of tend alone
}

// member is one server. group is its port for the other members.
type member struct {
	*server.Node
	group   int
	joining sync.Mutex // held by who has it join, or look after itself
}

func mysqld() server.Program {
	return server.Program{
		Name: "mysqld",
		Folders: []string{"/usr/sbin", "/usr/libexec", "/usr/local/mysql/bin", "/opt/mysql*/bin",
			"/opt/homebrew/opt/mysql*/bin", "/usr/local/opt/mysql*/bin"},
		// MariaDB has a link of this name to its own server.
		Is:  func(path string) bool { return filepath.Base(path) == "mysqld" },
		Get: "install MySQL (scripts/install-servers.sh mysql)",
	}
}

// Start makes new databases and starts a single server, or a group, on them; see StartSet for
// replicas. They take writes when Start returns. They listen on 127.0.0.1, or their machine's
// address, with Unix sockets in their private folders. A missing program is a *server.MissingError.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	m, err := prepare(o)
	if err != nil {
		return nil, err
	}
	if err := m.startAll(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start MySQL: %w", err), m.Close())
	}
	return m, nil
}

// StartSet starts a primary with replicas.
func StartSet(ctx context.Context, o Options) (*binlog.Set, error) {
	if o.Replication == Group {
		return nil, errors.New("start MySQL with replicas: a group leads itself")
	}
	m, err := prepare(o)
	if err != nil {
		return nil, err
	}
	set, err := binlog.Start(ctx, binlog.Options{
		Nodes: m.Nodes(), Dialect: binlog.MySQL(), Login: m.login, Dir: m.options.Dir,
		Start: func(ctx context.Context, i int, env []string) error { return m.start(ctx, m.nodes[i], env) },
	})
	if err != nil {
		return nil, fmt.Errorf("start MySQL with replicas: %w", err)
	}
	return set, nil
}

func prepare(o Options) (*Cluster, error) {
	program, err := mysqld().Find(o.Programs)
	if err != nil {
		return nil, err
	}
	m := &Cluster{options: o, program: program, announce: func(string) {}}
	if err := m.fillIn(); err != nil {
		return nil, fmt.Errorf("start MySQL: %w", err)
	}
	m.alive, m.end = context.WithCancel(context.Background())
	return m, nil
}

func (m *Cluster) fillIn() (err error) {
	o := &m.options
	o.Nodes = cmp.Or(o.Nodes, 1)
	o.CacheSize = cmp.Or(o.CacheSize, defaultPoolSize)
	if m.login, err = binlog.NewLogin(o.Password); err != nil {
		return err
	}
	switch {
	case o.Nodes < 1 || o.Nodes > maxNodes:
		return fmt.Errorf("%d nodes: want 1 to %d", o.Nodes, maxNodes)
	case o.CacheSize < MinPoolSize:
		return fmt.Errorf("a cache of %d bytes: want at least %d", o.CacheSize, MinPoolSize)
	}
	return o.Make(nil, o.Nodes, m.makeNode)
}

func (m *Cluster) makeNode(at *machine.Machine) (err error) {
	n := &member{Node: &server.Node{Number: len(m.nodes), Machine: at, IsError: binlog.IsError}}
	if err := m.options.Place(n.Node, &m.ports, usualPort, "mysqld", "mysql"); err != nil {
		return err
	}
	if _, n.group, err = m.ports.For(at, usualGroupPort); err != nil {
		return err
	}
	if err := os.Mkdir(n.temporary(), 0o700); err != nil {
		return err
	}
	m.nodes = append(m.nodes, n)
	return nil
}

func (n *member) data() string      { return filepath.Join(n.Dir, "data") }
func (n *member) temporary() string { return filepath.Join(n.Dir, "tmp") }

// Nodes are all nodes.
func (m *Cluster) Nodes() []*server.Node {
	var all []*server.Node
	for _, n := range m.nodes {
		all = append(all, n.Node)
	}
	return all
}

func (m *Cluster) grouped() bool { return len(m.nodes) > 1 && m.options.Replication == Group }

// Address is the URL of all nodes, with user and password.
func (m *Cluster) Address() string { return m.login.Address(m.Nodes()) }

// Node is node i.
func (m *Cluster) Node(i int) *server.Node { return m.nodes[i].Node }

// Close kills all nodes with their descendants and removes their folder.
func (m *Cluster) Close() error {
	m.closing.Do(func() {
		m.end()
		m.closed = server.Close(m.Nodes(), m.options.Dir) // before the routines, which may wait for an answer
		m.routines.Wait()
	})
	return m.closed
}
