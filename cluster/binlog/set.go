// Package binlog leads servers that replicate by the binary log, those of MySQL and of
// MariaDB: the replicas follow a primary, and where that is lost one of them is promoted.
//
// Neither server does that by itself. Here assay does it as the manuals describe it for an
// operator (MySQL manual, "Switching Sources During Failover"; MariaDB documentation,
// "Replication Overview"), and announces it.
//
// It must not know how servers are started: a product's package does that.
package binlog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"assay/cluster/server"
)

// Options says how to lead a set.
type Options struct {
	// Nodes are the servers. The first begins as the primary.
	Nodes   []*server.Node
	Dialect Dialect
	Login   Login
	// Start starts the server of node i with its data, and returns when it answers. It
	// takes no writes and follows nobody yet. A node without data gets an empty database,
	// without any transaction in its binary log.
	Start func(ctx context.Context, i int, b Beginning) error
	// Empty takes all data of node i, which has ended.
	Empty func(i int) error
	// Semisync has each commit wait until one replica has it (see Set).
	Semisync bool
	// FailoverAfter is for how long the primary must not answer until it is fenced and a
	// replica promoted; 0 means 3 seconds, less than 100 ms is refused.
	FailoverAfter time.Duration
	// Dir is the folder of all nodes, which Close removes.
	Dir string
	// Announce is called with what the set does by itself: fencing, promotion, who is made
	// anew. It must not block; nil means nobody wants to know.
	Announce func(text string)
}

// Beginning is how a node is started.
type Beginning struct {
	// ID is its server_id, new with each database: a server passes over what comes to it with
	// its own, so that one that is made anew would not get back what it had written before.
	ID int
	// Primary is whether the node was the last that took writes.
	Primary bool
	// Env is added to the server's environment, as NAME=value.
	Env []string
}

// Set is a primary and its replicas. Nodes are counted from 0. Methods are safe for
// concurrent use.
//
// A lost primary is fenced first: its processes are killed, so that never two nodes take
// writes. Then the replica is promoted that has received most, once it has applied it.
// What a node has beyond that is no part of the database any more, and it is made anew:
// empty, from the beginning of the binary log, which no node ever purges.
//
// With asynchronous replication what the primary had acknowledged and no replica had
// received is lost.
//
// With Semisync, at AFTER_SYNC, a commit is acknowledged when one replica has received it
// ("all transactions committed on the source have been replicated to the replica"; MySQL
// manual, "Replication Source Options and Variables", rpl_semi_sync_source_wait_point). So
// nobody is promoted unless all replicas that can be that one tell how far they are. But
// where no replica answers within the time limit of the server's own (rpl_semi_sync_*_timeout,
// 10 s by default), "the source reverts to asynchronous replication" (MySQL manual,
// "Semisynchronous Replication"): as long as that lasts nobody is promoted either, and the
// primary is not fenced. It is looked at each quarter of a second; what a primary did between
// the last look and its end is read off its log.
type Set struct {
	options Options
	members []*member

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
	// promoted is true while the primary takes writes, as far as it was told to.
	promoted bool
	// starting is true while Restart starts the primary.
	starting bool
	// lost is true from the fencing of the primary until there is one again.
	lost bool
	// since is when the primary was given up.
	since time.Time
	// lastReason is the last reason for which nobody could be promoted.
	lastReason string
	// ids is how many server_ids were given out.
	ids int
	// ends has an entry for each promotion: how many transactions the new primary had
	// then. What others have beyond it is no part of the database.
	ends []int64
	// sure are nodes of whom the furthest certainly has every commit that was acknowledged,
	// with Semisync. Empty means that only the primary has them.
	sure []int
	// seen is how long the primary's log was at the last look at which commits waited.
	seen int64
}

// member is one node. The fields are guarded by Set.mu.
type member struct {
	*server.Node
	label string
	// term is the number of promotions whose outcome the node's data contains.
	term int
	// following is true if the running server was told to follow the primary.
	following bool
	// torn: it was started anew, and may have thrown away what it had received.
	torn bool
	// anew: it has what is no part of the database, or cannot go on. renewing: it is being
	// started again without its data.
	anew, renewing bool
	// id is its server_id.
	id int
	// again is when it may be tried again after something did not work.
	again time.Time
}

const (
	defaultFailoverAfter = 3 * time.Second
	leastFailoverAfter   = 100 * time.Millisecond
	// askBound is how long a node that serves may take for a small question, and changeBound
	// for a change of its part.
	askBound    = time.Second
	changeBound = 5 * time.Second
)

// Start starts all nodes, has the others follow the first, and returns when all are in step.
// After an error they are ended, and their folder is gone.
func Start(ctx context.Context, o Options) (*Set, error) {
	s := &Set{options: o, ids: len(o.Nodes)}
	s.options.FailoverAfter = cmp.Or(o.FailoverAfter, defaultFailoverAfter)
	s.watch = server.NewWatch(s.options.FailoverAfter)
	if o.Announce == nil {
		s.options.Announce = func(string) {}
	}
	for i, n := range o.Nodes {
		label := "n" + strconv.Itoa(i+1)
		if n.Machine != nil {
			label = n.Machine.Name()
		}
		s.members = append(s.members, &member{Node: n, label: label, id: i + 1})
	}
	s.alive, s.end = context.WithCancel(context.Background())
	err := s.startAll(ctx)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// startAll starts the nodes at the same time, and then watches over them.
func (s *Set) startAll(ctx context.Context) error {
	if s.options.FailoverAfter < leastFailoverAfter {
		return fmt.Errorf("a failover after %v: want at least %v", s.options.FailoverAfter, leastFailoverAfter)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failures := make([]error, len(s.members))
	var all sync.WaitGroup
	for i := range s.members {
		all.Go(func() {
			if failures[i] = s.options.Start(ctx, i, Beginning{ID: i + 1, Primary: i == 0}); failures[i] != nil {
				cancel()
			}
		})
	}
	all.Wait()
	// The first to fail is the reason for which the others were cut short.
	for _, err := range failures {
		if err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
	}
	if err := errors.Join(failures...); err != nil {
		return err
	}
	s.watch.Over(s.answers(0))
	if err := s.lead(ctx); err != nil {
		return fmt.Errorf("%s: %w", s.members[0].Name, err)
	}
	s.sure, s.seen = s.others(0), logLength(s.members[0].Node)
	s.routines.Go(func() { s.watch.Probe(s.alive) })
	s.routines.Go(func() { s.watch.Supervise(s.alive, s.check) })
	if err := s.Settled(ctx); err != nil {
		return err
	}
	s.complete.Store(true)
	return nil
}

// answers tells whether node i answers.
func (s *Set) answers(i int) func(ctx context.Context, bound time.Duration) bool {
	return func(ctx context.Context, bound time.Duration) bool {
		return s.options.Login.Answers(ctx, s.members[i].Node, bound)
	}
}

// lead has the primary take writes. s.mu is held, or nobody else is there yet.
func (s *Set) lead(ctx context.Context) error {
	err := s.tell(ctx, s.primary, s.leading()...)
	s.promoted = err == nil
	if err == nil {
		s.lost, s.lastReason = false, ""
	}
	return err
}

// leading are the statements after which a server takes writes. Commits wait for replicas from
// the first one on.
func (s *Set) leading() []string {
	var all []string
	if s.options.Semisync {
		all = append(all, "SET GLOBAL "+s.options.Dialect.semisync+" = ON")
	}
	return append(all, s.options.Dialect.writes...)
}

// Address is the URL of all nodes together. A client chooses the node that takes writes; one
// that is silent must not use up the time of a whole call.
func (s *Set) Address() string {
	u := url.URL{Scheme: "mysql", User: url.UserPassword(s.options.Login.User, s.options.Login.Password),
		Host: server.Hosts(s.options.Nodes), Path: "/", RawQuery: "connect_timeout=2"}
	return u.String()
}

// Node is node i. A primary that is stopped or paused for FailoverAfter is lost like one that
// was killed: it is fenced, and Resume then returns os.ErrProcessDone.
func (s *Set) Node(i int) *server.Node { return s.options.Nodes[i] }

// others are all nodes but one.
func (s *Set) others(than int) []int {
	var all []int
	for i := range s.members {
		if i != than {
			all = append(all, i)
		}
	}
	return all
}

// announce tells what the set did. While it is started and after Close it is silent.
func (s *Set) announce(format string, values ...any) {
	if s.complete.Load() && s.alive.Err() == nil {
		s.options.Announce(fmt.Sprintf(format, values...))
	}
}

// announceOnce announces why something cannot be done, once.
func (s *Set) announceOnce(format string, values ...any) {
	if text := fmt.Sprintf(format, values...); text != s.lastReason {
		s.lastReason = text
		s.announce("%s", text)
	}
}

// labels are the names of nodes, for a reader.
func (s *Set) labels(nodes []int) string {
	var all []string
	for _, i := range slices.Sorted(slices.Values(nodes)) {
		all = append(all, s.members[i].label)
	}
	return strings.Join(all, ", ")
}

// Close ends the watch over the nodes, then all nodes, and removes their folder. Further calls
// return what the first returned.
func (s *Set) Close() error {
	s.closing.Do(func() {
		s.end()
		s.routines.Wait()
		s.closed = server.Close(s.options.Nodes, s.options.Dir)
	})
	return s.closed
}
