package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"assay/check"
	"assay/history"
	"assay/internal/expect"
	"assay/report"
	"assay/workload/bank"
)

// TestClusterIsKept goes through up, status, a run on it, and down.
func TestClusterIsKept(t *testing.T) {
	t.Parallel()
	dir, temp := t.TempDir(), temporary(t)
	do := func(args ...string) ended {
		t.Helper()
		return ends(t, command{dir: dir, env: []string{"TMPDIR=" + temp}, args: args})
	}
	up := do("cluster", "up", "postgres:1,pooler=pgbouncer").want(t, exitValid)
	_, rest, found := strings.Cut(up.stdout, "$(cat ")
	path, _, _ := strings.Cut(rest, ")")
	if !found || !strings.HasPrefix(path, temp) {
		t.Fatalf("no address file in %s", up)
	}
	address := strings.TrimSpace(readFile(t, path))
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%s: %v, %v", path, info, err)
	}
	_, password, _ := strings.Cut(strings.TrimPrefix(address, "postgres://"), ":")
	password, _, _ = strings.Cut(password, "@")
	if password == "" || strings.Contains(up.stdout+up.stderr, password) {
		t.Errorf("the password %q is in %s", password, up)
	}
	status := do("cluster", "status").want(t, exitValid)
	if !strings.Contains(status.stdout, "postgres:1,pooler=pgbouncer, up since") || !strings.Contains(status.stdout, "n1") || !strings.Contains(status.stdout, "pooler   127.0.0.1:") || strings.Contains(status.stdout, password) {
		t.Errorf("status %s", status)
	}
	ends(t, command{dir: dir, env: []string{"TMPDIR=" + temp, "ASSAY_DB=" + address},
		args: []string{"run", "bank", "--accounts", "100", "--ops", "100", "--quiet"}}).want(t, exitValid, exitNoVerdict)
	if len(startedBy(temp)) == 0 {
		t.Error("nothing runs any more after the run")
	}
	down := do("cluster", "down", "postgres:1").want(t, exitValid)
	expect.Text(t, down, down.stdout, "is gone")
	if left := startedBy(temp); len(left) > 0 {
		t.Errorf("processes were left: %v", left)
	}
	if entries, err := os.ReadDir(temp); err != nil || len(entries) > 0 {
		t.Errorf("left: %v, %v", entries, err)
	}
	do("cluster", "down", "postgres:1").want(t, exitUsage)
}

// TestRemainsOfAKilledRun: servers end with a run that is killed, what it leaves is found and taken away,
// and a run that goes on is left alone. TestNoSignalLeavesServers has the other signals.
func TestRemainsOfAKilledRun(t *testing.T) {
	t.Parallel()
	temp := temporary(t)
	begin := func(spec string) *process {
		p := start(t, command{messy: true, env: []string{"TMPDIR=" + temp},
			args: []string{"run", "bank", "--cluster", spec, "--duration", "1h", "--accounts", "100", "--out", "run"}})
		p.until(working)
		return p
	}
	killed := begin("postgres:2,disk=image,pooler=pgbouncer")
	if len(startedBy(temp)) < 2 {
		t.Errorf("the servers are not seen: %v", startedBy(temp))
	}
	killed.signal(syscall.SIGKILL)
	killed.wait()
	nothingRuns(t, temp)
	living := begin("postgres:1")
	e := ends(t, command{env: []string{"TMPDIR=" + temp}, args: []string{"cluster", "down", "--all"}}).want(t, exitValid)
	if strings.Count(e.stdout, "postgres:2,disk=image,pooler=pgbouncer is gone") != 1 || strings.Count(e.stdout, "belongs to a run that goes on") != 1 {
		t.Errorf("down %s", e)
	}
	folders, err := filepath.Glob(filepath.Join(temp, "*"))
	if err != nil || len(folders) != 1 {
		t.Errorf("there are %v, %v; want the folder of the run that goes on alone", folders, err)
	}
	living.signal(syscall.SIGINT)
	living.wait().want(t, exitNoVerdict)
	nothingRuns(t, temp)
	if entries, err := os.ReadDir(temp); err != nil || len(entries) > 0 {
		t.Errorf("left: %v, %v", entries, err)
	}
}

// nothingRuns waits until no process runs in a folder for temporary files.
func nothingRuns(t *testing.T, temp string) {
	t.Helper()
	for deadline := time.Now().Add(patience); len(startedBy(temp)) > 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("processes were left: %v", startedBy(temp))
		}
	}
}

// TestRunsThroughAPooler: a primary and the pooler before it are lost, and what was
// acknowledged is there, on the nodes themselves too. Package pgbouncer tries both modes.
func TestRunsThroughAPooler(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := assay(t, dir, "run", "bank", "--cluster", "postgres:2,pooler=pgbouncer,pool_mode=transaction", "--accounts", "200", "--clients", "4", "--seed", "3",
		"--warmup", "500ms", "--duration", "8s", "--out", "run", "--verbose", "--fault", "kill primary at 1s for 2s", "--fault", "kill pooler at 1500ms for 2s")
	e.want(t, exitValid, exitNoVerdict)
	r := resultOf(t, filepath.Join(dir, "run"))
	if r.Verdict.String() != "valid" || len(r.Faults) != 2 || r.Cluster == nil || r.Cluster.Pooler == nil || len(r.Cluster.Nodes) != 2 {
		t.Fatalf("%v: %+v, cluster %+v", e, r.Faults, r.Cluster)
	}
	if p := r.Cluster.Pooler; p.Mode != "transaction" || p.Connections != 20 || !strings.HasPrefix(p.Program, "PgBouncer") {
		t.Errorf("%+v", p)
	}
	for _, f := range r.Faults {
		if !f.Proven || f.Healing == "" || f.Problem != "" || f.WritesAway {
			t.Errorf("%+v", f)
		}
	}
	survived(t, filepath.Join(dir, "run"), 4)
	if f := r.Faults[0]; f.TookOver() {
		t.Errorf("another primary: %+v", f)
	}
	for _, c := range r.Checks {
		if c.Verdict.String() != "valid" {
			t.Errorf("%+v", c)
		}
	}
	expect.Text(t, "output", unwrapped(e.stdout), "pooler PgBouncer", "in transaction mode", "1 replica holds")
	if log := readFile(t, dir, "run", "nodes", "pgbouncer.log"); !strings.Contains(log, "process up") {
		t.Errorf("the pooler's log: %s", log)
	}
}

// TestFaultsInARun: a replica set is hurt twice and keeps its word.
func TestFaultsInARun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := assay(t, dir, "run", "bank", "--cluster", "mongodb:3,election=2s", "--accounts", "200", "--clients", "4", "--seed", "3",
		"--warmup", "500ms", "--duration", "15s", "--out", "run", "--verbose", "--fault", "kill primary at 1s for 6s", "--fault", "pause secondary at 9s for 1s",
		"--threshold", "outage<1h", "--threshold", "max<1h during faults", "--threshold", "committed_per_second>0.1 after faults")
	e.want(t, exitValid, exitNoVerdict)
	narrow(t, e.stdout)
	r := resultOf(t, filepath.Join(dir, "run"))
	if len(r.Faults) != 2 || r.Cluster == nil || len(r.Cluster.Nodes) != 3 {
		t.Fatalf("faults %+v, cluster %+v", r.Faults, r.Cluster)
	}
	for _, f := range r.Faults {
		if !f.Proven || f.Proof == "" || f.Healing == "" || len(f.Nodes) != 1 || f.HealedSecond <= f.InjectedSecond || f.Problem != "" {
			t.Errorf("%+v", f)
		}
	}
	for _, threshold := range r.Thresholds {
		if !threshold.Kept || threshold.Measured <= 0 {
			t.Errorf("%+v", threshold)
		}
	}
	if kill := r.Faults[0]; kill.NewPrimary == "" || kill.NewPrimary == kill.Nodes[0] || kill.WriteOutage <= 0 || kill.RecoveredAfter <= 0 || kill.WritesAway {
		t.Errorf("%+v", kill)
	}
	survived(t, filepath.Join(dir, "run"), 4)
	for _, c := range r.Checks {
		if c.Name == "replicas" && c.Verdict.String() != "valid" {
			t.Errorf("replicas: %+v", c)
		}
	}
	// A closed loop beside an outage says what its percentiles leave out; how far that
	// moves them depends on how slow the machine is otherwise.
	if c := r.Corrected; c == nil || r.Correction.Added == 0 || c.Count != r.Latency.Count+r.Correction.Added || !strings.Contains(e.stdout, "\ncorrected ") {
		t.Errorf("corrected %+v, %+v: %v", c, r.Correction, e)
	}
	wantServers(t, e, r)
	logs, err := filepath.Glob(filepath.Join(dir, "run", "nodes", "*.log"))
	if err != nil || len(logs) != 3 {
		t.Errorf("logs %v, %v", logs, err)
	}
	again := assay(t, dir, "check", "run", "--quiet")
	if after := resultOf(t, filepath.Join(dir, "run")); again.code != e.code || len(after.Faults) != 2 || after.Faults[0].WriteOutage != r.Faults[0].WriteOutage ||
		!reflect.DeepEqual(after.Servers, r.Servers) {
		t.Errorf("judged again: %+v, %+v, %s", after.Faults, after.Servers, again)
	}
}

// wantServers wants what the servers were doing: all nodes, with gaps of the one that
// was killed, and the account that the primary keeps.
func wantServers(t *testing.T, e ended, r *report.Result) {
	t.Helper()
	s := r.Servers
	if s == nil || len(s.Nodes) != 4 || len(s.Account) == 0 || s.NoNodes+s.NoAccount != "" || s.Limit.Text == "" {
		t.Fatalf("servers %+v", s)
	}
	for _, n := range s.Nodes {
		killed := n.Name == r.Faults[0].Nodes[0]
		if n.Samples == 0 || n.MemoryMax == nil || n.CPUMedian == nil || killed && n.Samples >= n.Of || !strings.Contains(e.stdout, n.Name+": ") && !n.Tester {
			t.Errorf("%+v: %v", n, e)
		}
	}
	for _, f := range s.Account {
		if f.Name == "other commands" && f.Max <= 0 {
			t.Errorf("%+v", f)
		}
	}
}

// survived wants a run whose first fault was the death of its primary to be valid all the
// same, and each of its clients to have gone on.
func survived(t *testing.T, folder string, clients int) {
	t.Helper()
	r := resultOf(t, folder)
	if r.Verdict != check.Valid {
		t.Errorf("the verdict is %v: %+v", r.Verdict, r.Checks)
	}
	if r.Outcomes.Failed+r.Outcomes.Unknown == 0 {
		t.Errorf("nobody noticed: %+v", r.Outcomes)
	}
	since := r.Faults[0].InjectedSecond
	after := map[int]int{}
	_, err := history.Read(filepath.Join(folder, "history.bin"), history.Visitor{Op: func(op *history.Op) error {
		if op.Final == history.Committed && op.Kind == bank.KindTransfer && float64(op.Start)/1e9 > since {
			after[op.Client]++
		}
		return nil
	}})
	expect.NoError(t, err)
	for client := range clients {
		if after[client] == 0 {
			t.Errorf("client %d was lost: nothing committed after the database was back, by others %v", client, after)
		}
	}
	var later int64
	for i, start := range r.Series.Start {
		if start > since {
			later += r.Series.Committed[i]
		}
	}
	if later == 0 {
		t.Error("the series shows no commit after the database was back")
	}
}
