package server

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"assay/cluster/machine"
	"assay/internal/expect"
	"assay/internal/procfs"
)

func startApart(t *testing.T, script string) *Process {
	t.Helper()
	user, err := Unprivileged("nobody")
	expect.NoError(t, err)
	return startShell(t, script, func(o *ProcessOptions) {
		o.Apart, o.User = true, user
		expect.NoError(t, user.Chown(o.Dir))
	})
}

// orphan starts a process whose parent ends, in a session of its own, as a manager starts
// PostgreSQL. The process that it comes from follows.
const orphan = `(setsid sleep 1000 &)
echo $$ $(id -u) $(ls /proc | grep -c '^[0-9]')
while :; do sleep 1; done`

// sleeper is the orphan among the processes of p.
func sleeper(t *testing.T, p *Process) (pid int) {
	t.Helper()
	expect.Eventually(t, "the orphan is one of its processes", func() bool {
		tree, err := procfs.Tree(p.PID())
		expect.NoError(t, err)
		for _, m := range tree[1:] {
			text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(m.PID), "cmdline"))
			if err == nil && strings.Contains(string(text), "1000") {
				pid = m.PID
			}
		}
		return pid != 0
	})
	return pid
}

func TestWhatAProcessApartHasLetGoOfEndsWithIt(t *testing.T) {
	p := startApart(t, orphan)
	said := awaitLog(t, p, 3)
	// The shell, the orphan, and the substitution's processes.
	if said[0] != "1" || said[1] == "0" || said[2] > "6" || len(said[2]) > 1 {
		t.Errorf("its number, its user and how many processes it sees are %v", said)
	}
	left := sleeper(t, p)
	expect.NoError(t, p.Pause())
	if halted, err := p.Halted(); err != nil || !halted {
		t.Errorf("halted %v, %v", halted, err)
	}
	if m, err := procfs.Read(left); err != nil || !m.Stopped() {
		t.Errorf("the orphan is not stopped: %+v, %v", m, err)
	}
	expect.NoError(t, p.Resume(), p.Kill())
	if !gone(left) {
		t.Errorf("process %d is still there", left)
	}
	// The same if only its first process is killed, as the kernel does when assay dies.
	p = startApart(t, orphan)
	left = sleeper(t, p)
	process, err := os.FindProcess(p.PID())
	expect.NoError(t, err)
	expect.NoError(t, process.Kill())
	expect.Eventually(t, "the orphan is gone", func() bool { return gone(left) && !p.Running() })
}

// TestAProcessApartHasItsFolder, also in /dev/shm, of which it sees nothing else.
func TestAProcessApartHasItsFolder(t *testing.T) {
	other, err := os.MkdirTemp("/dev/shm", "other-")
	expect.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(other) })
	for _, below := range []string{t.TempDir(), ""} {
		if below == "" {
			below, err = os.MkdirTemp("/dev/shm", "own-")
			expect.NoError(t, err)
			t.Cleanup(func() { os.RemoveAll(below) })
		}
		dir := filepath.Join(below, "node")
		expect.NoError(t, os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "file"), []byte("it is there"), 0o600))
		p, err := StartProcess(ProcessOptions{Name: "a script", Program: shell(), Args: []string{"-c", "cat file '" + dir + "/file'; ls /dev/shm; : >made; echo end"},
			Dir: dir, Log: filepath.Join(dir, "log"), Apart: true})
		expect.NoError(t, err)
		expect.Eventually(t, "the script has ended", func() bool { return !p.Running() })
		said, err := os.ReadFile(filepath.Join(dir, "log"))
		expect.NoError(t, err)
		if text := string(said); strings.Count(text, "it is there") != 2 || !strings.HasSuffix(text, "end\n") || strings.Contains(text, filepath.Base(other)) {
			t.Errorf("in %s: %q", dir, text)
		}
		if _, err := os.Stat(filepath.Join(dir, "made")); err != nil {
			t.Errorf("what it made is not seen here: %v", err)
		}
	}
}

func TestAProcessApartTakesRoot(t *testing.T) {
	if os.Geteuid() == 0 { // once more, as somebody else
		again := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run", "^TestAProcessApartTakesRoot$", "-test.v")
		user, err := Unprivileged("nobody")
		expect.NoError(t, err)
		again.Dir, again.Env = "/", []string{"TMPDIR=/tmp", "PATH=" + os.Getenv("PATH")}
		again.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user.UID, Gid: user.GID}}
		if said, err := again.CombinedOutput(); err != nil || !strings.Contains(string(said), "--- PASS: TestAProcessApartTakesRoot") {
			t.Errorf("as %s: %v\n%s", user.Name, err, said)
		}
		return
	}
	dir := t.TempDir()
	_, err := StartProcess(ProcessOptions{Name: "sleep", Program: shell(), Dir: dir, Log: filepath.Join(dir, "log"), Apart: true})
	if unsupported := (*machine.UnsupportedError)(nil); !errors.As(err, &unsupported) {
		t.Errorf("got %v", err)
	}
}

// TestProcessThatIsFenced: the exit status says so, also of a process apart.
func TestProcessThatIsFenced(t *testing.T) {
	for status, fenced := range map[string]bool{"75": true, "1": false, "0": false} {
		for _, apart := range []bool{false, true} {
			p := startShell(t, "exit "+status, func(o *ProcessOptions) { o.Apart, o.FenceStatus = apart, 75 })
			expect.Eventually(t, "the script has ended", func() bool { return !p.Running() })
			if !p.Died() || p.Fenced() != fenced {
				t.Errorf("exit %s, apart %v: died %v, fenced %v (%s)", status, apart, p.Died(), p.Fenced(), p.How())
			}
		}
	}
}
