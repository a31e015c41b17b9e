// Package server runs the servers of a cluster as local processes. It finds the programs, starts
// them in private folders on loopback ports or on given machines, and kills, stops, pauses and
// restarts them. It leaves nothing behind, even if assay itself is killed. It must not know any
// database product.
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
	Name    string
	Program string
	// Args exclude the program's name. The process list shows them: never a password.
	Args []string
	// Env is added to PATH, HOME, LC_ALL and TZ. The process inherits nothing else.
	Env []string
	// Dir is the process's private folder: its working directory and HOME.
	Dir string
	// Log is the file to which standard output and standard error are appended.
	Log  string
	User *User
	// Machine is where the process lives; nil means here, without limits.
	Machine *machine.Machine
	// Apart isolates the process and its descendants: they see no other process and have System V
	// memory and /dev/shm of their own. When the process ends all of them end, also daemons, such
	// as the PostgreSQL that a managing program started. It needs Linux and root, else the error
	// is a *machine.UnsupportedError.
	Apart bool
	// FenceStatus is the documented exit status by which the program fences itself, so that it
	// takes no more writes; 0 if it never does.
	FenceStatus int
	// StopSignal asks the process to end; 0 means SIGTERM.
	StopSignal syscall.Signal
	// StopAgain repeats StopSignal for a server that may refuse it; 0 means one signal.
	StopAgain time.Duration
	// StopBound is how long Stop waits before it kills; 0 means 30 seconds.
	StopBound time.Duration
}

// Process is a started program with its descendants. Its methods are safe for concurrent use.
// Signals reach the whole tree, because the children do the work: a PostgreSQL whose first process
// alone is stopped goes on serving. Outside Linux the tree cannot be seen and signals go to the
// process group, which a child can leave.
type Process struct {
	options ProcessOptions
	logged  int64 // the size of the log before the start
	process *os.Process
	exited  chan struct{}
	err     error       // how it ended; read after exited is closed
	asked   atomic.Bool // somebody ended it: Kill or Stop, while it ran
	forced  atomic.Pointer[time.Time]

	mu     sync.Mutex // one signal operation at a time
	paused bool
}

// StartProcess starts the program in a process group of its own, out of reach of an interrupt typed
// at the terminal. On Linux the kernel kills the process when assay dies, however it dies.
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
	before, err := log.Stat()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", o.Name, err)
	}
	// An absolute path is not looked up in PATH again.
	program, err := filepath.Abs(o.Program)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", o.Name, err)
	}
	cmd := &exec.Cmd{
		Path: program, Args: append([]string{program}, o.Args...), Dir: o.Dir,
		Env: append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + o.Dir, "LC_ALL=C", "TZ=UTC"}, o.Env...),
		// A pipe would need a goroutine that drains it.
		Stdout: log, Stderr: log,
		SysProcAttr: processAttributes(o.User),
	}
	if o.Apart {
		if err := setApart(cmd, o); err != nil {
			return nil, fmt.Errorf("start %s: %w", o.Name, err)
		}
	}
	p := &Process{options: o, logged: before.Size(), exited: make(chan struct{})}
	if err := p.run(cmd); err != nil {
		return nil, fmt.Errorf("start %s: %w", o.Name, err)
	}
	return p, nil
}

func (p *Process) run(cmd *exec.Cmd) error {
	started := make(chan error)
	go func() {
		// The kernel kills the server when the thread that forked it ends (PR_SET_PDEATHSIG,
		// prctl(2)), and Go's runtime may end a thread at any time. So this goroutine keeps its
		// thread as long as the server lives.
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

// startOn must run on a thread of its own.
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

func ignoreExit(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil
	}
	return err
}

// PID is the process's id. After the process has ended another may have it.
func (p *Process) PID() int { return p.process.Pid }

// Running reports whether the process has not ended. A paused process runs.
func (p *Process) Running() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// Wait returns when the process has ended: nil after exit status 0, else an error with the end of
// its log. If ctx ends first it returns ctx's error and leaves the process alone.
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

// Ended describes an unexpected end. The process must have ended.
func (p *Process) Ended() error {
	tail := strings.TrimSpace(p.Tail(10))
	return &EndedError{
		Text:   fmt.Sprintf("%s ended (%s); its log %s ends with:\n%s", p.options.Name, p.How(), p.options.Log, tail),
		Reason: tail[strings.LastIndex(tail, "\n")+1:], ByMachine: p.endedByMachine(),
	}
}

// How says how the process ended. The process must have ended.
func (p *Process) How() string {
	if p.err == nil {
		return "exit status 0"
	}
	how := p.err.Error()
	if p.killedByOthers() {
		how += ", by nobody here; the kernel does that when memory runs out, and dmesg tells"
	}
	return how
}

// Died reports whether the process ended although assay did not end it.
func (p *Process) Died() bool { return !p.Running() && !p.asked.Load() }

// Fenced reports whether it ended with ProcessOptions.FenceStatus.
func (p *Process) Fenced() bool {
	var exit *exec.ExitError
	return p.options.FenceStatus != 0 && p.Died() && errors.As(p.err, &exit) && exit.ExitCode() == p.options.FenceStatus
}

// Kill ends the process and its descendants with SIGKILL, as a power cut would, and returns when
// all are gone. A process that has ended is no error.
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

// Stop resumes the process if it is paused, asks it to end, and kills it after StopBound or when
// ctx ends. It returns when the process is gone. An error means that it had to be killed, or could
// not be.
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
			now := time.Now()
			p.forced.Store(&now)
			return errors.Join(fmt.Errorf("stop %s: killed, since %w", p.options.Name, context.Cause(ctx)), p.kill())
		}
	}
}

// Forced is when Stop killed the process, which had not ended in order; nil if it did not.
func (p *Process) Forced() *time.Time { return p.forced.Load() }

// Pause stops the process and its descendants (SIGSTOP) and returns when they have stopped.
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

// Resume continues a paused process. Resuming a running process is no error.
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

// Run runs a program to its end and kills it if ctx ends first. The returned process has ended.
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

func tail(path string, n int) string {
	data, err := endOf(path, 0)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(string(bytes.TrimRight(data, "\n")), "\n")
	return strings.Join(lines[max(len(lines)-n, 0):], "\n")
}

// endOf reads a log from an offset on, and at most its last 64 KiB, in case it is huge. A log that
// is shorter was begun anew, and is read from its beginning.
func endOf(path string, from int64) ([]byte, error) {
	const most = 64 << 10
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if from > info.Size() {
		from = 0
	}
	if _, err := file.Seek(max(from, info.Size()-most), io.SeekStart); err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(file, most))
}
