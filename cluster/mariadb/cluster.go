// Package mariadb runs MariaDB as local processes: single servers, Galera clusters, and sets of a
// primary with replicas, which are never promoted (package binlog). It must not know how a spec
// asks for them.
package mariadb

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
	// Galera has all nodes take writes; a commit waits until all nodes have it.
	Galera Replication = iota
	Semisync
	Asynchronous
)

// Options says how to run MariaDB. The zero value is one node whose commits wait for the disk,
// without a binary log, in a temporary folder.
type Options struct {
	server.Layout // one node, if it does not say, and 9 at most

	Replication Replication
	// Password is for the only user, "assay", who has all rights; empty means a random one.
	Password string
	// CacheSize is InnoDB's buffer pool on each node, and with MyRocks also RocksDB's block cache,
	// in bytes; 0 means 128 MiB, InnoDB's default.
	CacheSize int64
	// MyRocks loads the storage engine RocksDB. Start refuses it if the server has no such plugin,
	// and for Galera, which replicates InnoDB only.
	MyRocks bool
	// Suspect, Inactive and Install are Galera's evs.suspect_timeout, evs.inactive_timeout and
	// evs.install_timeout, its waits for a silent node. 0 means its defaults: 5, 15 and 7.5 seconds.
	Suspect, Inactive, Install time.Duration
	// Settings are name=value and override ours. The process list shows them.
	Settings []string
}

// MinPoolSize is InnoDB's smallest buffer pool, in bytes.
const MinPoolSize = 8 << 20

const (
	maxNodes        = 9
	defaultPoolSize = 128 << 20
	usualPort       = 3306
	galeraPort      = 4567
	galeraISTPort   = 4568
	galeraSSTPort   = 4444
	stopBound       = 60 * time.Second
)

// Cluster is one server or a Galera cluster, with nodes from 0, safe for concurrent use.
type Cluster struct {
	options  Options
	program  string
	login    binlog.Login
	user     *server.User
	provider string // of Galera; empty for a single server
	nodes    server.List[member]
	ports    server.Ports

	// restarting lets one Restart at a time decide who begins the cluster anew. It is taken after a
	// node's Changing.
	restarting sync.Mutex
}

// member is one server, with its ports for the group, for missed transactions (ist) and copies
// (sst).
type member struct {
	*server.Node
	galera, ist, sst int

	// found is the position in the data that the process looked has left; looked is nil before. They
	// belong to Cluster.restarting.
	looked *server.Process
	found  position
}

func mariadbd() server.Program {
	return server.Program{
		Name: "mariadbd",
		Folders: []string{"/usr/sbin", "/usr/libexec", "/usr/local/mysql/bin", "/usr/local/mariadb*/bin",
			"/opt/mariadb*/bin", "/opt/homebrew/opt/mariadb*/bin", "/usr/local/opt/mariadb*/bin"},
		Get: "install MariaDB (apt-get install mariadb-server galera-4 rsync socat, or scripts/install-servers.sh mariadb)",
	}
}

// Start makes new databases and starts a single server, or a Galera cluster, on them; see StartSet
// for replicas. They take writes when Start returns. They listen on 127.0.0.1, or their machine's
// address, with Unix sockets in their private folders. If we are root they run as user mysql, or
// nobody. A missing program is a *server.MissingError.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	m, err := prepare(o)
	if err != nil {
		return nil, err
	}
	if err := m.startAll(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start MariaDB: %w", err), m.Close())
	}
	return m, nil
}

func prepare(o Options) (*Cluster, error) {
	program, err := mariadbd().Find(o.Programs)
	if err != nil {
		return nil, err
	}
	m := &Cluster{options: o, program: program}
	if err := m.fillIn(); err != nil {
		if missing := (*server.MissingError)(nil); errors.As(err, &missing) {
			return nil, err
		}
		return nil, fmt.Errorf("start MariaDB: %w", err)
	}
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
	case o.MyRocks && o.Nodes > 1 && o.Replication == Galera:
		return errors.New("MyRocks in a Galera cluster: Galera replicates InnoDB only")
	}
	if o.Nodes > 1 && o.Replication == Galera {
		if m.provider, err = galeraLibrary(o.Programs); err != nil {
			return err
		}
	}
	if m.user, err = server.Unprivileged("mysql", "nobody"); err != nil {
		return err
	}
	return o.Make(m.user, o.Nodes, func(at *machine.Machine) error {
		_, err := m.makeNode(at)
		return err
	})
}

func (m *Cluster) makeNode(at *machine.Machine) (*member, error) {
	n := &member{Node: &server.Node{Number: len(m.nodes.All()), Machine: at, User: m.user, IsError: binlog.IsError}}
	if err := m.options.Place(n.Node, &m.ports, usualPort, "mariadbd", "mariadb"); err != nil {
		return nil, err
	}
	further := []struct {
		port  *int
		usual int
	}{{&n.galera, galeraPort}, {&n.ist, galeraISTPort}, {&n.sst, galeraSSTPort}}
	if m.provider == "" {
		further = nil
	}
	for _, p := range further {
		var err error
		if _, *p.port, err = m.ports.For(at, p.usual); err != nil {
			return nil, err
		}
	}
	for _, dir := range []string{n.data(), n.temporary()} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, err
		}
		if err := m.user.Chown(dir); err != nil {
			return nil, err
		}
	}
	m.nodes.Add(n)
	return n, nil
}

func (n *member) data() string      { return filepath.Join(n.Dir, "data") }
func (n *member) temporary() string { return filepath.Join(n.Dir, "tmp") }

// Nodes are all past and present nodes.
func (m *Cluster) Nodes() []*server.Node {
	var all []*server.Node
	for _, n := range m.nodes.All() {
		all = append(all, n.Node)
	}
	return all
}

// Address is the URL of the original nodes, with user and password.
func (m *Cluster) Address() string { return m.login.Address(m.Nodes()[:m.options.Nodes]) }

// Node is node i.
func (m *Cluster) Node(i int) *server.Node { return m.nodes.At(i).Node }

// Primary is 0 for a ready single server. For Galera the error is a *server.NoPrimaryError.
func (m *Cluster) Primary(ctx context.Context) (int, error) {
	if m.provider != "" {
		return 0, &server.NoPrimaryError{Product: "a Galera cluster"}
	}
	return 0, m.Ready(ctx, 0)
}

// Close kills all nodes with their descendants and removes their folder.
func (m *Cluster) Close() error { return server.Close(m.Nodes(), m.options.Dir) }
