// Package server runs the servers of a cluster as local processes: it finds the
// programs, starts them in private folders on loopback ports or on the machines
// that it is given, kills, stops, pauses and restarts them, and leaves nothing
// behind, not even when assay itself is killed. It knows no database product.
package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"assay/cluster/machine"
)

// ProcessOptions says what to start and how.
type ProcessOptions struct {
	// Name is what errors call the process, such as "postgres on port 20001".
	Name string
	// Program is the path of the executable.
	Program string
	// Args are its arguments, without the program's name. They are visible in
	// the machine's process list: never a password.
	Args []string
	// Env is added to a minimal environment (PATH, HOME, LC_ALL, TZ). Nothing
	// else of our own environment reaches the process.
	Env []string
	// Dir is the process's private folder: its working directory and HOME.
	Dir string
	// Log is the file that takes standard output and standard error; it is
	// appended to.
	Log string
	// User runs the process as somebody else; nil means as ourselves.
	User *User
	// Machine is where the process lives; nil means here, without limits.
	Machine *machine.Machine
	// Apart has the process and all that it starts live as if alone on their machine: they
	// see no other process, and System V memory and /dev/shm are theirs. All of it ends with
	// the process, also what has let go of it, as the PostgreSQL of a program that manages it
	// does. It takes Linux and root, else the error is a *machine.UnsupportedError.
	Apart bool
	// FenceStatus is the exit status with which the program ends itself so that it takes no
	// writes any more, as its manual has it; 0 if it never does.
	FenceStatus int
	// StopSignal asks the process to end; 0 means SIGTERM.
	StopSignal syscall.Signal
	// StopAgain is after how long StopSignal is sent once more, again and again, to a server that
	// may refuse the first one; 0 means that one signal has to do.
	StopAgain time.Duration
	// StopBound is how long Stop waits before it kills; 0 means 30 seconds.
	StopBound time.Duration
}

// Process is a started program with all its descendants. Its methods are safe
// for concurrent use. Signals reach the whole tree, because the children of a
// server do its work: a PostgreSQL whose first process alone is stopped goes on
// serving. (Only Linux lets us see the tree; elsewhere signals go to the
// process group, which a child can leave.)
type Process struct {
	options ProcessOptions
	process *os.Process
	exited  chan struct{}
	err     error       // how it ended; read after exited is closed
	asked   atomic.Bool // somebody ended it: Kill or Stop, while it ran

	mu     sync.Mutex // one signal operation at a time
	paused bool
}

// StartProcess starts the program in a process group of its own, so that an
// interrupt typed at the terminal does not reach it. On Linux the kernel kills
// the process when assay dies, however it dies.
func StartProcess(o ProcessOptions) (*Process, error) {
	if o.StopSignal == 0 {
		o.StopSignal = syscall.SIGTERM
	}
	if o.StopBound == 0 {
		o.StopBound = 30 * time.Second
	}
	log, err := os.OpenFile(o.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", o.Name, err)
	}
	defer log.Close()
	// The program's name must not be looked up in PATH again.
	program, err := filepath.Abs(o.Program)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", o.Name, err)
	}
	cmd := &exec.Cmd{
		Path: program, Args: append([]string{program}, o.Args...), Dir: o.Dir,
		Env: append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + o.Dir, "LC_ALL=C", "TZ=UTC"}, o.Env...),
		// Files, not pipes: a pipe would need a goroutine of ours to drain it.
		Stdout: log, Stderr: log,
		SysProcAttr: processAttributes(o.User),
	}
	if o.Apart {
		if err := setApart(cmd, o); err != nil {
			return nil, fmt.Errorf("start %s: %w", o.Name, err)
		}
	}
	p := &Process{options: o, exited: make(chan struct{})}
	if err := p.run(cmd); err != nil {
		return nil, fmt.Errorf("start %s: %w", o.Name, err)
	}
	return p, nil
}

// run starts cmd and keeps a goroutine that waits for its end.
func (p *Process) run(cmd *exec.Cmd) error {
	started := make(chan error)
	go func() {
		// The parent whose death the kernel reports (PR_SET_PDEATHSIG, see
		// prctl(2)) is the thread that forked, not the program. A thread of
		// Go's runtime may end at any time, and the server would be killed
		// with it; so this goroutine owns its thread as long as the server
		// lives.
		unlock := lockThread()
		defer unlock()
		err := p.startOn(p.options.Machine, cmd)
		p.process = cmd.Process
		started <- err
		if err != nil {
			return
		}
		p.err = cmd.Wait()
		close(p.exited)
	}()
	return <-started
}

// startOn starts cmd on the machine and under its limits. It is called on a
// thread of its own.
func (p *Process) startOn(m *machine.Machine, cmd *exec.Cmd) error {
	if m == nil {
		return cmd.Start()
	}
	err := m.Run(cmd.Start)
	if cmd.Process == nil {
		return err
	}
	if err == nil { // else the process runs, but this thread is still there
		err = m.Adopt(cmd.Process.Pid)
	}
	if err != nil {
		return errors.Join(err, cmd.Process.Kill(), ignoreExit(cmd.Wait()))
	}
	return nil
}

// ignoreExit drops the error that a killed process ends with.
func ignoreExit(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil
	}
	return err
}

// PID is the process's id. It may be another's once the process has ended.
func (p *Process) PID() int { return p.process.Pid }

// Running reports whether the process has not ended yet; a paused one runs.
func (p *Process) Running() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// Wait returns when the process has ended: nil after exit status 0, else an
// error with the last lines of its log. When ctx ends first it returns ctx's
// error and leaves the process alone.
func (p *Process) Wait(ctx context.Context) error {
	select {
	case <-p.exited:
		if p.err == nil {
			return nil
		}
		return p.Ended()
	case <-ctx.Done():
		return fmt.Errorf("wait for %s: %w", p.options.Name, ctx.Err())
	}
}

// Ended describes an end that nobody asked for. It must only be called after the
// process has ended.
func (p *Process) Ended() error {
	tail := strings.TrimSpace(p.Tail(10))
	return &EndedError{
		Text:   fmt.Sprintf("%s ended (%s); its log %s ends with:\n%s", p.options.Name, p.How(), p.options.Log, tail),
		Reason: tail[strings.LastIndex(tail, "\n")+1:],
	}
}

// How says how the process ended, once it has.
func (p *Process) How() string {
	if p.err == nil {
		return "exit status 0"
	}
	how := p.err.Error()
	if how == "signal: killed" && !p.asked.Load() {
		how += ", by nobody here; the kernel does that when memory runs out, and dmesg tells"
	}
	return how
}

// Died reports whether the process has ended though nobody here ended it.
func (p *Process) Died() bool { return !p.Running() && !p.asked.Load() }

// Fenced reports whether it died of its own fence; see ProcessOptions.FenceStatus.
func (p *Process) Fenced() bool {
	var exit *exec.ExitError
	return p.options.FenceStatus != 0 && p.Died() && errors.As(p.err, &exit) && exit.ExitCode() == p.options.FenceStatus
}

// Kill ends the process and its descendants with SIGKILL, as a power cut would,
// and returns when all are gone. A process that has ended already is no error.
func (p *Process) Kill() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.kill()
}

func (p *Process) kill() error {
	if !p.Running() {
		return nil
	}
	p.asked.Store(true)
	if err := killTree(p.process); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill %s: %w", p.options.Name, err)
	}
	<-p.exited
	p.paused = false
	return nil
}

// Stop asks the process to end, resuming it first if it is paused, and kills
// it after StopBound or when ctx ends. It returns when the process is gone. An
// error means that it had to be killed, or could not be.
func (p *Process) Stop(ctx context.Context) error {
	return p.StopWith(ctx, p.options.StopSignal)
}

// StopWith is Stop with another signal.
func (p *Process) StopWith(ctx context.Context, signal syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.Running() {
		return nil
	}
	p.asked.Store(true)
	if err := p.resume(); err != nil {
		return err
	}
	if err := p.process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop %s: %w", p.options.Name, err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, p.options.StopBound,
		fmt.Errorf("it still ran %v after %v", p.options.StopBound, signal))
	defer cancel()
	var again <-chan time.Time
	if p.options.StopAgain > 0 {
		ticker := time.NewTicker(p.options.StopAgain)
		defer ticker.Stop()
		again = ticker.C
	}
	for {
		select {
		case <-p.exited:
			return nil
		case <-again:
			if err := p.process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
				return fmt.Errorf("stop %s: %w", p.options.Name, err)
			}
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("stop %s: killed, since %w", p.options.Name, context.Cause(ctx)), p.kill())
		}
	}
}

// Pause stops the process and its descendants where they are (SIGSTOP), and
// returns when they have stopped.
func (p *Process) Pause() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.Running() {
		return fmt.Errorf("pause %s: %w", p.options.Name, os.ErrProcessDone)
	}
	p.paused = true
	if err := stopTree(p.process); err != nil {
		return fmt.Errorf("pause %s: %w", p.options.Name, err)
	}
	return nil
}

// Resume lets a paused process go on. One that is not paused is no error.
func (p *Process) Resume() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.Running() {
		return fmt.Errorf("resume %s: %w", p.options.Name, os.ErrProcessDone)
	}
	return p.resume()
}

func (p *Process) resume() error {
	if !p.paused {
		return nil
	}
	if err := continueTree(p.process); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("resume %s: %w", p.options.Name, err)
	}
	p.paused = false
	return nil
}

// Run runs a program to its end. When ctx ends first it is killed. The process
// that is returned has ended.
func Run(ctx context.Context, o ProcessOptions) (*Process, error) {
	p, err := StartProcess(o)
	if err != nil {
		return nil, err
	}
	if err := p.Wait(ctx); err != nil {
		return nil, errors.Join(err, p.Kill())
	}
	return p, nil
}

// Tail returns the last n lines of the log, or why there are none.
func (p *Process) Tail(n int) string { return tail(p.options.Log, n) }

// tail reads at most the last 64 KiB, so that a huge log does no harm.
func tail(path string, n int) string {
	const most = 64 << 10
	file, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Size() > most {
		if _, err := file.Seek(-most, io.SeekEnd); err != nil {
			return err.Error()
		}
	}
	data, err := io.ReadAll(io.LimitReader(file, most))
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(string(bytes.TrimRight(data, "\n")), "\n")
	return strings.Join(lines[max(len(lines)-n, 0):], "\n")
}
