package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"assay/check"
	"assay/cluster/mariadb"
	"assay/internal/expect"
)

// TestTwoRunsOnOneFile and its kin: see testTwoRuns.
func TestTwoRunsOnOneFile(t *testing.T) {
	t.Parallel()
	testTwoRuns(t, "sqlite:"+filepath.Join(t.TempDir(), "bank.db"))
}

func TestTwoRunsOnMariaDB(t *testing.T) {
	t.Parallel()
	server, err := mariadb.Start(patiently(t), mariadb.Options{})
	expect.NoError(t, err)
	expect.AtEnd(t, server.Close)
	testTwoRuns(t, server.Address())
}

// testTwoRuns has a second run, and a judge, meet a run that works: they are
// refused, are told who holds the database, and leave nothing, while the first run
// ends valid. A run that is killed is followed by the next one at once.
func testTwoRuns(t *testing.T, address string) {
	t.Helper()
	dir := t.TempDir()
	db := []string{"ASSAY_DB=" + address}
	long := []string{"run", "bank", "--accounts", "1000", "--duration", "1h", "--warmup", "100ms", "--out"}
	short := []string{"run", "bank", "--accounts", "10", "--ops", "50", "--out"}
	with := func(args []string, out string) []string { return append(args[:len(args):len(args)], out) }

	first := start(t, command{dir: dir, env: db, args: with(long, "first")})
	first.until(working)
	host, err := os.Hostname()
	expect.NoError(t, err)
	for _, args := range [][]string{with(short, "second"), {"check", "first"}} {
		e := start(t, command{dir: dir, env: db, args: args}).wait().want(t, exitCannotRun)
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
	next := start(t, command{dir: dir, env: db, args: with(short, "next")}).wait()
	if r := resultOf(t, filepath.Join(dir, "next")); r.Verdict != check.Valid {
		t.Errorf("the run after a killed one: %v", next)
	}
	word := "held the database in process " + strconv.Itoa(victim.cmd.Process.Pid) + ", which is gone; its lease is taken over"
	if !strings.Contains(unwrapped(next.stderr), word) { // notes are wrapped
		t.Errorf("the run after a killed one does not say %q: %v", word, next)
	}
	start(t, command{dir: dir, env: db, args: with(short, "last")}).wait()
	if r := resultOf(t, filepath.Join(dir, "last")); r.Verdict != check.Valid {
		t.Errorf("the last run: %v", r.Verdict)
	}
}
