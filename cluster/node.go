package cluster

import (
	"context"
	"fmt"
	"slices"
	"time"

	"assay/cluster/machine"
	"assay/cluster/server"
)

// Node is one server of a cluster, or of those beside its nodes. Its methods are safe for concurrent use.
type Node struct {
	cluster *Cluster
	server  *server.Node
	machine *machine.Machine
	number  int // by which the product knows it
	arbiter bool
}

// Name is "n1", "n2" and so on; of a server beside the nodes its role, and a number where there are
// several.
func (n *Node) Name() string { return n.machine.Name() }

// Number is its place among the nodes of its product, from 0.
func (n *Node) Number() int { return n.number }

// Machine is where it lives.
func (n *Node) Machine() *machine.Machine { return n.machine }

// Role is one of Roles for a server beside the nodes, and empty for a node.
func (n *Node) Role() string { return RoleOf(n.Name()) }

// Arbiter reports whether the node only votes.
func (n *Node) Arbiter() bool { return n.arbiter }

// Member reports whether it is one of the cluster's Servers; one that was removed
// is not.
func (n *Node) Member() bool { return slices.Contains(n.cluster.Servers(), n) }

// Address is where its server listens, as host:port.
func (n *Node) Address() string { return n.server.Address() }

// Dial tries once, for no longer than bound, to make a connection to the node from here.
func (n *Node) Dial(ctx context.Context, bound time.Duration) error { return n.server.Dial(ctx, bound) }

// Port is the port of Address.
func (n *Node) Port() int { return n.server.Port }

// PID is the id of its server's first process.
func (n *Node) PID() int { return n.server.PID() }

// Processes are the server's first process and all its descendants, where they
// can be seen (Linux); elsewhere the first one alone.
func (n *Node) Processes() ([]server.ProcessID, error) { return n.server.Process().Processes() }

// Running reports whether the server has not ended; a paused one runs.
func (n *Node) Running() bool { return n.server.Running() }

// Folder is where its files are.
func (n *Node) Folder() string { return n.server.Dir }

// Log is the path of its log.
func (n *Node) Log() string { return n.server.Log }

// Tail returns the last lines of its log.
func (n *Node) Tail(lines int) string { return n.server.Tail(lines) }

// Kill ends the server as a power cut would; see server.Process.Kill.
func (n *Node) Kill() error { return n.server.Kill() }

// Stop ends the server in order; see server.Process.Stop.
func (n *Node) Stop(ctx context.Context) error { return n.server.Stop(ctx) }

// Pause stops the server where it is; see server.Process.Pause.
func (n *Node) Pause() error { return n.server.Pause() }

// Resume lets a paused server go on.
func (n *Node) Resume() error { return n.server.Resume() }

// Halted reports whether all processes of the server are stopped, as Pause
// leaves them.
func (n *Node) Halted() (bool, error) { return n.server.Process().Halted() }

// Start starts the server again with its data, stopping it first if it runs,
// and returns when it serves or has its part in the cluster again. env is added
// to its environment this once, as NAME=value. One that was removed is not
// started: the error is a *MemberError.
func (n *Node) Start(ctx context.Context, env ...string) error {
	if !n.Member() {
		return &MemberError{Node: n.Name()}
	}
	if err := n.cluster.product.Restart(ctx, n.number, env...); err != nil {
		return fmt.Errorf("%s: %w", n.Name(), err)
	}
	if d := n.disk(); d != nil {
		if err := d.Sync(); err != nil {
			return fmt.Errorf("%s: %w", n.Name(), err)
		}
	}
	return n.cluster.record(n.cluster.kept())
}
