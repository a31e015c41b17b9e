package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"assay/check"
	"assay/internal/expect"
	"assay/report"
	"assay/runner/agents"
)

// TestStudyByAgents: the agents that a study's file asks for do the work of its runs, one
// after the other.
func TestStudyByAgents(t *testing.T) {
	t.Parallel()
	dir, file := studyFile(t, `title: Shared
sizes: {laptop: {ops: 60, accounts: 100, repeat: 2}}
experiments:
  shared: {workload: bank, agents: "local:2", clients: 2}
`)
	start(t, command{dir: dir, watched: true, args: []string{"study", file, "--out", "made", "--quiet"}}).wait().want(t, exitValid, exitNoVerdict)
	for _, name := range []string{"001-001", "002-001"} {
		if r := resultOf(t, filepath.Join(dir, "made", "shared", name)); r.Verdict != check.Valid || r.Outcomes.Total() != 60 || len(r.Agents) != 2 || r.Agents[0].Operations+r.Agents[1].Operations != 60 {
			t.Errorf("%s: verdict %v by %+v", name, r.Verdict, r.Agents)
		}
	}
	writeFile(t, strings.Replace(readFile(t, file), "local:2", "local:none", 1), file)
	e := assay(t, dir, "study", file, "--dry-run").want(t, exitUsage)
	expect.Text(t, e, e.complaint(t), "small.yaml:4:", "local:none")
}

// TestCoordinatorIsKilled: agents end by themselves, what they had delivered is judged,
// and what they kept is judged when it comes late.
func TestCoordinatorIsKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	coordinator := start(t, command{dir: dir, messy: true, args: []string{"run", "bank", "--db", "sqlite:" + filepath.Join(dir, "bank.sqlite"), "--agents", "2",
		"--engine", "127.0.0.1:0", "--agent-timeout", "12s", "--clients", "4", "--duration", "1m", "--timeout", "1s", "--accounts", "100", "--out", "run", "--plain"}})
	line := regexp.MustCompile(`ASSAY_ENGINE='([^']+)' assay agent`)
	coordinator.untilTrue("line that starts an agent", func() bool { return line.MatchString(coordinator.err.String()) })
	engine := line.FindStringSubmatch(coordinator.err.String())[1]
	var workers [2]*process
	for i := range workers {
		workers[i] = start(t, command{dir: dir, messy: true, env: []string{"ASSAY_ENGINE=" + engine}, args: []string{"agent", "--wait", "4s", "--late", "4s"}})
	}
	coordinator.until(working)
	coordinator.untilTrue("delivery of each agent", func() bool { return delivered(dir, 0) >= 4000 && delivered(dir, 1) >= 4000 })
	downAll := func() string {
		return ends(t, command{env: []string{"TMPDIR=" + coordinator.temp}, args: []string{"cluster", "down", "--all"}, messy: true}).want(t, exitValid).stdout
	}
	if said := downAll(); strings.Contains(said, "assay-engine-") {
		t.Errorf("of a coordinator that goes on: %s", said)
	}
	coordinator.signal(syscall.SIGKILL)
	coordinator.wait()
	kept := regexp.MustCompile(`is kept in (\S+\.history)`)
	var files []string
	for _, a := range workers {
		e := a.wait().want(t, exitCannotRun)
		found := kept.FindStringSubmatch(e.stderr)
		if found == nil {
			t.Fatalf("it does not say where its history is: %v", e)
		}
		files = append(files, found[1])
	}
	if said := downAll(); strings.Count(said, "assay-engine-") != 1 || !strings.Contains(said, "of a killed coordinator of agents is gone") {
		t.Errorf("of a coordinator that was killed: %s", said)
	}
	folder := filepath.Join(dir, "run")
	assay(t, dir, "check", "run", "--quiet").want(t, exitNoVerdict)
	early := resultOf(t, folder)
	for _, path := range files {
		writeFile(t, readFile(t, path), folder, "agents", filepath.Base(path))
	}
	assay(t, dir, "check", "run", "--quiet").want(t, exitNoVerdict)
	late := resultOf(t, folder)
	for _, r := range []*report.Result{early, late} {
		if r.Verdict != check.Valid || r.Measurement.Verdict != "invalid" || len(r.Agents) != 2 {
			t.Errorf("verdict %v, measurement %+v, agents %+v, checks %+v", r.Verdict, r.Measurement, r.Agents, r.Checks)
		}
	}
	if early.Outcomes.Committed == 0 || late.Outcomes.Committed <= early.Outcomes.Committed || !late.Agents[0].Delivered {
		t.Errorf("judged %+v, and with what came late %+v by %+v", early.Outcomes, late.Outcomes, late.Agents)
	}
}

// delivered is how many bytes of a share's history the coordinator has.
func delivered(dir string, share int) int64 {
	info, err := os.Stat(filepath.Join(dir, "run", "agents", strconv.Itoa(share)+".history"))
	if err != nil {
		return 0
	}
	return info.Size()
}

// TestAgentsOfOnesOwnEngine: a run is judged again with what its engine has.
func TestAgentsOfOnesOwnEngine(t *testing.T) {
	t.Parallel()
	engine, err := agents.Start("127.0.0.1:0", "")
	expect.NoError(t, err)
	t.Cleanup(engine.Close)
	dir := t.TempDir()
	start(t, command{dir: dir, env: []string{"ASSAY_ENGINE=" + engine.Join()}, args: []string{"run", "bank", "--agents", "local:1", "--agent-loss", "continue",
		"--clients", "2", "--ops", "60", "--accounts", "100", "--out", "run"}}).wait().want(t, exitValid, exitNoVerdict)
	assay(t, dir, "check", "run", "--engine", engine.Join(), "--quiet").want(t, exitValid, exitNoVerdict)
}
