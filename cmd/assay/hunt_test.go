package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"assay/check"
	"assay/internal/expect"
	"assay/runner/hunt"
)

// TestHunt finds a bug that the database was opened with, shrinks it to a command that finds it again, and
// goes on with what it has. Package hunt searches from a cold start.
func TestHunt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFile(t, "workload: bank\nclients: 2\nduration: 1s\noptions: [\"bug=lost-ack:0.3\"]\nflags: {accounts: 10}\nfaults: [pause n1 at 300ms for 50ms]\n", dir, "plan.yaml")
	e := assay(t, dir, "hunt", "--cluster", "etcd:1", "--workload", "bank", "--plan", "plan.yaml", "--option", "bug=lost-ack:0.3", "--for", "5m", "--shrink-for", "5s", "--findings", "1", "--out", "h", "--json", "--quiet").want(t, exitViolated)
	var s hunt.State
	expect.NoError(t, json.Unmarshal([]byte(e.stdout), &s))
	if len(s.Findings) != 1 || s.Findings[0].Verdict != check.Violated || s.Findings[0].Found == 0 || !s.Findings[0].Shrunk {
		t.Fatalf("%+v", s.Findings)
	}
	for _, name := range []string{hunt.FileState, hunt.FilePage, hunt.FileText, filepath.Join(s.Findings[0].Folder, "result.json")} {
		if _, err := os.Stat(filepath.Join(dir, "h", name)); err != nil {
			t.Error(err)
		}
	}
	assay(t, dir, "hunt", "--resume", "h", "--for", "1ms").want(t, exitViolated).shows(t, s.Findings[0].Command)
}

// TestHuntByAPlan: a hunt that begins with a plan and whose servers keep their word finds nothing, and
// says what it reached.
func TestHuntByAPlan(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFile(t, "workload: bank\nclients: 2\nduration: 4s\nflags: {accounts: 10}\nfaults: [pause n1 at 300ms for 50ms, kill n1 when n1 rejoins for 100ms]\n", dir, "plan.yaml")
	e := assay(t, dir, "hunt", "--cluster", "redis:1,appendfsync=always", "--plan", "plan.yaml", "--for", "2s", "--seed", "4").want(t, exitValid)
	e.shows(t, "In 1 plan, 4 s of load: nothing; 3 of 3 states reached.", "2 faults by state", "seed 4")
}

func TestHuntRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFile(t, "workload: bank\nfaults:\n- kil n1 at 1s\n", dir, "plan.yaml")
	for want, args := range map[string][]string{
		"no goal \"los\"":               {"--cluster", "etcd:1", "--goal", "los"},
		"a transfer could be half done": {"--cluster", "sqlite:1", "--workload", "bank"},
		"other servers, limits":         {"--cluster", "etcd:1", "--cluster", "etcd:3"},
		"did you mean bank":             {"--cluster", "etcd:1", "--workload", "banc"},
		"plan.yaml:3:3: faults[0]: ":    {"--cluster", "etcd:1", "--plan", "plan.yaml"},
		"no such file":                  {"--cluster", "etcd:1", "--plan", "p.yaml"},
		"holds no hunt":                 {"--resume", dir},
		"--seed goes without --resume":  {"--resume", dir, "--seed", "1"},
		"take a time above 0":           {"--cluster", "etcd:1", "--for", "0s"},
		"etcdd":                         {"--cluster", "etcdd:1"},
	} {
		expect.Text(t, args, assay(t, dir, append([]string{"hunt"}, args...)...).want(t, exitUsage).complaint(t), want)
	}
}
