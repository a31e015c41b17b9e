package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"assay/cluster/machine"
	"assay/cluster/server"
)

// SetOptions says how to run a primary with streaming standbys. The
// zero value gives three nodes on loopback in temporary folders, where one of the two
// standbys confirms each commit.
type SetOptions struct {
	// Programs is as in Options.
	Programs string
	// Nodes is how many servers there are, the primary included; 0 means as many
	// as there are Machines, or 3.
	Nodes int
	// Machines are where the nodes live and what they are called; nil means
	// here, as n1, n2 and so on. There must be as many as Nodes.
	Machines []*machine.Machine
	// Asynchronous lets commits return before any standby has them. Otherwise each commit
	// waits until any one of the standbys has it on disk (synchronous_standby_names =
	// 'ANY 1 (...)'), for as long as there is none.
	Asynchronous bool
	// Dir is the private folder of all nodes, new or empty; empty means a
	// temporary one. Close removes it.
	Dir string
	// LogDir is the folder of the logs postgres-n1.log and so on; empty means
	// Dir. If it is given it must exist, and Close leaves it.
	LogDir string
	// Password is the password of the superuser "assay"; empty means a random one.
	Password string
	// Archive is as in Options, of all nodes together.
	Archive string
	// Settings are server settings of every node, as in Options.
	Settings []string
}

// Set is a PostgreSQL primary, which is node 0, and its standbys. PostgreSQL itself never
// promotes a standby, and nobody else does here: a lost primary is lost until it is started
// again. The standbys connect to it again by themselves. Methods are safe for concurrent use.
type Set struct {
	options SetOptions
	nodes   []*Server
	ports   server.Ports
}

// StartSet starts the first node as the primary, makes the others its
// standbys, and returns when all are in step. It needs PostgreSQL 13 or later.
// A missing program is a *MissingError.
func StartSet(ctx context.Context, o SetOptions) (*Set, error) {
	s := &Set{options: o}
	var err error
	if s.options.Programs, err = FindPrograms(o.Programs); err != nil {
		return nil, err
	}
	if err := canCopy(s.options.Programs); err != nil {
		return nil, err
	}
	if err := s.fillIn(); err != nil {
		return nil, fmt.Errorf("start PostgreSQL with standbys: %w", err)
	}
	if err := s.startAll(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start PostgreSQL with standbys: %w", err), s.Close())
	}
	return s, nil
}

// fillIn replaces empty options and makes the folder.
func (s *Set) fillIn() error {
	o := &s.options
	o.Nodes = cmp.Or(o.Nodes, len(o.Machines), 3)
	if o.Nodes < 1 || o.Machines != nil && len(o.Machines) != o.Nodes {
		return fmt.Errorf("%d nodes on %d machines: want at least one node, and a machine for each", o.Nodes, len(o.Machines))
	}
	user, err := server.Unprivileged("postgres", "nobody")
	if err != nil {
		return err
	}
	if o.Dir, err = server.PrivateDir(o.Dir, user); err != nil {
		return err
	}
	o.LogDir = cmp.Or(o.LogDir, o.Dir)
	return nil
}

// name is what node i is called.
func (s *Set) name(i int) string {
	if s.options.Machines != nil {
		return s.options.Machines[i].Name()
	}
	return "n" + strconv.Itoa(i+1)
}

// newNode makes node i. leading are its settings as the primary.
func (s *Set) newNode(i int, leading ...string) (*Server, error) {
	settings := append([]string{
		// A connection on which the other side is silent is given up for lost, on
		// both sides: TCP alone would take minutes.
		"wal_sender_timeout=3s", "wal_receiver_timeout=3s", "wal_receiver_status_interval=1s",
		// A standby asks again after 100 ms and not five seconds.
		"wal_retrieve_retry_interval=100ms",
		// For a standby that was away.
		"wal_keep_size=1GB",
	}, leading...)
	p, err := newServer(s.options.Programs, Options{
		Programs: s.options.Programs, Machine: server.MachineAt(s.options.Machines, i), Ports: &s.ports, Password: s.options.Password,
		Checksums: true, Archive: s.options.Archive, Settings: append(settings, s.options.Settings...),
		Dir: filepath.Join(s.options.Dir, s.name(i)), Log: filepath.Join(s.options.LogDir, "postgres-"+s.name(i)+".log"),
	})
	if err != nil {
		return nil, err
	}
	p.Number = i
	s.nodes = append(s.nodes, p)
	return p, nil
}

// startAll starts the primary and then its standbys, each on a copy of it.
func (s *Set) startAll(ctx context.Context) error {
	var leading []string
	if names := s.standbys(); names != "" && !s.options.Asynchronous {
		leading = append(leading, "synchronous_standby_names=ANY 1 ("+names+")")
	}
	primary, err := s.newNode(0, leading...)
	if err != nil {
		return err
	}
	s.options.Password = primary.options.Password
	if err := primary.begin(ctx); err != nil {
		return err
	}
	for i := 1; i < s.options.Nodes; i++ {
		p, err := s.newNode(i)
		if err == nil {
			err = s.begin(ctx, p, primary)
		}
		if err != nil {
			return err
		}
	}
	return s.Settled(ctx)
}

// begin makes a new node a standby, on a copy of the primary, and starts it.
func (s *Set) begin(ctx context.Context, p, primary *Server) error {
	name := s.name(p.Number)
	if err := p.baseBackup(ctx, primary, p.data()); err != nil {
		return fmt.Errorf("copy %s for %s: %w", s.name(0), name, err)
	}
	err := errors.Join(p.writePasswordFile(), p.writeData("standby.signal", ""),
		p.writeData("postgresql.auto.conf", "primary_conninfo = "+Quote(p.connectionTo(primary, name))+"\n"))
	if err != nil {
		return err
	}
	return p.start(ctx, stateReady)
}

// standbys are the names of all standbys, as synchronous_standby_names has them.
func (s *Set) standbys() string {
	var quoted []string
	for i := 1; i < s.options.Nodes; i++ {
		quoted = append(quoted, `"`+strings.ReplaceAll(s.name(i), `"`, `""`)+`"`)
	}
	return strings.Join(quoted, ", ")
}

// Address is the URL of all nodes together. A client chooses the node that takes writes.
func (s *Set) Address() string {
	return s.nodes[0].options.url(server.Hosts(s.Nodes()), "sslmode=disable&target_session_attrs=read-write&connect_timeout=2")
}

// Nodes are all nodes.
func (s *Set) Nodes() []*server.Node {
	var all []*server.Node
	for _, node := range s.nodes {
		all = append(all, node.Node)
	}
	return all
}

// Node is node i.
func (s *Set) Node(i int) *server.Node { return s.nodes[i].Node }

// Parameter asks node i for the value of a parameter that new sessions work with.
func (s *Set) Parameter(ctx context.Context, i int, name string) (string, error) {
	return s.nodes[i].Parameter(ctx, name)
}

// Restart stops node i if it runs, and starts it again as what it was. It returns when the
// node takes writes or streams, or, if the primary is down, when it serves reads. env is added
// to the server's environment this once, as NAME=value.
func (s *Set) Restart(ctx context.Context, i int, env ...string) error {
	err := s.nodes[i].Restart(ctx, env...)
	if err == nil && i > 0 {
		err = s.awaitStream(ctx, i)
	}
	if err != nil {
		return fmt.Errorf("restart %s: %w", s.name(i), err)
	}
	return nil
}

// Close ends all nodes and removes their folder.
func (s *Set) Close() error {
	var failed []error
	for _, node := range s.nodes {
		failed = append(failed, node.Close())
	}
	return errors.Join(append(failed, os.RemoveAll(s.options.Dir))...)
}
