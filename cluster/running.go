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
	Programs string
	// Kept marks a cluster that outlives the command that started it.
	Kept bool
	// Announce hears what the cluster does by itself, such as beginning a group anew. Several
	// goroutines may call it, and it must not block. Nil discards all.
	Announce func(text string)
	// Died hears of each server that ended although assay did not end it, such as one out of
	// memory, and how it ended. The rules of Announce hold. A server that fenced itself is
	// announced instead.
	Died func(node, how string)
}

// Cluster is the running nodes of one database. Its methods are safe for concurrent use.
type Cluster struct {
	id       string
	spec     Spec
	folder   string
	owner    io.Closer // says that this process lives: machine.Own
	machines *machine.Set
	product  product
	// changing holds one token while the members change. It guards ended, which is true once
	// they cannot change any more.
	changing chan struct{}
	ended    bool
	// noNetwork says why the nodes have no network of their own; nil if they have.
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

// Start starts the cluster and returns when it takes work. The folder, namespaces and processes
// carry the cluster's id and are recorded, so that Records finds them after assay was killed. A
// missing program is a *server.MissingError; a demand that this machine cannot meet is a
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

// makeMachines makes networks of their own for the nodes and for the servers apart, unless the spec
// refuses them. If the machine cannot, and the spec does not insist, all live on the loopback.
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

func newID() string {
	id := make([]byte, 4)
	_, _ = rand.Read(id) // never fails, as its documentation says
	return hex.EncodeToString(id)
}

// ID tells the cluster from others on this machine.
func (c *Cluster) ID() string { return c.id }

// Spec is the spec given to Start.
func (c *Cluster) Spec() Spec { return c.spec }

// Address is the database's URL, with user and password.
func (c *Cluster) Address() string { return c.product.Address() }

// Nodes returns the present members in the order in which they came.
func (c *Cluster) Nodes() []*Node {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.nodes)
}

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

// Node returns the member or server beside the nodes of this name; nil if there is none.
func (c *Cluster) Node(name string) *Node {
	for _, n := range c.Servers() {
		if n.Name() == name {
			return n
		}
	}
	return nil
}

// LedBy is the program that chooses the primary, such as Patroni; empty if there is none.
func (c *Cluster) LedBy() string { return products()[c.spec.Product].ledBy }

// ManagerVersion is the version of the program that LedBy names; empty if there is none or unknown.
func (c *Cluster) ManagerVersion() string {
	if led, is := behind[interface{ ManagerVersion() string }](c.product); is {
		return led.ManagerVersion()
	}
	return ""
}

// OneClock says why the servers cannot have clocks of their own; empty if they can.
func (c *Cluster) OneClock() string { return products()[c.spec.Product].oneClock }

// NoNetwork says why the nodes have no network of their own; nil if they have.
func (c *Cluster) NoNetwork() error { return c.noNetwork }

// Machines are the nodes' machines.
func (c *Cluster) Machines() *machine.Set { return c.machines }

// Primary waits for a node that takes writes, or returns a *server.NoPrimaryError.
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

func (c *Cluster) numbered(number int) *Node {
	for _, n := range c.Nodes() {
		if n.number == number {
			return n
		}
	}
	return nil
}

// Primaries waits for the nodes that take writes. The result of Primary comes first; others follow
// if each has a part of the data. Errors are Primary's.
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

// Settled returns when all running nodes are in step, with the same data, or names the others.
func (c *Cluster) Settled(ctx context.Context) error { return c.product.Settled(ctx) }

// Close waits for a running change of the members, ends all nodes, and removes all that the cluster
// made, including the nodes' logs. Further calls return the first call's result.
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
			// The record stays, so that the leftovers can be found.
			c.closed = fmt.Errorf("close %s: %w", c.spec, err)
			return
		}
		c.closed = os.RemoveAll(c.folder)
	})
	return c.closed
}

// A server that ends and starts within watchEvery goes unseen.
const watchEvery = 100 * time.Millisecond

// watch reports once each server that ends although assay did not end it, and announces servers
// that fence themselves. end waits for the last call.
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
