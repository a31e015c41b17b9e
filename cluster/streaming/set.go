// Package streaming is the common part of clusters of PostgreSQL: where the servers are, which
// takes writes, whether the others stream from it, and their backups. It asks the servers
// themselves and decides nothing. Plain is a cluster that no program leads.
//
// It must not know any program that leads a cluster, such as Patroni.
package streaming

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"assay/cluster/machine"
	"assay/cluster/postgres"
	"assay/cluster/server"
)

// User is the superuser of every server, for clients too.
const User = "assay"

// CheckUser has no rights and no password. As this user a proxy asks whether a server takes writes.
const CheckUser = "proxy_check"

const usualPort = 5432

// Placement says where the servers of a set live.
type Placement struct {
	// Nodes of 0 means the number of Machines, or the usual number.
	Nodes int
	// Machines are where they live, with their names; nil means here, as n1, n2 and so on.
	Machines []*machine.Machine
	// Dir is the private folder of all, new or empty; empty means a temporary one. Close removes it.
	Dir string
	// LogDir is an existing folder for the logs, which Close leaves; empty means Dir.
	LogDir string
	// Archive is the folder for each full segment of the log, which Close leaves; empty for none.
	// Below /dev/shm it must be in the same folder as Dir, since the servers see no other
	// (server.ProcessOptions.Apart).
	Archive  string
	Password string
}

// Options describes the servers of a set.
type Options struct {
	Placement
	// Product is the name, in errors, of the program that leads the set, or PostgreSQL.
	Product string
	// ManagerVersion is the version of that program; empty if there is none or unknown.
	ManagerVersion string
	LogPrefix      string
	// Usual is the number of servers if neither Nodes nor Machines say.
	Usual    int
	Programs string
	Settings []string
}

// Set is servers of PostgreSQL, counted from 0, one of which takes writes. Its methods are safe for
// concurrent use.
type Set struct {
	options Options // with nothing left empty
	user    *server.User
	ports   server.Ports
	nodes   []*server.Node
	names   []string
}

// NewSet makes the servers' folders and gives each server an address. If we are root the folders
// belong to postgres, or nobody. It starts nothing.
func NewSet(o Options) (*Set, error) {
	o.Nodes, o.Password = cmp.Or(o.Nodes, len(o.Machines), o.Usual), cmp.Or(o.Password, rand.Text())
	if o.Nodes < 1 || o.Machines != nil && len(o.Machines) != o.Nodes {
		return nil, fmt.Errorf("%d nodes on %d machines: want at least one node, and a machine for each", o.Nodes, len(o.Machines))
	}
	user, err := server.Unprivileged("postgres", "nobody")
	if err != nil {
		return nil, err
	}
	if o.Dir, err = server.PrivateDir(o.Dir, user); err != nil {
		return nil, err
	}
	if err := postgres.MakeArchive(o.Archive, user); err != nil {
		return nil, errors.Join(err, os.RemoveAll(o.Dir))
	}
	o.LogDir = cmp.Or(o.LogDir, o.Dir)
	s := &Set{options: o, user: user}
	for i := range o.Nodes {
		at, name := server.MachineAt(o.Machines, i), "n"+strconv.Itoa(i+1)
		if at != nil {
			name = at.Name()
		}
		n, err := s.NewNode(at, i, name)
		if err != nil {
			return nil, errors.Join(err, os.RemoveAll(o.Dir))
		}
		s.nodes, s.names = append(s.nodes, n), append(s.names, name)
	}
	return s, nil
}

// NewNode makes a node that is not in the set, with a folder below the set's and a log that its
// user may write. name is for the folder and the log.
func (s *Set) NewNode(at *machine.Machine, number int, name string) (*server.Node, error) {
	n := &server.Node{Number: number, Machine: at, User: s.user, IsError: isError}
	var err error
	if n.Host, n.Port, err = s.ports.For(at, usualPort); err != nil {
		return nil, err
	}
	n.Name = fmt.Sprintf("%s %s on %s", s.options.Product, name, n.Address())
	if n.Dir, err = server.PrivateDir(server.FolderOn(at, filepath.Join(s.options.Dir, name)), s.user); err != nil {
		return nil, err
	}
	n.Log = filepath.Join(s.options.LogDir, s.options.LogPrefix+"-"+name+".log")
	return n, s.user.WriteFile(n.Log, "")
}

// Port is usual if the node has an address of its own, else a free one.
func (s *Set) Port(n *server.Node, usual int) (int, error) {
	_, port, err := s.ports.For(n.Machine, usual)
	return port, err
}

// Node is server i, with the program that leads it.
func (s *Set) Node(i int) *server.Node { return s.nodes[i] }

// Nodes are all servers.
func (s *Set) Nodes() []*server.Node { return s.nodes }

// Dir is the folder of all servers.
func (s *Set) Dir() string { return s.options.Dir }

// ManagerVersion is the version of the program that leads the set; empty if there is none or unknown.
func (s *Set) ManagerVersion() string { return s.options.ManagerVersion }

// Names are the servers' names.
func (s *Set) Names() []string { return s.names }

// Name is the name of server i, such as n1.
func (s *Set) Name(i int) string { return s.names[i] }

// Password is the superuser's.
func (s *Set) Password() string { return s.options.Password }

// Settings are name=value for every server. Later ones override earlier ones.
func (s *Set) Settings() []string {
	return slices.Concat(postgres.Archiving(s.options.Archive), s.options.Settings)
}

// Data is the folder of server i's data.
func (s *Set) Data(i int) string { return Data(s.nodes[i]) }

// Data is the folder of a node's data.
func Data(n *server.Node) string { return filepath.Join(n.Dir, "data") }

// Address is the URL of all servers, with user and password. Clients choose the server that takes
// writes (manual, libpq, "target_session_attrs").
func (s *Set) Address() string {
	return s.url(server.Hosts(s.nodes), "&target_session_attrs=read-write")
}

// AddressOf is the URL of server i.
func (s *Set) AddressOf(i int) string { return s.url(s.nodes[i].Address(), "") }

func (s *Set) url(hosts, query string) string {
	u := url.URL{Scheme: "postgres", User: url.UserPassword(User, s.options.Password), Host: hosts, Path: "/postgres",
		RawQuery: "sslmode=disable&connect_timeout=2" + query}
	return u.String()
}

// Forget removes the lock file of a PostgreSQL whose node is down. After a reboot its process id
// may be another process's.
func Forget(n *server.Node) error {
	if err := os.Remove(filepath.Join(Data(n), "postmaster.pid")); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// Close kills all servers, with their shared memory, and removes their folder.
func (s *Set) Close() error { return server.Close(s.nodes, s.options.Dir) }

// Restart stops server i if it runs and calls start. It returns when the server has its part in the
// set, or, without a primary to stream from, when it serves reads.
func (s *Set) Restart(ctx context.Context, i int, start func(context.Context) error) error {
	n := s.nodes[i]
	err := n.Restart(ctx, func(ctx context.Context) error {
		if err := Forget(n); err != nil {
			return err
		}
		return start(ctx)
	})
	if err != nil {
		return err
	}
	return s.AwaitPart(ctx, i)
}
