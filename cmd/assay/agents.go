package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"assay/internal/subprocess"
	"assay/runner"
	"assay/runner/agents"
	"assay/store"
)

const (
	engineVariable = "ASSAY_ENGINE"
	secretVariable = "ASSAY_ENGINE_SECRET"
	// localPrefix in --agents starts agents on this machine.
	localPrefix = "local:"
	mostAgents  = 1000
	engineUsage = "the NATS through which agents are reached, with JetStream: nats://HOST:PORT or tls://...?ca=FILE&creds=FILE; may come from " + engineVariable
)

type agentFlags struct {
	agents, engine, loss string
	timeout              time.Duration
}

// add leaves out --engine if the workload has such a flag for a database's engine.
func (f *agentFlags) add(flags *pflag.FlagSet, ownEngine bool) {
	flags.StringVar(&f.agents, "agents", "", "wait for so many agents and share the work among them; local:N starts them here")
	if !ownEngine {
		flags.StringVar(&f.engine, "engine", "", "with --agents: "+engineUsage+"; HOST:PORT is where to start one (default a free port of loopback; 0.0.0.0:0 for agents elsewhere)")
	}
	flags.StringVar(&f.loss, "agent-loss", "stop", "with --agents: when one is lost, stop or continue with the others; the figures are invalid either way")
	addTime(flags, &f.timeout, "agent-timeout", 10*time.Second, "with --agents: an agent that is silent for so long is lost, and stops by itself")
}

// share starts what agents need; a is nil if none were asked for. close ends it. watched is the
// flag that asks for figures of this process's clients, if any.
func (f *agentFlags) share(ctx context.Context, watched string, stderr io.Writer) (a *runner.Agents, close func(), err error) {
	if f.agents == "" {
		return nil, func() {}, nil
	}
	if watched != "" {
		return nil, nil, usageError{errors.New(watched + " tells what the clients of this process do; with --agents it has none: leave one of them out")}
	}
	count, local, err := f.count()
	if err != nil {
		return nil, nil, err
	}
	engine, err := f.open(ctx, stderr)
	if err != nil {
		return nil, nil, err
	}
	a = &runner.Agents{Engine: engine, Pool: agents.AnyPool, Count: count, Continue: f.loss == "continue", Timeout: f.timeout}
	if !local {
		fmt.Fprintf(stderr, "assay: start each agent%s with\n  %s\n", whereabouts(engine), joinLine(engine))
		return a, engine.Close, nil
	}
	a.Pool = "local-" + strconv.Itoa(os.Getpid()) + "-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	children := &localAgents{}
	if err := children.start(count, engine.Join(), a.Pool); err != nil {
		children.close()
		engine.Close()
		return nil, nil, err
	}
	a.Processes, a.Address = children.processes, children.address
	return a, func() { children.close(); engine.Close() }, nil
}

// joinLine is the command that starts an agent. It shows no credentials of a user's own engine.
func joinLine(e *agents.Engine) string {
	if e.Embedded() {
		return engineVariable + "='" + e.Join() + "' assay agent"
	}
	return "assay agent --join '" + agents.Redact(e.Join()) + "'"
}

// whereabouts says how agents can reach an engine that listens on loopback.
func whereabouts(e *agents.Engine) string {
	u, err := url.Parse(e.Join())
	if !e.Embedded() || err != nil {
		return ""
	}
	if ip := net.ParseIP(u.Hostname()); ip != nil && ip.IsLoopback() {
		return " on this machine (on others: --engine 0.0.0.0:0)"
	}
	return ""
}

// number is how many agents are asked for; 0 if the work is not shared.
func (f *agentFlags) number() (int, error) {
	if f.agents == "" {
		return 0, nil
	}
	n, _, err := f.count()
	return n, err
}

func (f *agentFlags) count() (n int, local bool, err error) {
	text, local := strings.CutPrefix(f.agents, localPrefix)
	n, err = strconv.Atoi(text)
	switch {
	case err != nil || n < 1 || n > mostAgents:
		return 0, false, usageError{fmt.Errorf("--agents %q cannot be used; want 1 to %d, or local:N to start N here", f.agents, mostAgents)}
	case f.loss != "stop" && f.loss != "continue":
		return 0, false, usageError{fmt.Errorf("--agent-loss %q cannot be used; want stop or continue", f.loss)}
	case f.timeout < time.Second:
		return 0, false, usageError{fmt.Errorf("--agent-timeout %v cannot be used; want 1s or more", f.timeout)}
	}
	return n, local, nil
}

func (f *agentFlags) open(ctx context.Context, stderr io.Writer) (*agents.Engine, error) {
	address, err := engineAddress("--engine", f.engine, stderr)
	if err != nil {
		return nil, err
	}
	if strings.Contains(address, "://") {
		return agents.Open(ctx, address)
	}
	if address == "" {
		address = "127.0.0.1:0"
	}
	return agents.Start(address, os.Getenv(secretVariable))
}

// engineAddress is from the flag, or else from the environment; it may be empty. It warns of a
// password on the command line.
func engineAddress(flag, address string, stderr io.Writer) (string, error) {
	if path, is := strings.CutPrefix(address, filePrefix); is {
		address, err := addressInFile(flag, path)
		if err != nil {
			return "", usageError{err}
		}
		return address, nil
	}
	if address == "" {
		return os.Getenv(engineVariable), nil
	}
	if store.HoldsPassword(address) {
		warnOfPassword(stderr, flag, engineVariable+" or "+flag+" @FILE")
	}
	return address, nil
}

// localAgents are agents that this process starts. Closing their standard input ends them, and it
// brings them the databases' addresses.
type localAgents struct {
	all []*localAgent
}

type localAgent struct {
	cmd    *exec.Cmd
	input  io.WriteCloser
	output lastLines
}

func (l *localAgents) start(n int, engine, pool string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find assay's own program: %w", err)
	}
	for range n {
		a := &localAgent{cmd: exec.Command(self, "agent", "--pool", pool, "--attached", "--quiet")}
		subprocess.Detach(a.cmd) // an interrupt is this process's to pass on
		a.cmd.Env = append(os.Environ(), engineVariable+"="+engine)
		a.cmd.Stderr = &a.output
		if a.input, err = a.cmd.StdinPipe(); err != nil {
			return err
		}
		if err := a.cmd.Start(); err != nil {
			return fmt.Errorf("start an agent: %w", err)
		}
		l.all = append(l.all, a)
	}
	return nil
}

func (l *localAgents) processes() (all []int) {
	for _, a := range l.all {
		all = append(all, a.cmd.Process.Pid)
	}
	return all
}

// address sends the agents the next run's database address with its password.
func (l *localAgents) address(address string) error {
	for i, a := range l.all {
		if _, err := io.WriteString(a.input, address+"\n"); err != nil {
			return errors.Join(fmt.Errorf("agent %d has ended: %s", i+1, a.output.String()), err)
		}
	}
	return nil
}

const localEnd = 30 * time.Second

func (l *localAgents) close() {
	for _, a := range l.all {
		_ = a.input.Close() // it ends then, if it has not
	}
	for _, a := range l.all {
		late := time.AfterFunc(localEnd, func() { _ = a.cmd.Process.Kill() }) // fails if it has ended
		_ = a.cmd.Wait()                                                      // what it did is in the run's result
		late.Stop()
	}
}

// lastLines keeps the end of a process's output. It is safe for concurrent use.
type lastLines struct {
	mu   sync.Mutex
	text []byte
}

const maxLastLines = 4 << 10

func (l *lastLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, p...)
	l.text = l.text[max(len(l.text)-maxLastLines, 0):]
	return len(p), nil
}

func (l *lastLines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(bytes.TrimSpace(l.text))
}
