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
	"assay/internal/subprocess"
)

// Hosts is a database on the user's machines. The user's commands, such as ssh, do the faults, and
// what is seen from here proves them. ParseHosts makes it.
type Hosts struct {
	// Primary returns what the server that takes writes calls itself, host or host:port. Several
	// goroutines may call it.
	Primary func(ctx context.Context) (string, error)

	nodes []host
	acts  map[string]hostAct
}

type host struct{ name, address string }

func (h host) Name() string { return h.name }

// Addresses are the nodes' names, n1 and so on, and their addresses as host:port.
func (h *Hosts) Addresses() (names, addresses []string) {
	for _, n := range h.nodes {
		names, addresses = append(names, n.name), append(addresses, n.address)
	}
	return names, addresses
}

// Check returns a joined *UnavailableError or *TargetError for each fault without a command or node
// in the file.
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

// answersTo reports whether the name that a server calls itself is the node's: its address, or one
// that its host's name resolves to.
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

type command struct {
	host
	hostAct
	fault Fault
	about Action
	// healer undoes the action if assay ends first, even by a kill: it waits for a word, and the
	// pipe then closes without one. It is nil if there is nothing to undo.
	healer *exec.Cmd
	word   io.WriteCloser
}

const commandBound = time.Minute

// shell is a command with NODE, HOST, PORT and VALUE, the fault's as written, in its environment.
func (c *command) shell(ctx context.Context, text string) *exec.Cmd {
	machine, port, _ := net.SplitHostPort(c.address)
	value := ""
	if c.fault.Value != nil {
		_, value, _ = strings.Cut(strings.Fields(c.fault.String())[0], "=")
	}
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", text)
	cmd.Env = append(os.Environ(), "NODE="+c.name, "HOST="+machine, "PORT="+port, "VALUE="+value)
	cmd.WaitDelay = time.Second // for child processes that hold our pipes
	subprocess.Detach(cmd)
	cmd.Cancel = func() error { return subprocess.Kill(cmd) }
	return cmd
}

// run runs a command, and ends it and what it has started if it takes too long or ctx ends. What a
// command has left behind after its success goes on.
func (c *command) run(ctx context.Context, text string) (last string, err error) {
	ctx, cancel := context.WithTimeout(ctx, commandBound)
	defer cancel()
	var said lastBytes
	cmd := c.shell(ctx, text)
	cmd.Stdout, cmd.Stderr = &said, &said
	err = cmd.Run()
	switch {
	case errors.Is(err, exec.ErrWaitDelay): // it succeeded, and what it has left behind has our pipe
		err = nil
	case err != nil && ctx.Err() != nil:
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

// verify runs the proof or, without one, checks that the address does not answer.
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

// undo releases the healer only after success: until then it would undo too.
func (c *command) undo(ctx context.Context) error {
	if c.healer == nil {
		return nil
	}
	if _, err := c.run(ctx, c.Undo); err != nil {
		return err
	}
	_, err := io.WriteString(c.word, "healed\n")
	return errors.Join(err, c.release())
}

// release lets the healer go, which undoes the action unless it was told the word. It must be there.
func (c *command) release() error {
	healer := c.healer
	c.healer = nil
	err := c.word.Close()
	late := time.AfterFunc(commandBound, func() { _ = subprocess.Kill(healer) })
	defer late.Stop()
	return errors.Join(err, healer.Wait())
}

// restore lets the healer try where undo has failed. Whether the server answers shows what came of
// it.
func (c *command) restore(ctx context.Context) (string, error) {
	if c.healer != nil {
		_ = c.release()
	}
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
