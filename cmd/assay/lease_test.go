package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"assay/check"
	"assay/internal/expect"
)

// TestTwoRunsOnOneFile has a second run, and a judge, meet a run that works: they are
// refused, are told who holds the database, and leave nothing, while the first run
// ends valid. A run that is killed is followed by the next one at once.
func TestTwoRunsOnOneFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db := []string{"ASSAY_DB=sqlite:" + filepath.Join(dir, "bank.db")}
	long := []string{"run", "bank", "--accounts", "1000", "--duration", "1h", "--warmup", "100ms", "--out"}
	short := []string{"run", "bank", "--accounts", "10", "--ops", "50", "--out"}
	with := func(args []string, out string) []string { return append(args[:len(args):len(args)], out) }

	first := start(t, command{dir: dir, env: db, args: with(long, "first")})
	first.until(working)
	host, err := os.Hostname()
	expect.NoError(t, err)
	for _, args := range [][]string{with(short, "second"), {"check", "first"}} {
		e := ends(t, command{dir: dir, env: db, args: args}).want(t, exitCannotRun)
		for _, part := range []string{"is in use by run " + resultOf(t, filepath.Join(dir, "first")).Run, host,
			"process " + strconv.Itoa(first.cmd.Process.Pid), "wait until that run has ended"} {
			expect.Text(t, args[0], e.complaint(t), part)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "second")); !os.IsNotExist(err) {
		t.Errorf("the refused run left a folder: %v", err)
	}
	first.signal(syscall.SIGINT)
	first.wait().want(t, exitNoVerdict) // it was cut
	if r := resultOf(t, filepath.Join(dir, "first")); r.Verdict != check.Valid || r.Outcomes.Committed == 0 {
		t.Errorf("the first run: %v, %+v", r.Verdict, r.Outcomes)
	}

	victim := start(t, command{dir: dir, env: db, args: with(long, "victim"), messy: true})
	victim.until(working)
	victim.signal(syscall.SIGKILL)
	victim.wait()
	next := ends(t, command{dir: dir, env: db, args: with(short, "next")})
	if r := resultOf(t, filepath.Join(dir, "next")); r.Verdict != check.Valid {
		t.Errorf("the run after a killed one: %v", next)
	}
	word := "held the database in process " + strconv.Itoa(victim.cmd.Process.Pid) + ", which is gone; its lease is taken over"
	if !strings.Contains(unwrapped(next.stderr), word) { // notes are wrapped
		t.Errorf("the run after a killed one does not say %q: %v", word, next)
	}
	ends(t, command{dir: dir, env: db, args: with(short, "last")})
	if r := resultOf(t, filepath.Join(dir, "last")); r.Verdict != check.Valid {
		t.Errorf("the last run: %v", r.Verdict)
	}
}
