package cluster

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"assay/cluster/machine"
	"assay/cluster/server"
)

// Options says how to run a cluster.
type Options struct {
	// Programs is a folder that holds server programs; it is searched first.
	Programs string
	// Kept marks a cluster that is to outlive the command that started it.
	Kept bool
	// Announce is called with what the cluster does by itself, such as beginning a group anew.
	// It may be called from several goroutines and must not block; nil means
	// nobody wants to know.
	Announce func(text string)
	// Died is called for a server that ended though nobody had it end, such as one
	// that ran out of memory, and how; in the way of Announce. One that its own fence
	// ended is announced instead.
	Died func(node, how string)
}

// Cluster is the running nodes of one database. Its methods are safe for
// concurrent use.
type Cluster struct {
	id       string
	spec     Spec
	folder   string
	owner    io.Closer // says that this process lives: machine.Own
	machines *machine.Set
	product  product
	// changing holds one token while the members change; ended, which goes with
	// it, is true once they cannot any more.
	changing chan struct{}
	ended    bool
	// noNetwork says why nodes have no network of their own; nil if they have.
	noNetwork error

	beside  []*Node  // the servers beside the nodes; they do not change once the cluster runs
	backups *Backups // nil where there is no way to make any

	mu    sync.Mutex
	nodes []*Node             // the members
	disks map[string]nodeDisk // by the node's name, of those that have one of their own

	unwatch   func() // ends the watch over the servers; nil without one
	started   time.Time
	recording sync.Mutex
	closing   sync.Once
	closed    error
}

// Start starts the cluster and returns when it takes work. What it needs on
// this machine (folder, namespaces, processes) carries its id and is recorded,
// so that Records finds it after assay was killed. A missing program is a
// *server.MissingError; a demand that this machine cannot meet is a
// *machine.UnsupportedError.
func Start(ctx context.Context, spec Spec, o Options) (*Cluster, error) {
	entry, known := products()[spec.Product]
	if !known {
		return nil, &SpecError{Spec: spec.String(), Part: "no product " + spec.Product, Want: "one of the known ones"}
	}
	if err := spec.fits(); err != nil {
		return nil, err
	}
	if err := CheckDisk(ctx, spec.Disk, spec.FS); err != nil {
		return nil, fmt.Errorf("start %s: %w", spec, err)
	}
	c := &Cluster{spec: spec, id: newID(), started: time.Now().UTC(), changing: make(chan struct{}, 1), disks: map[string]nodeDisk{}}
	if err := c.open(ctx, entry.topology, o); err != nil {
		return nil, fmt.Errorf("start %s: %w", spec, err)
	}
	programs, err := c.programs(ctx, o)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", spec, err), c.Close())
	}
	machines, beside := c.machinesByRole()
	started, err := entry.start(ctx, spec, environment{machines: machines, beside: beside, programs: programs,
		dir: filepath.Join(c.folder, "nodes"), logs: c.folder, announce: o.Announce})
	if err != nil { // started may be a typed nil
		return nil, errors.Join(err, c.Close())
	}
	c.product = started
	if by := backingOf(started); by != nil {
		c.backups = NewBackups(by, filepath.Join(c.folder, "backups"))
	}
	for i, m := range machines {
		c.enter(&Node{cluster: c, server: started.Node(i), machine: m, number: i, arbiter: i >= spec.Nodes})
	}
	if err := c.enterBeside(entry.topology); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", spec, err), c.Close())
	}
	if err := errors.Join(c.record(o.Kept), c.syncDisks()); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", spec, err), c.Close())
	}
	if o.Died != nil {
		c.unwatch = c.watch(o.Died, o.Announce)
	}
	return c, nil
}

// open makes the folder, the record, the machines and their disks.
func (c *Cluster) open(ctx context.Context, t topology, o Options) (err error) {
	if c.folder, err = makeFolder(c.id); err != nil {
		return err
	}
	if err = c.record(o.Kept); err == nil {
		c.owner, err = machine.Own(c.id)
	}
	if err == nil {
		err = c.makeMachines(t.namesApart(c.spec))
	}
	if err == nil {
		err = c.addDisks(ctx)
	}
	if err != nil {
		return errors.Join(err, c.Close())
	}
	return nil
}

// makeMachines gives each node, and each server of these names, a network of its own if that can
// be had, and is not refused by the spec.
func (c *Cluster) makeMachines(apart []string) (err error) {
	o := machine.Options{ID: c.id, Names: append(c.spec.names(), apart...), Limits: c.spec.Limits, Bandwidth: c.spec.Bandwidth, Unlimited: apart}
	if c.spec.Network != NetworkLoopback {
		c.machines, err = machine.Open(o)
		var unsupported *machine.UnsupportedError
		switch {
		case err == nil:
			return nil
		case !errors.As(err, &unsupported) || c.spec.Network == NetworkOwn || c.spec.Bandwidth > 0:
			return err
		}
		c.noNetwork = err
	}
	c.machines, err = machine.Loopback(o)
	if err == nil && c.noNetwork == nil {
		c.noNetwork = c.machines.Own()
	}
	return err
}

// newID is eight hexadecimal digits by chance.
func newID() string {
	id := make([]byte, 4)
	_, _ = rand.Read(id) // never fails, as its documentation says
	return hex.EncodeToString(id)
}

// ID tells the cluster from others on this machine.
func (c *Cluster) ID() string { return c.id }

// Spec is what was asked for.
func (c *Cluster) Spec() Spec { return c.spec }

// Address is the database's URL, with user and password.
func (c *Cluster) Address() string { return c.product.Address() }

// Nodes returns the nodes that are members at this moment, in the order in
// which they came.
func (c *Cluster) Nodes() []*Node {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.nodes)
}

// enter makes a node one of Nodes.
func (c *Cluster) enter(n *Node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if slices.Contains(c.nodes, n) {
		return
	}
	at, _ := slices.BinarySearchFunc(c.nodes, n, func(a, b *Node) int { return a.number - b.number })
	c.nodes = slices.Insert(c.nodes, at, n)
}

func (c *Cluster) leave(n *Node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodes = slices.DeleteFunc(c.nodes, func(m *Node) bool { return m == n })
}

// Node returns the member of this name, or the server beside the nodes; nil if there is none.
func (c *Cluster) Node(name string) *Node {
	for _, n := range c.Servers() {
		if n.Name() == name {
			return n
		}
	}
	return nil
}

// LedBy is the program that chooses the primary, such as Patroni; empty where the database does
// itself, or nobody.
func (c *Cluster) LedBy() string { return products()[c.spec.Product].ledBy }

// OneClock says why the servers cannot have clocks of their own; empty if they can.
func (c *Cluster) OneClock() string { return products()[c.spec.Product].oneClock }

// NoNetwork is nil if each node has a network of its own, and else says why
// not.
func (c *Cluster) NoNetwork() error { return c.noNetwork }

// Machines are the nodes' machines.
func (c *Cluster) Machines() *machine.Set { return c.machines }

// Primary returns the node that takes writes, as soon as there is one. Where
// the product has none the error is a *server.NoPrimaryError.
func (c *Cluster) Primary(ctx context.Context) (*Node, error) {
	i, err := c.product.Primary(ctx)
	if err != nil {
		return nil, err
	}
	if n := c.numbered(i); n != nil {
		return n, nil
	}
	return nil, fmt.Errorf("node number %d takes writes and is no member of %s", i, c.spec)
}

// numbered is the member of this number; nil if there is none.
func (c *Cluster) numbered(number int) *Node {
	for _, n := range c.Nodes() {
		if n.number == number {
			return n
		}
	}
	return nil
}

// Primaries are the nodes that take writes, as soon as there is one: the one that Primary returns
// comes first, and others follow where each has a part of the data. Errors are Primary's.
func (c *Cluster) Primaries(ctx context.Context) ([]*Node, error) {
	sharded, is := c.product.(interface {
		Primaries(ctx context.Context) ([]int, error)
	})
	if !is {
		n, err := c.Primary(ctx)
		return []*Node{n}, err
	}
	numbers, err := sharded.Primaries(ctx)
	if err != nil {
		return nil, err
	}
	var all []*Node
	for _, number := range numbers {
		if n := c.numbered(number); n != nil {
			all = append(all, n)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("the nodes of %s that take writes are no members of it", c.spec)
	}
	return all, nil
}

// Settled returns when all nodes that run have their part in the cluster again
// and hold the same data. The error says which do not.
func (c *Cluster) Settled(ctx context.Context) error { return c.product.Settled(ctx) }

// Close ends all nodes and takes away all that the cluster made, the nodes' logs
// too. It waits for a change of the members that is under way. Further calls
// return what the first returned.
func (c *Cluster) Close() error {
	c.closing.Do(func() {
		if c.unwatch != nil {
			c.unwatch()
		}
		c.changing <- struct{}{}
		c.ended = true
		<-c.changing
		failed := []error{c.backups.Close()}
		if c.product != nil {
			failed = append(failed, c.product.Close())
		}
		failed = append(failed, c.removeDisks())
		if c.machines != nil {
			failed = append(failed, c.machines.Close())
		}
		if c.owner != nil {
			failed = append(failed, c.owner.Close())
		}
		if err := errors.Join(failed...); err != nil {
			// The record stays, so that what is left can be found.
			c.closed = fmt.Errorf("close %s: %w", c.spec, err)
			return
		}
		c.closed = os.RemoveAll(c.folder)
	})
	return c.closed
}

// watchEvery is how often the servers are looked at. One that ended and was
// started again in between is missed.
const watchEvery = 100 * time.Millisecond

// watch reports every server that ends though nobody here had it end, once, and announces
// those that fence themselves, until the returned function is called, which waits for the last call.
func (c *Cluster) watch(died func(node, how string), announce func(text string)) (end func()) {
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		ticker := time.NewTicker(watchEvery)
		defer ticker.Stop()
		reported := map[string]*server.Process{} // by the node's name
		for {
			select {
			case <-stop:
				return
			case <-ticker.C:
			}
			for _, n := range c.Servers() {
				p := n.server.Process()
				if !p.Died() || reported[n.Name()] == p {
					continue
				}
				reported[n.Name()] = p
				switch {
				case !p.Fenced():
					died(n.Name(), p.How()+littleRoom(c.folder))
				case announce != nil:
					announce(n.Name() + " has fenced itself: it has ended, so that it takes no writes any more")
				}
			}
		}
	}()
	return func() {
		close(stop)
		<-stopped
	}
}
