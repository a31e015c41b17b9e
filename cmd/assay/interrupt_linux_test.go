package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"assay/check"
	"assay/cluster"
	"assay/internal/expect"
)

// onCluster starts a run on a server of its own, which has a network and a
// limit, and returns the cluster's id once clients work.
func onCluster(t *testing.T, c command, more ...string) (*process, string) {
	t.Helper()
	c.args = append([]string{"run", "bank", "--cluster", "postgres:1,memory=1GiB", "--accounts", "100", "--warmup", "0s", "--out", "run"}, more...)
	p := start(t, c)
	var id string
	p.untilTrue("a cluster's folder", func() bool { id = clusterIn(p.temp); return id != "" })
	return p, id
}

// clusterIn returns the id of the cluster whose folder is in a folder for
// temporary files; empty if there is none.
func clusterIn(temp string) string {
	folders, _ := filepath.Glob(filepath.Join(temp, "assay-cluster-*")) // the pattern is right
	if len(folders) == 0 {
		return ""
	}
	return strings.TrimPrefix(filepath.Base(folders[0]), "assay-cluster-")
}

// nothingOf wants no namespace, interface or control group of a cluster, and
// wants the test to have known where to look.
func nothingOf(t *testing.T, id string) {
	t.Helper()
	if id == "" {
		t.Error("which cluster?")
	}
	if left := madeFor(id); len(left) > 0 {
		t.Errorf("cluster %s left %v", id, left)
	}
}

// madeFor returns what there is of a cluster in the kernel.
func madeFor(id string) (found []string) {
	for _, pattern := range []string{"/run/netns/assay-", "/sys/class/net/assay-", "/sys/fs/cgroup/assay-", "/sys/fs/cgroup/*/assay-"} {
		names, _ := filepath.Glob(pattern + id + "*") // the pattern is right
		found = append(found, names...)
	}
	return found
}

// TestEverySignalIsCaught: each that ends a program which does nothing about it, but SIGKILL, SIGPIPE
// and those of timers (signal(7)). TestNoSignalLeavesServers has a run end in order with one.
func TestEverySignalIsCaught(t *testing.T) {
	ours := endingSignals()
	for _, s := range []os.Signal{
		syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGABRT, syscall.SIGTERM, syscall.SIGILL, syscall.SIGTRAP,
		syscall.SIGBUS, syscall.SIGFPE, syscall.SIGSEGV, syscall.SIGSYS, syscall.SIGSTKFLT,
	} {
		if !slices.Contains(ours, s) {
			t.Errorf("%v is not among %v", s, ours)
		}
	}
}

// TestNoSignalLeavesServers: no process, namespace, control group or folder of its servers stays.
func TestNoSignalLeavesServers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p, id := onCluster(t, command{dir: dir, watched: true}, "--duration", "1h")
	p.until(working)
	if len(madeFor(id)) == 0 {
		t.Errorf("cluster %s has neither a network nor a limit, or they are not where it is looked", id)
	}
	p.signal(syscall.SIGHUP)
	p.wait().want(t, exitNoVerdict)
	if r := resultOf(t, filepath.Join(dir, "run")); r.Verdict != check.Valid || r.Outcomes.Committed == 0 {
		t.Errorf("the run did not end in order: %v, %+v", r.Verdict, r.Outcomes)
	}
	nothingOf(t, id)
}

// TestTwoSignalsTakeServersAway: the second signal waits for no operation and
// nothing is judged, and yet nothing stays.
func TestTwoSignalsTakeServersAway(t *testing.T) {
	t.Parallel()
	p, id := onCluster(t, command{}, "--duration", "1h", "--timeout", "1h")
	p.until(working)
	for _, pid := range homedIn(t, filepath.Join(p.temp, "assay-cluster-"+id)) { // so that no operation comes back
		expect.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	}
	twice(p).want(t, exitInterrupted)
	nothingOf(t, id)
}

// TestTwoSignalsWhileServersStart: the first may have ended it already.
func TestTwoSignalsWhileServersStart(t *testing.T) {
	t.Parallel()
	p, id := onCluster(t, command{})
	twice(p).want(t, exitInterrupted, exitNoVerdict)
	nothingOf(t, id)
}

// twice sends two signals, the second too late for an echo of the first.
func twice(p *process) ended {
	p.t.Helper()
	p.signal(syscall.SIGQUIT)
	p.until("once more")
	time.Sleep(2 * sameInterrupt)
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // fails if the first has ended it
	return p.wait()
}

// homedIn returns the processes that have their home in a folder.
func homedIn(t *testing.T, folder string) (found []int) {
	t.Helper()
	environments, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is right
	for _, path := range environments {
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(text), "HOME="+folder) {
			continue // ended meanwhile, or another's
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		expect.NoError(t, err)
		found = append(found, pid)
	}
	if len(found) == 0 {
		t.Fatalf("nobody lives in %s", folder)
	}
	return found
}

// TestNobodyReads: a run whose output goes to a pipe that is closed early ends
// as it would have ended, with its folder, its verdict and its exit code.
func TestNobodyReads(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := ends(t, command{dir: dir, shell: `{ "$0" "$@" 2>&1; echo $? >code; } | head -2; while [ ! -s code ]; do sleep 0.05; done`,
		args: []string{"run", "bank", "--accounts", "100", "--ops", "300", "--out", "run"}}).want(t, 0)
	if strings.Count(e.stdout, "\n") != 2 {
		t.Errorf("%v", e)
	}
	r := resultOf(t, filepath.Join(dir, "run"))
	if r.Verdict != check.Valid || r.Outcomes.Committed == 0 {
		t.Errorf("%v, %+v", r.Verdict, r.Outcomes)
	}
	if code := strings.TrimSpace(readFile(t, filepath.Join(dir, "code"))); code != strconv.Itoa(r.Exit.Code) {
		t.Errorf("exit %s, and the result has %d", code, r.Exit.Code)
	}
	assay(t, dir, "report", "run").want(t, 0).shows(t, "VALID")
}

// TestHalfAList: what was cut short by its reader is no error.
func TestHalfAList(t *testing.T) {
	t.Parallel()
	p := start(t, command{args: []string{"list"}, shell: `{ sleep 0.2; "$0" "$@"; echo $? >code; } | true; while [ ! -s code ]; do sleep 0.05; done; cat code`})
	if e := p.wait().want(t, 0); e.stdout != "0\n" || e.stderr != "" {
		t.Errorf("%v", e)
	}
}

// TestSignalsToTheKeeper: the process behind cluster up ends its cluster with a hangup.
func TestSignalsToTheKeeper(t *testing.T) {
	t.Parallel()
	temp := temporary(t)
	ends(t, command{env: []string{"TMPDIR=" + temp}, args: []string{"cluster", "up", "postgres:1,memory=1GiB"}}).want(t, exitValid)
	id := clusterIn(temp)
	expect.NoError(t, syscall.Kill(keeperIn(t, temp), syscall.SIGHUP))
	becomesEmpty(t, temp)
	nothingOf(t, id)
}

// TestUpIsInterrupted: a cluster that nobody was told of is not kept, whether
// up could still ask its keeper to end or not.
func TestUpIsInterrupted(t *testing.T) {
	t.Parallel()
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL} {
		temp := temporary(t)
		up := start(t, command{env: []string{"TMPDIR=" + temp}, messy: true, args: []string{"cluster", "up", "postgres:1,memory=1GiB"}})
		var id string
		up.untilTrue("a cluster's folder", func() bool { id = clusterIn(temp); return id != "" })
		up.signal(s)
		e := up.wait().want(t, exitCannotRun, -1)
		if s == syscall.SIGINT && !strings.Contains(e.stderr, "taken away again") {
			t.Errorf("%v", e)
		}
		becomesEmpty(t, temp)
		nothingOf(t, id)
	}
}

// keeperIn returns the process that keeps the cluster whose folder is in a
// folder for temporary files.
func keeperIn(t *testing.T, temp string) int {
	t.Helper()
	var r cluster.Record
	expect.NoError(t, json.Unmarshal([]byte(readFile(t, temp, "assay-cluster-"+clusterIn(temp), "assay-cluster.json")), &r))
	if !r.Kept || !r.Owner.Alive() {
		t.Fatalf("nobody keeps %+v", r)
	}
	return r.Owner.PID
}

// becomesEmpty waits until a folder for temporary files is empty and nothing
// runs in it.
func becomesEmpty(t *testing.T, temp string) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		entries, err := os.ReadDir(temp)
		expect.NoError(t, err)
		if len(entries) == 0 && len(startedBy(temp)) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("left: %v, processes %v", entries, startedBy(temp))
		}
	}
}
