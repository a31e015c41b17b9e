package main

import (
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"assay/check"
	"assay/internal/expect"
)

// TestAStoppedRunKeepsItsFile: a run that is stopped for longer than its lease lasts has its
// SQLite file open still. Another is refused before it has changed anything, and is told who
// has the file; the first goes on and is judged.
func TestAStoppedRunKeepsItsFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	database := "sqlite:" + filepath.Join(dir, "bank.db")
	first := start(t, command{dir: dir, args: []string{"run", "bank", "--db", database, "--accounts", "50", "--warmup", "0s", "--duration", "1h", "--out", "first"}})
	var second ended
	for range 5 {
		first.until(working)
		expect.NoError(t, first.cmd.Process.Signal(syscall.SIGSTOP))
		time.Sleep(leaseOver) // what is waited for is an expiry: nothing tells of it earlier
		second = ends(t, command{dir: dir, args: []string{"run", "bank", "--db", database, "--accounts", "50", "--ops", "10", "--out", "second"}}).want(t, exitCannotRun)
		if !strings.Contains(second.stderr, "locking protocol") {
			break
		}
		// It was stopped while it had the lock without which nobody can read the file.
		expect.Text(t, "the error", second.stderr, "another process keeps the file's locks")
		expect.NoError(t, first.cmd.Process.Signal(syscall.SIGCONT))
		time.Sleep(time.Second) // to be stopped at another moment
	}
	if pid := strconv.Itoa(first.cmd.Process.Pid); !strings.Contains(second.stderr, "process "+pid) || !strings.Contains(second.stderr, "still open") {
		t.Errorf("process %s is not named: %s", pid, second.stderr)
	}
	if strings.Contains(second.stderr, "taken over") {
		t.Errorf("a lease was taken over for nothing: %s", second.stderr)
	}
	expect.NoError(t, first.cmd.Process.Signal(syscall.SIGCONT))
	first.until(working)
	first.signal(syscall.SIGINT)
	first.wait()
	if r := resultOf(t, filepath.Join(dir, "first")); r.Verdict != check.Valid || r.Outcomes.Committed == 0 {
		t.Errorf("the first run ended as %v with %+v", r.Verdict, r.Outcomes)
	}
}

// leaseOver is longer than a lease lasts.
const leaseOver = 16 * time.Second
