package cluster

import (
	"context"
	"fmt"
	"slices"
	"time"

	"assay/cluster/machine"
	"assay/cluster/server"
)

// Node is a node or a server beside the nodes. Its methods are safe for concurrent use.
type Node struct {
	cluster *Cluster
	server  *server.Node
	machine *machine.Machine
	number  int // by which the product knows it
	arbiter bool
	// emptied is true of a node without data that the others do not take for a new one yet. It
	// belongs to the server's Changing.
	emptied bool
}

// Name is "n1", "n2"... for nodes. A server beside the nodes has its role's name, with a number if
// there are several.
func (n *Node) Name() string { return n.machine.Name() }

// Number is the node's place in its product, from 0.
func (n *Node) Number() int { return n.number }

// Machine is the machine that the node lives on.
func (n *Node) Machine() *machine.Machine { return n.machine }

// Role is one of Roles for a server beside the nodes, and empty for a node.
func (n *Node) Role() string { return RoleOf(n.Name()) }

// Arbiter reports whether the node only votes.
func (n *Node) Arbiter() bool { return n.arbiter }

// Member reports whether the node is among the cluster's Servers. A removed node is not.
func (n *Node) Member() bool { return slices.Contains(n.cluster.Servers(), n) }

// Address is the server's host:port.
func (n *Node) Address() string { return n.server.Address() }

// Dial tries once to connect to the node from here, for no longer than bound.
func (n *Node) Dial(ctx context.Context, bound time.Duration) error { return n.server.Dial(ctx, bound) }

// Port is the port of Address.
func (n *Node) Port() int { return n.server.Port }

// PID is the id of the server's first process.
func (n *Node) PID() int { return n.server.PID() }

// Processes are the server's first process and, on Linux, all its descendants.
func (n *Node) Processes() ([]server.ProcessID, error) { return n.server.Process().Processes() }

// Running reports whether the server has not ended. A paused server runs.
func (n *Node) Running() bool { return n.server.Running() }

// Folder is the folder of the server's files.
func (n *Node) Folder() string { return n.server.Dir }

// Log is the path of the server's log.
func (n *Node) Log() string { return n.server.Log }

// Tail returns the last lines of the log.
func (n *Node) Tail(lines int) string { return n.server.Tail(lines) }

// Kill ends the server as a power cut would; see server.Process.Kill.
func (n *Node) Kill() error { return n.server.Kill() }

// Stop ends the server in order; see server.Process.Stop.
func (n *Node) Stop(ctx context.Context) error { return n.server.Stop(ctx) }

// Forced is when Stop or Start last had to kill the server, which had not ended in order in its time;
// nil if they never had to.
func (n *Node) Forced() *time.Time { return n.server.Forced() }

// Pause stops the server where it is; see server.Process.Pause.
func (n *Node) Pause() error { return n.server.Pause() }

// Resume continues a paused server.
func (n *Node) Resume() error { return n.server.Resume() }

// Halted reports whether all processes of the server are stopped, as Pause leaves them.
func (n *Node) Halted() (bool, error) { return n.server.Process().Halted() }

// Hold says that a fault keeps the server down until Start, or until release. A product does not
// start it meanwhile to bring another one back.
func (n *Node) Hold() (release func()) {
	n.server.Held.Store(true)
	return func() { n.server.Held.Store(false) }
}

func (n *Node) beginStart(ctx context.Context) error {
	n.server.Held.Store(false)
	n.server.Changing.Lock()
	defer n.server.Changing.Unlock()
	return n.forget(ctx)
}

// Start stops the server if it runs, and starts it with its data. It returns when the server
// serves or has its part in the cluster. env, as NAME=value, is added to the environment of this
// start alone. For a removed node the error is a *MemberError.
func (n *Node) Start(ctx context.Context, env ...string) error {
	if !n.Member() {
		return &MemberError{Node: n.Name()}
	}
	if err := n.beginStart(ctx); err != nil {
		return fmt.Errorf("%s: %w", n.Name(), err)
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
