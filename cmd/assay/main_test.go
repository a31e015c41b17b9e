package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"assay/internal/expect"
)

// binary is the program under test as users have it, and watched the same with the race detector,
// if ASSAY_RACE has go build's flags for that, as in make test. Concurrency is nearly all in other
// packages, whose tests have the detector: watched is for runs that use what starts beside a command
// here, for signals, the screen and an agent's input. Both are set once, before the first test.
var binary, watched string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

// buildAndRun builds the program as make build does and runs the tests with it.
func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "assay-under-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	// Where the tests are a step of GitHub's, its summary is not to have all their runs; and a
	// database of whoever runs them is not theirs.
	if err := errors.Join(os.Unsetenv(stepSummary), os.Unsetenv(databaseVariable)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	binary = filepath.Join(dir, "assay")
	watched = binary
	builds := []*exec.Cmd{exec.Command("go", "build", "-trimpath", "-tags", "grpcnotrace", "-ldflags", "-s -w", "-o", binary, ".")}
	builds[0].Env = append(os.Environ(), "CGO_ENABLED=0")
	if flags := os.Getenv("ASSAY_RACE"); flags != "" {
		watched = filepath.Join(dir, "watched") // a race ends it with exit code 66
		build := exec.Command("go", slices.Concat([]string{"build", "-ldflags=-w"}, strings.Fields(flags), []string{"-o", watched, "./cmd/assay"})...)
		build.Dir, build.Env = filepath.Join("..", ".."), append(os.Environ(), "CGO_ENABLED=1")
		builds = append(builds, build)
	}
	for _, build := range builds {
		build.Stdout, build.Stderr = os.Stderr, os.Stderr
		if err := build.Run(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	// Under nohup the program would ignore the signal, as it should, and the tests of it
	// would not say anything; a signal that is caught here is not ignored there.
	if signal.Ignored(syscall.SIGHUP) {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	code := m.Run()
	if common.server != nil {
		if err := common.server.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return code
}

// patience bounds every wait for the program. Nothing here should take as
// long, on a machine that has much else to do either; it is there so that a
// hang is a failure with a name.
const patience = 5 * time.Minute

// ended is how one command line ended.
type ended struct {
	args           []string
	code           int
	stdout, stderr string
}

func (e ended) String() string {
	return fmt.Sprintf("assay %s: exit %d\nstdout: %s\nstderr: %s", strings.Join(e.args, " "), e.code, e.stdout, e.stderr)
}

// command is one run of the program.
type command struct {
	dir  string
	env  []string
	args []string
	// shell, if not empty, is a script for sh that starts the program; it
	// finds it as $0 and its arguments as "$@".
	shell string
	// messy is true if the program is to be killed and so cannot clean up.
	messy bool
	// watched is true if the race detector is to watch it.
	watched bool
}

// process is a command that runs.
type process struct {
	t       *testing.T
	cmd     *exec.Cmd
	args    []string
	done    chan struct{}
	out     buffer
	err     buffer
	temp    string
	isMessy bool
}

// buffer can be read while it is written.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// start starts the program. It has an environment of its own, with a folder
// for temporary files that it must leave empty.
func start(t *testing.T, c command) *process {
	t.Helper()
	p := &process{t: t, args: c.args, done: make(chan struct{}), temp: temporary(t), isMessy: c.messy}
	program := binary
	if c.watched {
		program = watched
	}
	p.cmd = exec.Command(program, c.args...)
	if c.shell != "" {
		p.cmd = exec.Command("sh", append([]string{"-c", c.shell, program}, c.args...)...)
	}
	if p.cmd.Dir = c.dir; c.dir == "" {
		p.cmd.Dir = t.TempDir()
	}
	p.cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "ASSAY_SERVERS=" + os.Getenv("ASSAY_SERVERS"),
		"TMPDIR=" + p.temp, "TERM=dumb",
	}, c.env...)
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.err
	expect.NoError(t, p.cmd.Start())
	go func() {
		_ = p.cmd.Wait() // how it ended is asked for in wait
		close(p.done)
	}()
	t.Cleanup(func() {
		select {
		case <-p.done:
		default:
			_ = p.cmd.Process.Kill() // the test has failed already
			<-p.done
		}
	})
	return p
}

// temporary is a folder that servers which run as another user can enter.
func temporary(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "assay-temp-")
	expect.NoError(t, err)
	expect.AtEnd(t, func() error { return os.RemoveAll(dir) })
	expect.NoError(t, os.Chmod(dir, 0o755))
	return dir
}

// until waits for a text on standard error and fails if the program ends
// first.
func (p *process) until(text string) {
	p.t.Helper()
	p.untilTrue(fmt.Sprintf("%q on standard error", text), func() bool { return strings.Contains(p.err.String(), text) })
}

func (p *process) untilTrue(what string, happened func() bool) {
	p.t.Helper()
	deadline := time.After(patience)
	for !happened() {
		select {
		case <-p.done:
			if happened() {
				return
			}
			p.t.Fatalf("it ended before %s\n%v", what, p.wait())
		case <-deadline:
			p.t.Fatalf("no %s after %v\n%s", what, patience, p.err.String())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// wait returns how it ended and wants nothing left behind.
func (p *process) wait() ended {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(patience):
		p.t.Fatalf("assay %s still runs after %v\n%s", strings.Join(p.args, " "), patience, p.err.String())
	}
	e := ended{args: p.args, code: p.cmd.ProcessState.ExitCode(), stdout: p.out.String(), stderr: p.err.String()}
	for _, word := range []string{"panic", "goroutine", "DATA RACE"} {
		if strings.Contains(e.stdout+e.stderr, word) {
			p.t.Errorf("%q in %v", word, e)
		}
	}
	if left := startedBy(p.temp); len(left) > 0 && !p.isMessy {
		p.t.Errorf("processes were left behind: %v by %v", left, e)
	}
	if p.isMessy {
		return e
	}
	entries, err := os.ReadDir(p.temp)
	if err != nil {
		p.t.Fatal(err)
	}
	if len(entries) > 0 {
		p.t.Errorf("temporary files were left behind: %v by %v", entries, e)
	}
	return e
}

// assay runs a command line in a folder to its end.
func assay(t *testing.T, dir string, args ...string) ended {
	t.Helper()
	return ends(t, command{dir: dir, args: args})
}

// ends runs the program from its beginning to its end.
func ends(t *testing.T, c command) ended {
	t.Helper()
	return start(t, c).wait()
}

// inside runs a command line in this process to its end: one that is refused, or asks for help,
// before anything is made.
func inside(t *testing.T, args ...string) ended {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), args, &stdout, &stderr)
	return ended{args: args, code: code, stdout: stdout.String(), stderr: stderr.String()}
}

// want fails the test at once if the exit code is another.
func (e ended) want(t *testing.T, codes ...int) ended {
	t.Helper()
	if !slices.Contains(codes, e.code) {
		t.Fatalf("want exit %v: %v", codes, e)
	}
	return e
}

// unwrapped is text without its line breaks and columns.
func unwrapped(text string) string { return strings.Join(strings.Fields(text), " ") }

// complaint returns the one line with which the program said why it did not
// go on; progress may come before it.
func (e ended) complaint(t *testing.T) string {
	t.Helper()
	var found []string
	for line := range strings.Lines(e.stderr) {
		if rest, ours := strings.CutPrefix(line, "assay: "); ours {
			found = append(found, strings.TrimSpace(rest))
		}
	}
	if len(found) != 1 {
		t.Errorf("%d lines begin with assay: in %v", len(found), e)
		return ""
	}
	if !strings.HasSuffix(e.stderr, found[0]+"\n") {
		t.Errorf("something follows the complaint in %v", e)
	}
	if e.stdout != "" {
		t.Errorf("something on standard output of %v", e)
	}
	return found[0]
}

// startedBy returns the command lines of processes that run in a folder for
// temporary files, where the system tells (Linux, in /proc).
func startedBy(temp string) (lines []string) {
	environments, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is right
	for _, path := range environments {
		text, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(text, []byte(temp)) {
			continue // ended meanwhile, or another's
		}
		if line, err := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline")); err == nil && len(line) > 0 {
			lines = append(lines, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return lines
}
