package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"assay/internal/expect"
	"assay/internal/procfs"
)

// keepServer makes the test program start a long-lived process and wait for its kill, as an assay
// that dies.
const keepServer = "ASSAY_TEST_KEEP_SERVER"

// keepApart makes that process one apart, of another user.
const keepApart = "ASSAY_TEST_KEEP_APART"

func TestMain(m *testing.M) {
	if dir := os.Getenv(keepServer); dir != "" {
		keep(dir)
		return
	}
	os.Exit(m.Run())
}

func keep(dir string) {
	o := ProcessOptions{Name: "sleep", Program: shell(), Args: []string{"-c", "exec sleep 1000"}, Dir: dir, Log: filepath.Join(dir, "log")}
	if os.Getenv(keepApart) != "" {
		o.Apart, o.User = true, &User{Name: "nobody", UID: 65534, GID: 65534}
	}
	p, err := StartProcess(o)
	if err != nil {
		fmt.Println("error:", err)
		return
	}
	fmt.Println(p.PID())
	select {}
}

func shell() string {
	path, err := exec.LookPath("sh")
	if err != nil {
		panic(err)
	}
	return path
}

// startShell runs a script as a Process, which the end of the test kills.
func startShell(t *testing.T, script string, change ...func(*ProcessOptions)) *Process {
	t.Helper()
	dir := t.TempDir()
	o := ProcessOptions{Name: "script", Program: shell(), Args: []string{"-c", script}, Dir: dir,
		Log: filepath.Join(dir, "log")}
	for _, f := range change {
		f(&o)
	}
	p, err := StartProcess(o)
	expect.NoError(t, err)
	expect.AtEnd(t, p.Kill)
	return p
}

func awaitLog(t *testing.T, p *Process, lines int) []string {
	t.Helper()
	var got []string
	expect.Eventually(t, fmt.Sprintf("%d lines in the log", lines), func() bool {
		got = strings.Fields(p.Tail(100))
		return len(got) >= lines
	})
	return got
}

func gone(pid int) bool {
	m, err := procfs.Read(pid)
	return err != nil || m.Ended()
}

// family is a script whose descendants leave the process group, as PostgreSQL's do. It prints the
// ids of a child, a grandchild and a process in a session of its own.
const family = `
sh -c 'echo $$; sleep 1000 & echo $!; wait' &
setsid sh -c 'echo $$; exec sleep 1000' &
wait`

func TestKillEndsTheWholeTree(t *testing.T) {
	p := startShell(t, family)
	pids := awaitLog(t, p, 3)
	expect.NoError(t, p.Kill())
	if p.Running() {
		t.Error("still running after Kill")
	}
	for _, text := range pids {
		pid, err := strconv.Atoi(text)
		if err != nil || !gone(pid) {
			t.Errorf("descendant %q is still there (%v)", text, err)
		}
	}
	if err := p.Kill(); err != nil {
		t.Errorf("second Kill: %v", err)
	}
	if err := p.Stop(t.Context()); err != nil {
		t.Errorf("Stop after Kill: %v", err)
	}
	if err := p.Pause(); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("Pause after Kill: %v", err)
	}
	if err := p.Resume(); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("Resume after Kill: %v", err)
	}
}

func TestPauseStopsTheWholeTree(t *testing.T) {
	p := startShell(t, family)
	awaitLog(t, p, 3)
	for range 3 {
		expect.NoError(t, p.Pause())
		tree, err := procfs.Tree(p.PID())
		if err != nil || len(tree) != 4 {
			t.Fatalf("tree of %d processes, %v; want 4", len(tree), err)
		}
		for _, m := range tree {
			if m.State != 'T' {
				t.Errorf("process %d is in state %c after Pause", m.PID, m.State)
			}
		}
		expect.NoError(t, p.Resume())
		expect.Eventually(t, "all run again", func() bool {
			tree, err := procfs.Tree(p.PID())
			for _, m := range tree {
				if err != nil || m.Stopped() {
					return false
				}
			}
			return true
		})
	}
}

func TestKillOfAPausedProcess(t *testing.T) {
	p := startShell(t, family)
	awaitLog(t, p, 3)
	expect.NoError(t, p.Pause())
	if err := p.Kill(); err != nil || p.Running() {
		t.Errorf("Kill: %v, running %v", err, p.Running())
	}
}

func TestStopAsksFirst(t *testing.T) {
	const polite = `trap 'echo asked; kill $!; exit 0' USR1; sleep 1000 & echo ready; wait`
	p := startShell(t, polite, func(o *ProcessOptions) { o.StopSignal = syscall.SIGUSR1 })
	awaitLog(t, p, 1)
	if err := p.Pause(); err != nil { // a paused server must be able to hear it
		t.Fatal(err)
	}
	expect.NoError(t, p.Stop(t.Context()))
	if err := p.Wait(t.Context()); err != nil {
		t.Errorf("exit status of a process that ended as asked: %v", err)
	}
	if log := p.Tail(1); log != "asked" {
		t.Errorf("log ends with %q", log)
	}
}

func TestStopKillsWhoDoesNotListen(t *testing.T) {
	const deaf = `trap '' TERM; echo ready; while :; do sleep 1000; done`
	p := startShell(t, deaf, func(o *ProcessOptions) { o.StopBound = 50 * time.Millisecond })
	awaitLog(t, p, 1)
	err := p.Stop(t.Context())
	if err == nil || !strings.Contains(err.Error(), "killed") || p.Running() {
		t.Errorf("Stop: %v, running %v", err, p.Running())
	}

	p = startShell(t, deaf)
	awaitLog(t, p, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Stop(ctx); !errors.Is(err, context.Canceled) || p.Running() {
		t.Errorf("Stop with a context that has ended: %v, running %v", err, p.Running())
	}
}

func TestWait(t *testing.T) {
	p := startShell(t, "echo one; echo two; echo three >&2; exit 7")
	err := p.Wait(t.Context())
	if err == nil || !strings.Contains(err.Error(), "exit status 7") || !strings.HasSuffix(err.Error(), "one\ntwo\nthree") {
		t.Errorf("Wait: %v", err)
	}
	if got := p.Tail(2); got != "two\nthree" {
		t.Errorf("Tail(2) = %q", got)
	}

	p = startShell(t, "sleep 1000")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Wait(ctx); !errors.Is(err, context.Canceled) || !p.Running() {
		t.Errorf("Wait: %v, running %v", err, p.Running())
	}
}

func TestOnlyTheMinimalEnvironmentIsInherited(t *testing.T) {
	t.Setenv("PGPASSWORD", "secret")
	p := startShell(t, "env; exit 0", func(o *ProcessOptions) { o.Env = []string{"EXTRA=yes"} })
	expect.NoError(t, p.Wait(t.Context()))
	env := p.Tail(100)
	if strings.Contains(env, "secret") || !strings.Contains(env, "EXTRA=yes") || !strings.Contains(env, "HOME=") {
		t.Errorf("environment:\n%s", env)
	}
}

func TestTailOfAHugeLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	expect.NoError(t, os.WriteFile(path, []byte(strings.Repeat("x", 1<<20)+"\nlast\n"), 0o600))
	if got := tail(path, 1); got != "last" {
		t.Errorf("got %q", got)
	}
	if got := tail(path, 5); len(got) > 64<<10 {
		t.Errorf("%d bytes of log", len(got))
	}
}

func TestStartOfAMissingProgram(t *testing.T) {
	dir := t.TempDir()
	_, err := StartProcess(ProcessOptions{Name: "nothing", Program: filepath.Join(dir, "none"), Dir: dir,
		Log: filepath.Join(dir, "log")})
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestServersDieWithAssay(t *testing.T) {
	for _, apart := range []string{"", "1"} {
		self, err := os.Executable()
		expect.NoError(t, err)
		parent := exec.Command(self)
		parent.Env = append(os.Environ(), keepServer+"="+t.TempDir(), keepApart+"="+apart)
		out, err := parent.StdoutPipe()
		expect.NoError(t, err)
		expect.NoError(t, parent.Start())
		line, _ := bufio.NewReader(out).ReadString('\n')
		pid, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil || gone(pid) {
			t.Errorf("apart %q: the stand-in said %q, gone %v", apart, line, gone(pid))
		}
		if apart != "" { // a change of the user takes the death signal away, unless it is kept
			expect.Eventually(t, "it is nobody's", func() bool {
				info, err := os.Stat("/proc/" + strconv.Itoa(pid))
				expect.NoError(t, err)
				uid, _, _ := ownerOf(info)
				return uid != 0
			})
		}
		expect.NoError(t, parent.Process.Kill())
		if err := parent.Wait(); err == nil {
			t.Error("the killed stand-in ended well")
		}
		if pid > 0 {
			expect.Eventually(t, "the server is gone too", func() bool { return gone(pid) })
		}
	}
}

func TestServersOutliveTheThreadThatAskedForThem(t *testing.T) {
	type started struct {
		p   *Process
		tid int
	}
	result := make(chan started)
	var start func()
	start = func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if syscall.Gettid() == os.Getpid() {
			go start() // the main thread never ends; now that it is taken, another one serves
			return
		}
		p := startShell(t, `trap 'echo alive' USR1; echo ready; while :; do sleep 1000 & wait; kill $!; done`)
		result <- started{p, syscall.Gettid()}
	}
	go start()
	r := <-result
	awaitLog(t, r.p, 1)
	expect.Eventually(t, "the thread has ended", func() bool {
		_, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", r.tid))
		return errors.Is(err, os.ErrNotExist)
	})
	expect.NoError(t, r.p.process.Signal(syscall.SIGUSR1))
	expect.Eventually(t, "an answer, or an end", func() bool { return r.p.Tail(1) == "alive" || !r.p.Running() })
	if !r.p.Running() {
		t.Error("the server ended with the thread from which it was started")
	}
}

// TestNoneRunsSaysHowTheyEnded, except servers that assay ended.
func TestNoneRunsSaysHowTheyEnded(t *testing.T) {
	var nodes []*Node
	for name, script := range map[string]string{"killed": "kill -9 $$", "gone": "echo no room >&2; exit 3", "asked": "sleep 1000"} {
		dir := t.TempDir()
		n := &Node{Name: name, Dir: dir, Log: filepath.Join(dir, "log")}
		expect.NoError(t, n.Spawn(ProcessOptions{Name: name, Program: shell(), Args: []string{"-c", script}}))
		if name == "asked" {
			expect.NoError(t, n.Kill())
		}
		expect.Eventually(t, name+" has ended", func() bool { return !n.Running() })
		nodes = append(nodes, n)
	}
	said := NoneRuns(nodes).Error()
	for _, want := range []string{"no node runs", "killed ended (signal: killed, by nobody here; ", "gone ended (exit status 3)", "no room"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not in %q", want, said)
		}
	}
	if strings.Contains(said, "asked ended") {
		t.Errorf("of one that was killed here: %q", said)
	}
}

// TestAServerEndsInOrderUnlessItMustBeKilled: the end of its caller's context does not hurry it, its
// bound does, and that is told.
func TestAServerEndsInOrderUnlessItMustBeKilled(t *testing.T) {
	dir := t.TempDir()
	n := &Node{Name: "script", Dir: dir, Log: filepath.Join(dir, "log")}
	script := func(text string, bound time.Duration) ProcessOptions {
		return ProcessOptions{Program: shell(), Args: []string{"-c", text}, StopBound: bound}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	expect.NoError(t, n.Spawn(script("trap 'sleep 0.3; echo saved; exit' TERM; echo up; while :; do sleep 0.01; done", expect.Patience)))
	expect.AtEnd(t, n.End)
	awaitLog(t, n.Process(), 1)
	expect.NoError(t, n.Halt(ended))
	if said := n.Tail(1); said != "saved" || n.Forced() != nil || n.Running() {
		t.Errorf("it said %q, was killed at %v, and runs: %v", said, n.Forced(), n.Running())
	}
	began := time.Now()
	expect.NoError(t, n.Spawn(script("trap '' TERM; echo deaf; while :; do sleep 0.01; done", 50*time.Millisecond)))
	expect.Eventually(t, "it says that it is deaf", func() bool { return n.Tail(1) == "deaf" })
	expect.NoError(t, n.Halt(t.Context()))
	if at := n.Forced(); at == nil || at.Before(began) || n.Running() {
		t.Errorf("it was killed at %v, and runs: %v", at, n.Running())
	}
}
