// Package etcd runs etcd clusters as local processes. It must not know how a spec asks for them.
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

// Options says how to run a cluster. The zero value has three members with etcd's own timing, in
// temporary folders. There is no access control: every user of this machine can connect.
type Options struct {
	// Layout.Nodes of 0 means three. An odd number tolerates as many losses as the next even one.
	server.Layout

	Ports *server.Ports
	// Args are further arguments of every etcd, such as "--election-timeout=500". The process list
	// shows them.
	Args []string
}

// Usual ports of etcd, and the largest useful number of members ("It is recommended to have an odd
// number of members", "not exceed 7", manual 3.4, "FAQ").
const (
	usualPort     = 2379
	usualPeerPort = 2380
	mostNodes     = 7
)

// Cluster is a cluster with members from 0. Its methods are safe for concurrent use.
type Cluster struct {
	options Options
	program string
	user    *server.User // as whom the members run; nil for ourselves
	nodes   []*server.Node
	peers   []string // host:port of each member for the others
	formed  atomic.Bool
}

// Program is the etcd server.
func Program() server.Program {
	return server.Program{Name: "etcd", Folders: []string{"/opt/homebrew/opt/etcd/bin", "/usr/local/opt/etcd/bin"},
		Get: "install etcd, or run scripts/install-servers.sh etcd"}
}

// Start returns when all members serve and have a leader, or a *server.MissingError.
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

// fillIn runs members as an unprivileged user if we are root and that user can run the program.
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

func (c *Cluster) makeNode(at *machine.Machine) error {
	node := &server.Node{Number: len(c.nodes), Machine: at, User: c.user, IsError: isError}
	if err := c.options.Place(node, c.options.Ports, usualPort, "etcd", "etcd"); err != nil {
		return err
	}
	_, peer, err := c.options.Ports.For(at, usualPeerPort)
	c.nodes, c.peers = append(c.nodes, node), append(c.peers, net.JoinHostPort(node.Host, strconv.Itoa(peer)))
	return err
}

// isError finds errors by the levels of package zap. etcd reports a wrong flag before its log
// begins, followed by all flags.
func isError(line string) bool {
	return strings.Contains(line, "flag provided but not defined") || strings.Contains(line, "invalid value") ||
		strings.Contains(line, `"level":"error"`) || strings.Contains(line, `"level":"panic"`) || strings.Contains(line, `"level":"fatal"`)
}

func nameOf(i int) string { return "n" + strconv.Itoa(i+1) }

// arguments are in manual 3.4, "Configuration options". With data a member ignores the others'
// list.
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

func (c *Cluster) spawn(node *server.Node, env ...string) error {
	return node.Spawn(server.ProcessOptions{Program: c.program, Args: c.arguments(node), Env: env})
}

// startAll starts all members before it waits, since none serves without a majority. It waits for
// all at the same time, so that it reports one that ends at once.
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

// Hosts are the members' addresses for clients, HOST:PORT,HOST:PORT.
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

// Restart starts member i again with env, and returns when it has its part. Without an unpaused
// majority it returns when the member answers other members. It waits for members with a cut
// network.
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

// works also reports true if a pause cannot be seen.
func works(node *server.Node) bool {
	if !node.Running() {
		return false
	}
	halted, err := node.Process().Halted()
	return err != nil || !halted
}

// Close kills all members and removes their folder.
func (c *Cluster) Close() error { return server.Close(c.nodes, c.options.Dir) }
