// Package etcd runs etcd clusters as local processes.
package etcd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"assay/cluster/machine"
	"assay/cluster/server"
)

// Options says how to run a cluster. The zero value gives three members with etcd's own
// timing, in temporary folders. There is no access control: whoever is on this machine can
// connect.
type Options struct {
	// Layout has three members, if it does not say. An odd number tolerates as many losses as the
	// even one above it.
	server.Layout

	// Ports gives out the ports of members on the loopback interface; nil means a new set.
	Ports *server.Ports
	// Args are further arguments of every etcd, such as "--election-timeout=500". They are
	// visible in the machine's process list.
	Args []string
}

// The usual ports of etcd, and the most members that are of use ("It is recommended to have an
// odd number of members", "not exceed 7", manual 3.4, "FAQ").
const (
	usualPort     = 2379
	usualPeerPort = 2380
	mostNodes     = 7
)

// Cluster is a cluster on this machine. Members are counted from 0. Its methods are safe for
// concurrent use.
type Cluster struct {
	options Options
	program string
	user    *server.User // as whom the members run; nil for ourselves
	nodes   []*server.Node
	peers   []string // host:port of each member for the others
	formed  atomic.Bool
}

// Program is etcd itself.
func Program() server.Program {
	return server.Program{Name: "etcd", Folders: []string{"/opt/homebrew/opt/etcd/bin", "/usr/local/opt/etcd/bin"},
		Get: "install etcd, or run scripts/install-servers.sh etcd"}
}

// Start starts the members at once and returns when each of them serves and they have a
// leader. A missing program is a *server.MissingError.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	program, err := Program().Find(o.Programs)
	if err != nil {
		return nil, err
	}
	c := &Cluster{options: o, program: program}
	if err := c.fillIn(); err != nil {
		return nil, fmt.Errorf("start etcd: %w", err)
	}
	if err := c.startAll(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start etcd: %w", err), c.Close())
	}
	return c, nil
}

// fillIn replaces empty options, gives out the ports and makes the folders. The members run as
// a user without rights, if we are root and that user can get at the program.
func (c *Cluster) fillIn() (err error) {
	o := &c.options
	o.Nodes = cmp.Or(o.Nodes, 3)
	o.Ports = cmp.Or(o.Ports, new(server.Ports))
	if o.Nodes < 1 || o.Nodes > mostNodes {
		return fmt.Errorf("%d members; want 1 to %d", o.Nodes, mostNodes)
	}
	if c.user, err = server.Unprivileged("etcd", "nobody"); err != nil {
		return err
	}
	if !c.user.MayRun(c.program) {
		c.user = nil
	}
	return o.Make(c.user, o.Nodes, c.makeNode)
}

// makeNode makes a member's folder; the member is not started.
func (c *Cluster) makeNode(at *machine.Machine) error {
	node := &server.Node{Number: len(c.nodes), Machine: at, User: c.user, IsError: isError}
	if err := c.options.Place(node, c.options.Ports, usualPort, "etcd", "etcd"); err != nil {
		return err
	}
	_, peer, err := c.options.Ports.For(at, usualPeerPort)
	c.nodes, c.peers = append(c.nodes, node), append(c.peers, net.JoinHostPort(node.Host, strconv.Itoa(peer)))
	return err
}

// isError finds errors in a log, by the levels of package zap. What is wrong with a flag is
// said before the log begins, and then all flags.
func isError(line string) bool {
	return strings.Contains(line, "flag provided but not defined") || strings.Contains(line, "invalid value") ||
		strings.Contains(line, `"level":"error"`) || strings.Contains(line, `"level":"panic"`) || strings.Contains(line, `"level":"fatal"`)
}

// nameOf is what a member is called.
func nameOf(i int) string { return "n" + strconv.Itoa(i+1) }

// arguments are the arguments of a member (manual 3.4, "Configuration options"). A member that has its
// data reads from there who the others are.
func (c *Cluster) arguments(node *server.Node) []string {
	var all []string
	for i, peer := range c.peers {
		all = append(all, nameOf(i)+"=http://"+peer)
	}
	peer := "http://" + c.peers[node.Number]
	client, state := "http://"+node.Address(), "new"
	if c.formed.Load() {
		state = "existing"
	}
	return append([]string{
		"--name", nameOf(node.Number), "--data-dir", c.Data(node.Number),
		"--listen-client-urls", client, "--advertise-client-urls", client,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
		"--initial-cluster", strings.Join(all, ","), "--initial-cluster-state", state,
		"--logger", "zap", "--log-outputs", "stderr",
	}, c.options.Args...)
}

// spawn starts a member's process and does not wait for it.
func (c *Cluster) spawn(node *server.Node, env ...string) error {
	return node.Spawn(server.ProcessOptions{Program: c.program, Args: c.arguments(node), Env: env})
}

// startAll starts all members before it waits for one: none serves without a majority. They
// are waited for at the same time, so that one that ends is told of at once.
func (c *Cluster) startAll(ctx context.Context) error {
	for _, node := range c.nodes {
		if err := c.spawn(node); err != nil {
			return err
		}
	}
	group, waiting := errgroup.WithContext(ctx)
	for _, node := range c.nodes {
		group.Go(func() error { return awaitPart(waiting, node) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	_, err := c.Primary(ctx)
	c.formed.Store(err == nil)
	return err
}

// Hosts are the members as clients reach them, HOST:PORT,HOST:PORT.
func (c *Cluster) Hosts() string { return server.Hosts(c.nodes) }

// Address is the URL of the whole cluster.
func (c *Cluster) Address() string {
	u := url.URL{Scheme: "etcd", Host: c.Hosts(), Path: "/"}
	return u.String()
}

// Nodes are all members.
func (c *Cluster) Nodes() []*server.Node { return c.nodes }

// Node is member i.
func (c *Cluster) Node(i int) *server.Node { return c.nodes[i] }

// Restart stops member i if it runs, starts it again with the same data and ports, with env
// added to its environment, and returns when it has its part in the cluster again. Where no
// majority runs, those that are paused left out, it returns when the other members can reach
// it: it serves nobody until there is a majority. Members whose network is cut are not known
// here, and waited for.
func (c *Cluster) Restart(ctx context.Context, i int, env ...string) error {
	node := c.nodes[i]
	return node.Restart(ctx, func(ctx context.Context) error {
		if err := c.spawn(node, env...); err != nil {
			return err
		}
		working := 0
		for _, n := range c.nodes {
			if works(n) {
				working++
			}
		}
		if 2*working > len(c.nodes) {
			return awaitPart(ctx, node)
		}
		return node.Await(ctx, func(ctx context.Context) error {
			return heard(ctx, c.peers[i])
		})
	})
}

// works reports whether a member runs and is not paused, as far as that can be seen.
func works(node *server.Node) bool {
	if !node.Running() {
		return false
	}
	halted, err := node.Process().Halted()
	return err != nil || !halted
}

// Close kills all members and removes their folder.
func (c *Cluster) Close() error { return server.Close(c.nodes, c.options.Dir) }
