package cluster

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"

	"assay/cluster/machine"
)

// Node is one server of a cluster. Its methods are safe for concurrent use.
type Node struct {
	cluster *Cluster
	number  int
	machine *machine.Machine
	arbiter bool
}

// Name is "n1", "n2" and so on.
func (n *Node) Name() string { return n.machine.Name() }

// Machine is where it lives.
func (n *Node) Machine() *machine.Machine { return n.machine }

// Arbiter reports whether the node only votes.
func (n *Node) Arbiter() bool { return n.arbiter }

// Member reports whether it is one of the cluster's Nodes; one that was removed
// is not.
func (n *Node) Member() bool { return slices.Contains(n.cluster.Nodes(), n) }

// Address is where its server listens, as host:port.
func (n *Node) Address() string { return n.cluster.product.HostPort(n.number) }

// host is the host of Address.
func (n *Node) host() string {
	host, _, _ := net.SplitHostPort(n.Address())
	return host
}

// Port is the port of Address.
func (n *Node) Port() int {
	_, port, _ := net.SplitHostPort(n.Address())
	number, _ := strconv.Atoi(port) // the products make it of a number
	return number
}

// PID is the id of its server's first process.
func (n *Node) PID() int { return n.process().PID() }

// Processes are the server's first process and all its descendants, where they
// can be seen (Linux); elsewhere the first one alone.
func (n *Node) Processes() ([]ProcessID, error) { return n.process().family() }

// Running reports whether the server has not ended; a paused one runs.
func (n *Node) Running() bool { return n.process().Running() }

// Log is the path of its log.
func (n *Node) Log() string { return n.process().options.Log }

// Tail returns the last lines of its log.
func (n *Node) Tail(lines int) string { return n.process().Tail(lines) }

// Kill ends the server as a power cut would; see Process.Kill.
func (n *Node) Kill() error { return n.process().Kill() }

// Stop ends the server in order; see Process.Stop.
func (n *Node) Stop(ctx context.Context) error { return n.process().Stop(ctx) }

// Pause stops the server where it is; see Process.Pause.
func (n *Node) Pause() error { return n.process().Pause() }

// Resume lets a paused server go on.
func (n *Node) Resume() error { return n.process().Resume() }

// Halted reports whether all processes of the server are stopped, as Pause
// leaves them.
func (n *Node) Halted() (bool, error) { return n.process().halted() }

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
	return n.cluster.record(n.cluster.kept())
}

func (n *Node) process() *Process { return n.cluster.product.process(n.number) }
