package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"assay/cluster/machine"
)

// Node is one server of a cluster: its address, its files and its present process. The exported
// fields do not change once the node is in use. Its methods are safe for concurrent use.
type Node struct {
	Number int
	// Name is for errors, such as "mongod 0 on port 20001".
	Name string
	// Machine is where it lives; nil means here, without limits.
	Machine *machine.Machine
	Host    string
	Port    int
	// Ports keeps the port reserved; nil if another node does.
	Ports *Ports
	// Dir is its private folder, Log its server's log file.
	Dir, Log string
	User     *User
	// IsError reports whether a line of the log says why the server gave up. The error about an
	// ended server repeats such lines. Nil means the log's last lines.
	IsError func(line string) bool

	// Changing serializes restarts, changes of membership, and the end.
	Changing sync.Mutex
	// Left is true while the node is no member of its cluster.
	Left atomic.Bool
	// Held is true while a fault keeps the server down, and nobody but that fault may start it.
	Held atomic.Bool

	process  atomic.Pointer[Process]  // nil until it is first started
	adjusted atomic.Pointer[[]string] // nil for the usual settings
	programs atomic.Pointer[string]   // what TakePrograms was told last
	forced   atomic.Pointer[time.Time]

	spawning sync.Mutex // between the decision to start a process and process
	closed   bool
}

// Place is where a product's only server lives. Zero means here, in a temporary folder.
type Place struct {
	Machine *machine.Machine
	// Dir is the private folder, new or empty; empty means a temporary one. Close removes it. An
	// empty Log means a file in Dir.
	Dir, Log string
}

// NewNode returns a node without a name. Its port is the usual one on a machine with an address of
// its own, and else one of ports.
func (p Place) NewNode(ports *Ports, usual int) (*Node, error) {
	n := &Node{Machine: p.Machine, Ports: ports}
	var err error
	if n.Host, n.Port, err = ports.For(p.Machine, usual); err != nil {
		return nil, err
	}
	if n.Dir, err = PrivateDir(FolderOn(p.Machine, p.Dir), nil); err != nil {
		return nil, err
	}
	n.Log = cmp.Or(p.Log, filepath.Join(n.Dir, "server.log"))
	return n, nil
}

// Address is the server's host:port.
func (n *Node) Address() string { return net.JoinHostPort(n.Host, strconv.Itoa(n.Port)) }

// Dial tries once to connect to the node from here, for no longer than bound.
func (n *Node) Dial(ctx context.Context, bound time.Duration) error {
	dialer := net.Dialer{Timeout: bound}
	conn, err := dialer.DialContext(ctx, "tcp", n.Address())
	if err != nil {
		return err
	}
	return conn.Close()
}

// Adjust replaces the server's usual settings, in its product's form, from its next start on; nil
// restores the usual ones.
func (n *Node) Adjust(settings []string) {
	if settings == nil {
		n.adjusted.Store(nil)
		return
	}
	n.adjusted.Store(&settings)
}

// Settings returns the settings of the last Adjust, or usual.
func (n *Node) Settings(usual []string) []string {
	if adjusted := n.adjusted.Load(); adjusted != nil {
		return *adjusted
	}
	return usual
}

// TakePrograms replaces the server's programs by those of the same names in folder/bin, from its
// next start on. An empty folder restores the usual programs.
func (n *Node) TakePrograms(folder string) { n.programs.Store(&folder) }

// Process is the server's present or last process; nil before the first start.
func (n *Node) Process() *Process { return n.process.Load() }

// Running reports whether the server was started and has not ended. A paused server runs.
func (n *Node) Running() bool {
	process := n.process.Load()
	return process != nil && process.Running()
}

// PID is the id of the server's first process.
func (n *Node) PID() int { return n.Process().PID() }

// Kill ends the server as a power cut would; see Process.Kill.
func (n *Node) Kill() error { return n.Process().Kill() }

// Stop ends the server in order; see Process.Stop.
func (n *Node) Stop(ctx context.Context) error {
	process := n.Process()
	err := process.Stop(ctx)
	if at := process.Forced(); at != nil {
		n.forced.Store(at)
	}
	return err
}

// Forced is when Stop or Halt last had to kill a process of the server; nil if they never had to.
func (n *Node) Forced() *time.Time { return n.forced.Load() }

// Pause stops the server where it is; see Process.Pause.
func (n *Node) Pause() error { return n.Process().Pause() }

// Resume continues a paused server.
func (n *Node) Resume() error { return n.Process().Resume() }

// Tail returns the last lines of the server's log.
func (n *Node) Tail(lines int) string { return tail(n.Log, lines) }

// Spawn starts the node's server; its fields override o's. After End it returns os.ErrClosed.
func (n *Node) Spawn(o ProcessOptions) error {
	n.spawning.Lock()
	defer n.spawning.Unlock()
	if n.closed {
		return os.ErrClosed
	}
	o.Name = n.Name
	process, err := StartProcess(n.own(o))
	if err != nil {
		return err
	}
	n.process.Store(process)
	return nil
}

// Run runs another program to its end, as the server would run.
func (n *Node) Run(ctx context.Context, o ProcessOptions) (*Process, error) {
	return Run(ctx, n.own(o))
}

func (n *Node) own(o ProcessOptions) ProcessOptions {
	o.Dir, o.User, o.Machine = n.Dir, n.User, n.Machine
	if folder := n.programs.Load(); folder != nil && *folder != "" {
		if program := Executable(filepath.Join(*folder, "bin", filepath.Base(o.Program))); program != "" {
			o.Program = program
		}
	}
	if o.Log == "" {
		o.Log = n.Log
	}
	return o
}

// Await asks until missing returns nil, which means that the server is ready. If the server ends
// meanwhile it returns at once: os.ErrClosed after End.
func (n *Node) Await(ctx context.Context, missing func(context.Context) error) error {
	const every = 20 * time.Millisecond // an answer takes a fraction of a millisecond
	process := n.Process()
	err := Until(ctx, every, n.Name, func(ctx context.Context) error {
		err := missing(ctx)
		switch {
		case err == nil || process.Running():
			return err
		case n.Closed():
			return Permanent(os.ErrClosed)
		}
		return Permanent(n.ended(process))
	})
	if err != nil && process.Running() {
		return fmt.Errorf("%w; its log ends with:\n%s", err, process.Tail(10))
	}
	return err
}

// ended adds the log's reasons, which a server may log before its shutdown.
func (n *Node) ended(process *Process) error {
	const most = 8
	var reasons []string
	for line := range strings.Lines(process.Tail(400)) {
		if line = strings.TrimSpace(line); n.IsError != nil && n.IsError(line) {
			reasons = append(reasons, line)
		}
	}
	err := process.Ended()
	if ended := (*EndedError)(nil); len(reasons) > 0 && errors.As(err, &ended) {
		reasons = reasons[max(len(reasons)-most, 0):]
		ended.Text += "\nerrors in it:\n" + strings.Join(reasons, "\n")
		ended.Reason = reasons[0]
	}
	return err
}

// NoneRuns is an error that says how these nodes ended, except those that assay ended.
func NoneRuns(nodes []*Node) error {
	all := []error{errors.New("no node runs")}
	for _, n := range nodes {
		if process := n.Process(); process != nil && process.Died() {
			all = append(all, n.ended(process))
		}
	}
	return errors.Join(all...)
}

// Halt stops the server if it runs. Having to kill it is no error: its next start recovers. The end
// of ctx does not hurry it: a server that is killed may lose what it keeps when it ends in order.
func (n *Node) Halt(ctx context.Context) error {
	if n.Process() == nil {
		return nil
	}
	if err := n.Stop(context.WithoutCancel(ctx)); err != nil && n.Running() {
		return err
	}
	return nil
}

// Restart halts the server and calls start. After End the error is os.ErrClosed.
func (n *Node) Restart(ctx context.Context, start func(context.Context) error) error {
	n.Changing.Lock()
	defer n.Changing.Unlock()
	err := os.ErrClosed
	if !n.Closed() {
		err = n.Halt(ctx)
	}
	if err == nil {
		err = start(ctx)
	}
	if err != nil {
		return fmt.Errorf("restart %s: %w", n.Name, err)
	}
	return nil
}

// End kills the server and prevents further starts.
func (n *Node) End() error {
	n.spawning.Lock()
	n.closed = true
	process := n.Process()
	n.spawning.Unlock()
	if process == nil {
		return nil
	}
	return process.Kill()
}

// Closed reports whether End was called.
func (n *Node) Closed() bool {
	n.spawning.Lock()
	defer n.spawning.Unlock()
	return n.closed
}

// Discard ends the node and removes its folder.
func (n *Node) Discard() error {
	if err := n.End(); err != nil {
		return err
	}
	return os.RemoveAll(n.Dir)
}

// Close ends all nodes, waits for restarts under way to give up, and removes the nodes' folder.
func Close(nodes []*Node, dir string) error {
	var failed []error
	for _, n := range nodes { // one that is about to start is not waited for
		failed = append(failed, n.End())
	}
	if errors.Join(failed...) == nil {
		for _, n := range nodes {
			n.Changing.Lock()
			defer n.Changing.Unlock()
		}
	}
	return errors.Join(append(failed, os.RemoveAll(dir))...)
}

// Hosts joins the nodes' addresses by commas, as URLs list hosts.
func Hosts(nodes []*Node) string {
	var hosts []string
	for _, n := range nodes {
		hosts = append(hosts, n.Address())
	}
	return strings.Join(hosts, ",")
}

// MachineAt returns machine i, or nil if there is none.
func MachineAt(machines []*machine.Machine, i int) *machine.Machine {
	if i < len(machines) {
		return machines[i]
	}
	return nil
}

// FolderOn returns usual, or a folder of the same name on the machine's own disk.
func FolderOn(m *machine.Machine, usual string) string {
	if m == nil || m.Folder() == "" || usual == "" {
		return usual
	}
	return filepath.Join(m.Folder(), filepath.Base(usual))
}
