package fault

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"assay/cluster/server"
)

// Hosts is a database whose nodes are machines of the user's: what is done to them is done by commands
// of the user's, such as ssh, and proven by what is seen of it from here. ParseHosts makes it.
type Hosts struct {
	// Primary says how the server that takes writes calls itself, host or host:port; it
	// may be called from several goroutines.
	Primary func(ctx context.Context) (string, error)

	nodes []host
	acts  map[string]hostAct
}

// host is one node.
type host struct{ name, address string }

// Name implements named.
func (h host) Name() string { return h.name }

// Addresses are the nodes' names, n1 and so on, and their addresses as host:port.
func (h *Hosts) Addresses() (names, addresses []string) {
	for _, n := range h.nodes {
		names, addresses = append(names, n.name), append(addresses, n.address)
	}
	return names, addresses
}

// Check tells by an *UnavailableError or a *TargetError each, joined, of faults for which the file has no
// command, or no node.
func (h *Hosts) Check(faults []Fault) error {
	members, _ := h.members(context.Background())
	var failed []error
	for _, f := range faults {
		failed = append(failed, errors.Join(checkTarget(f, members), h.check(context.Background(), f)))
	}
	return errors.Join(failed...)
}

func (h *Hosts) members(context.Context) (all []member, _ error) {
	for _, n := range h.nodes {
		all = append(all, member{name: n.name})
	}
	return all, nil
}

func (h *Hosts) primaries(ctx context.Context) ([]string, error) {
	return askPrimary(ctx, h.Primary, func(ctx context.Context, called string) (string, error) {
		for _, n := range h.nodes {
			if n.answersTo(ctx, called) {
				return n.name, nil
			}
		}
		return "", fmt.Errorf("the server that takes writes calls itself %s, which is the address of no node; name a node, or write any", called)
	})
}

// answersTo reports whether a server that calls itself so is the node's: by its address, or by one that
// its host's name stands for.
func (h host) answersTo(ctx context.Context, called string) bool {
	at, port, err := net.SplitHostPort(called)
	if err != nil {
		at, port = called, ""
	}
	at, _, _ = strings.Cut(at, "/") // an inet of PostgreSQL may have its prefix length
	own, ownPort, _ := net.SplitHostPort(h.address)
	if port != "" && port != ownPort {
		return false
	}
	if at == own {
		return true
	}
	found, _ := net.DefaultResolver.LookupHost(ctx, own)
	return slices.Contains(found, at)
}

func (h *Hosts) running(name string) bool {
	i := slices.IndexFunc(h.nodes, func(n host) bool { return n.name == name })
	return i >= 0 && h.nodes[i].dial(context.Background()) == nil
}

func (h host) dial(ctx context.Context) error {
	conn, err := (&net.Dialer{Timeout: dialBound}).DialContext(ctx, "tcp", h.address)
	if err != nil {
		return err
	}
	return conn.Close()
}

func (h *Hosts) check(_ context.Context, f Fault) error {
	if _, there := h.acts[f.Action]; !there {
		return &UnavailableError{Action: f.Action, Reason: "the file of nodes has no command for it", Instead: "write acts: and below it " + f.Action + ": {do: ..., undo: ...}"}
	}
	if all, _ := sides(f.Target); len(all) != 1 {
		return &UnavailableError{Action: f.Action, Reason: "commands are done to one node each", Instead: "name a node, or primary, any or all"}
	}
	return nil
}

func (h *Hosts) prepare(f Fault, c choice, _ acquirer) (injector, error) {
	about, _ := Lookup(f.Action)
	var all together
	for _, n := range h.nodes {
		if slices.Contains(c.nodes, n.name) {
			all = append(all, &command{host: n, hostAct: h.acts[f.Action], fault: f, about: about})
		}
	}
	return all, nil
}

// command is an action on one node by its commands.
type command struct {
	host
	hostAct
	fault Fault
	about Action
	// healer undoes it should assay end before it does, even by a kill: it waits for a word that
	// never comes then. nil where nothing is to be undone.
	healer *exec.Cmd
	word   io.WriteCloser
}

// commandBound is how long a command may take.
const commandBound = time.Minute

// shell is a command with what it is about in its environment: NODE, HOST, PORT, and VALUE, the fault's
// as it is written.
func (c *command) shell(ctx context.Context, text string) *exec.Cmd {
	machine, port, _ := net.SplitHostPort(c.address)
	value := ""
	if c.fault.Value != nil {
		_, value, _ = strings.Cut(strings.Fields(c.fault.String())[0], "=")
	}
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", text)
	cmd.Env = append(os.Environ(), "NODE="+c.name, "HOST="+machine, "PORT="+port, "VALUE="+value)
	cmd.WaitDelay = time.Second // of what it has left behind with our pipes
	return cmd
}

// run runs a command to its end, and returns the last line that it printed.
func (c *command) run(ctx context.Context, text string) (last string, err error) {
	ctx, cancel := context.WithTimeout(ctx, commandBound)
	defer cancel()
	var said lastBytes
	cmd := c.shell(ctx, text)
	cmd.Stdout, cmd.Stderr = &said, &said
	err = cmd.Run()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	lines := strings.Split(strings.TrimSpace(said.String()), "\n")
	last = lines[len(lines)-1]
	if err != nil && last != "" {
		err = fmt.Errorf("%w: %s", err, last)
	}
	return last, err
}

func (c *command) inject(ctx context.Context) error {
	if c.Undo != "" {
		// A signal to the terminal's processes is for assay, which heals by itself then.
		c.healer = c.shell(context.WithoutCancel(ctx), "trap '' INT TERM HUP; read -r healed || (\n"+c.Undo+"\n)")
		var err error
		if c.word, err = c.healer.StdinPipe(); err == nil {
			err = c.healer.Start()
		}
		if err != nil {
			c.healer = nil
			return fmt.Errorf("start what heals it should assay be killed: %w", err)
		}
	}
	_, err := c.run(ctx, c.Do)
	return err
}

// verify is the command for it, or that the address does not answer.
func (c *command) verify(ctx context.Context, _ bool) (observation, error) {
	if c.Proof != "" {
		said, err := c.run(ctx, c.Proof)
		if err != nil {
			return observation{text: "its proof says no (" + err.Error() + ")"}, nil
		}
		return observation{proven: true, text: strings.TrimSuffix("its proof says yes: "+said, ": ")}, nil
	}
	err := c.dial(ctx)
	switch {
	case err == nil:
		return observation{text: c.address + " answers all the same; a proof: in the file of nodes would look otherwise"}, nil
	case errors.Is(err, syscall.ECONNREFUSED):
		return observation{proven: c.about.silences, text: c.address + " refuses connections"}, nil
	}
	return observation{proven: c.about.silences, text: c.address + " does not answer"}, nil
}

// undo takes it back, and lets the healer go once that is done: until then it would try, too.
func (c *command) undo(ctx context.Context) error {
	if c.healer == nil {
		return nil
	}
	_, err := c.run(ctx, c.Undo)
	if err == nil {
		_, err = io.WriteString(c.word, "healed\n")
	}
	err = errors.Join(err, c.word.Close())
	late := time.AfterFunc(commandBound, func() { _ = c.healer.Process.Kill() })
	defer late.Stop()
	return errors.Join(err, c.healer.Wait())
}

func (c *command) restore(ctx context.Context) (string, error) {
	if err := server.Until(ctx, 100*time.Millisecond, "an answer of "+c.address, c.dial); err != nil {
		return "", err
	}
	return c.address + " answers", nil
}

// lastBytes keeps the end of what is written.
type lastBytes struct {
	mu   sync.Mutex
	kept bytes.Buffer
}

// mostKept is how much lastBytes keeps at least.
const mostKept = 4 << 10

func (l *lastBytes) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept.Write(p)
	if n := l.kept.Len(); n > 2*mostKept {
		l.kept.Next(n - mostKept)
	}
	return len(p), nil
}

func (l *lastBytes) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.kept.String()
}
