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
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

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
	// Asynchronous lets commits return before any standby has them: a promotion
	// may lose some. Otherwise each commit waits until any one of the standbys
	// has it on disk (synchronous_standby_names = 'ANY 1 (...)').
	Asynchronous bool
	// FailoverAfter is for how long the primary must not answer until it is
	// fenced and a standby promoted, and a standby not stream until commits no
	// longer wait for it; 0 means 3 seconds, less than 100 ms is refused.
	FailoverAfter time.Duration
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
	// Settings are server settings of every node, as in Options. Those
	// by which the set is led cannot be among them.
	Settings []string
	// Leads is called with the name of the primary and where it is: of the first one before
	// StartSet returns, and of each that is promoted once it takes writes. It must not block;
	// nil means nobody wants to know.
	Leads func(name string, primary *server.Node)
	// Announce is called with what the set does by itself: fencing, promotion, whom
	// commits wait for. It must not block; nil means nobody wants to know.
	Announce func(text string)
}

// Set is a PostgreSQL primary and its standbys. PostgreSQL itself never
// promotes a standby: here assay does, and announces it, in the way of the
// usual programs for that (Patroni, repmgr). It fences first: the old primary's
// processes are killed, so that never two nodes take writes. It promotes only a
// standby that is certain to have every commit that was acknowledged (but
// for Asynchronous). Nodes are counted from 0. Methods are safe for concurrent
// use.
//
// Like Patroni's synchronous mode without "strict", a primary whose last
// standby is lost lets commits wait for nobody: with two nodes the loss of one
// would otherwise stop all writes. It is announced, and from then on only this
// primary has the last commits: if it is lost too, nobody is promoted until
// it is back.
type Set struct {
	options SetOptions
	nodes   []*member
	ports   server.Ports

	alive    context.Context // ends with Close
	end      context.CancelFunc
	routines sync.WaitGroup
	closing  sync.Once
	closed   error
	watch    *server.Watch // over the primary
	complete atomic.Bool   // all nodes have been in step

	mu sync.Mutex // guards the rest; held while the set's order is changed
	// primary is who takes writes, or was the last to do so.
	primary int
	// promoted is false between the order to promote and the first write.
	promoted bool
	// starting is true while Restart is about to start the primary.
	starting bool
	// lost is true from the fencing of the primary until there is one again.
	lost bool
	// since is when the primary was given up.
	since time.Time
	// lastReason is the last reason for which nobody could be promoted.
	lastReason string
	// ends has an entry for each promotion: the end of the log that the new
	// primary had then. What others have beyond it is not part of the database.
	ends []lsn
	// timeline is the highest number of a timeline that may have been used.
	timeline uint64
	quorum   quorum
}

// member is one node. The fields are guarded by Set.mu.
type member struct {
	*Server
	// term is the number of promotions whose outcome the node's log contains.
	term int
	// following is true if the running server was configured to follow the primary.
	following bool
	// rewind: its log has, or may have, what is not part of the database.
	rewind bool
	// copy: its data is of no use.
	copy bool
	// seen is when it last streamed.
	seen time.Time
	// again is when it may be tried again after something did not work.
	again time.Time
}

const (
	defaultFailoverAfter = 3 * time.Second
	leastFailoverAfter   = 100 * time.Millisecond
	// askBound is how long a node that serves may take for a small question.
	askBound = time.Second
)

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
	s.watch = server.NewWatch(s.options.FailoverAfter)
	s.alive, s.end = context.WithCancel(context.Background())
	if err := s.startAll(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start PostgreSQL with standbys: %w", err), s.Close())
	}
	return s, nil
}

// fillIn replaces empty options and makes the folder.
func (s *Set) fillIn() error {
	o := &s.options
	o.Nodes = cmp.Or(o.Nodes, len(o.Machines), 3)
	o.FailoverAfter = cmp.Or(o.FailoverAfter, defaultFailoverAfter)
	if o.Announce == nil {
		o.Announce = func(string) {}
	}
	if o.Leads == nil {
		o.Leads = func(string, *server.Node) {}
	}
	if o.Nodes < 1 || o.Machines != nil && len(o.Machines) != o.Nodes {
		return fmt.Errorf("%d nodes on %d machines: want at least one node, and a machine for each", o.Nodes, len(o.Machines))
	}
	if o.FailoverAfter < leastFailoverAfter {
		return fmt.Errorf("a failover after %v: want at least %v", o.FailoverAfter, leastFailoverAfter)
	}
	for _, setting := range o.Settings {
		name, _, _ := strings.Cut(setting, "=")
		switch strings.TrimSpace(name) {
		case primaryConninfo, standbyNames, "primary_slot_name", "synchronous_commit", "recovery_target_timeline":
			return fmt.Errorf("setting %s: the set itself decides on that; leave it out", name)
		}
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

// nodeOptions are the options of node i.
func (s *Set) nodeOptions(i int) Options {
	name := "n" + strconv.Itoa(i+1)
	var at *machine.Machine
	if s.options.Machines != nil {
		at = s.options.Machines[i]
		name = at.Name()
	}
	// A connection on which the other side is silent is given up for lost, on
	// both sides: TCP alone would take minutes.
	silence := fmt.Sprintf("%dms", max(s.options.FailoverAfter, time.Second).Milliseconds())
	return Options{
		Programs: s.options.Programs, Machine: at, Ports: &s.ports, Password: s.options.Password, Checksums: true, Archive: s.options.Archive,
		Dir: filepath.Join(s.options.Dir, name), Log: filepath.Join(s.options.LogDir, "postgres-"+name+".log"),
		Settings: append([]string{
			"wal_sender_timeout=" + silence, "wal_receiver_timeout=" + silence, "wal_receiver_status_interval=1s",
			// A standby asks again after 100 ms and not five seconds.
			"wal_retrieve_retry_interval=100ms",
		}, s.options.Settings...),
	}
}

// nodeName is what node i is called.
func (s *Set) nodeName(i int) string { return s.nodes[i].label }

// startAll starts the primary and its standbys, and then watches over them.
func (s *Set) startAll(ctx context.Context) error {
	first, err := Start(ctx, s.nodeOptions(0))
	if err != nil {
		return err
	}
	first.label = filepath.Base(first.Dir)
	s.nodes = []*member{{Server: first}}
	err = first.inSession(ctx, 5*askBound, func(ctx context.Context, conn *pgx.Conn) error {
		return alter(ctx, conn, "wal_keep_size", walKeepSize)
	})
	if err != nil {
		return err
	}
	for i := 1; i < s.options.Nodes; i++ {
		o := s.nodeOptions(i)
		o.User, o.Password = first.options.User, first.options.Password
		p, err := newServer(s.options.Programs, o)
		if err != nil {
			return err
		}
		p.Number, p.label = i, filepath.Base(o.Dir)
		s.nodes = append(s.nodes, &member{Server: p})
	}
	for i, node := range s.nodes {
		if err := node.writePasswordFile(); err != nil {
			return err
		}
		if i == 0 {
			continue
		}
		if err := node.copyData(ctx, first); err != nil {
			return fmt.Errorf("copy %s for %s: %w", s.nodeName(0), s.nodeName(i), err)
		}
		if err := s.startStandby(ctx, i, first, nil); err != nil {
			return err
		}
		node.following = true
	}
	s.timeline, s.promoted = 1, true
	s.options.Leads(first.label, first.Node)
	s.watch.Over(first.answers)
	s.routines.Go(func() { s.watch.Probe(s.alive) })
	s.routines.Go(func() { s.watch.Supervise(s.alive, s.checkPrimary) })
	if err := s.Settled(ctx); err != nil {
		return err
	}
	s.complete.Store(true)
	return nil
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

// Node is node i. A primary that is stopped or paused for FailoverAfter is lost
// like one that was killed: it is fenced, and Resume then returns
// os.ErrProcessDone.
func (s *Set) Node(i int) *server.Node { return s.nodes[i].Node }

// Parameter asks node i for the value of a parameter that new sessions work with.
func (s *Set) Parameter(ctx context.Context, i int, name string) (string, error) {
	return s.nodes[i].Parameter(ctx, name)
}

// announce tells what the set did. While it is started and after Close it is
// silent.
func (s *Set) announce(format string, values ...any) {
	if s.complete.Load() && s.alive.Err() == nil {
		s.options.Announce(fmt.Sprintf(format, values...))
	}
}

// Close ends the watch over the nodes, then all nodes, and removes their folder.
// Further calls return what the first returned.
func (s *Set) Close() error {
	s.closing.Do(func() {
		s.end()
		s.routines.Wait()
		var failed []error
		for _, node := range s.nodes {
			failed = append(failed, node.closeAsStandby())
		}
		s.closed = errors.Join(append(failed, os.RemoveAll(s.options.Dir))...)
	})
	return s.closed
}
