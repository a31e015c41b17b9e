package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"assay/check"
	"assay/internal/expect"
	"assay/report"
	"assay/runner/agents"
)

// TestRunByAgents: two processes make one run, which is judged as one.
func TestRunByAgents(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	assay(t, dir, "run", "bank", "--agents", "local:2", "--clients", "3", "--ops", "300", "--accounts", "100", "--out", "run", "--quiet").want(t, exitValid, exitNoVerdict)
	r := resultOf(t, filepath.Join(dir, "run"))
	if r.Verdict != check.Valid || r.Outcomes.Total() != 300 || len(r.Agents) != 2 || r.Agents[0].Operations+r.Agents[1].Operations != 300 {
		t.Errorf("verdict %v, %+v by %+v", r.Verdict, r.Outcomes, r.Agents)
	}
	assay(t, dir, "check", "run", "--quiet").want(t, exitValid, exitNoVerdict)
}

// TestStudyByAgents: the agents that a study's file asks for do the work of its runs, one
// after the other.
func TestStudyByAgents(t *testing.T) {
	t.Parallel()
	dir, file := studyFile(t, `title: Shared
sizes: {laptop: {ops: 60, accounts: 100, repeat: 2}}
experiments:
  shared: {workload: bank, agents: "local:2", clients: 2}
`)
	assay(t, dir, "study", file, "--out", "made", "--quiet").want(t, exitValid, exitNoVerdict)
	for _, name := range []string{"001-001", "002-001"} {
		if r := resultOf(t, filepath.Join(dir, "made", "shared", name)); r.Verdict != check.Valid || len(r.Agents) != 2 {
			t.Errorf("%s: verdict %v by %+v", name, r.Verdict, r.Agents)
		}
	}
	writeFile(t, strings.Replace(readFile(t, file), "local:2", "local:none", 1), file)
	e := assay(t, dir, "study", file, "--dry-run").want(t, exitUsage)
	expect.Text(t, e, e.complaint(t), "small.yaml:4:", "local:none")
}

// atWork starts a coordinator and two agents, and waits until they work. The engine is
// the coordinator's own if its address is empty.
func atWork(t *testing.T, dir, engine string) (coordinator *process, workers [2]*process) {
	t.Helper()
	listen := engine
	if engine == "" {
		listen = "127.0.0.1:0"
	}
	coordinator = start(t, command{dir: dir, messy: true, args: []string{"run", "bank", "--db", "sqlite:" + filepath.Join(dir, "bank.sqlite"), "--agents", "2",
		"--engine", listen, "--agent-timeout", "1s", "--clients", "4", "--duration", "1m", "--timeout", "1s", "--accounts", "100", "--out", "run", "--plain"}})
	if engine == "" {
		line := regexp.MustCompile(`ASSAY_ENGINE='([^']+)' assay agent`)
		coordinator.untilTrue("line that starts an agent", func() bool { return line.MatchString(coordinator.err.String()) })
		engine = line.FindStringSubmatch(coordinator.err.String())[1]
	}
	for i := range workers {
		workers[i] = start(t, command{dir: dir, messy: true, env: []string{"ASSAY_ENGINE=" + engine}, args: []string{"agent", "--wait", "2s", "--late", "2s"}})
	}
	coordinator.until(working)
	recorded := filepath.Join(dir, "run", "agents")
	coordinator.untilTrue("delivery of each agent", func() bool {
		for _, name := range []string{"0.history", "1.history"} {
			if info, err := os.Stat(filepath.Join(recorded, name)); err != nil || info.Size() < 4000 {
				return false
			}
		}
		return true
	})
	return coordinator, workers
}

// TestAgentIsKilled: what it had delivered is judged, what it had reserved is unknown, and
// the figures are no measurement.
func TestAgentIsKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	coordinator, workers := atWork(t, dir, "")
	workers[1].signal(syscall.SIGKILL)
	workers[1].wait()
	coordinator.wait().want(t, exitNoVerdict)
	if e := workers[0].wait(); e.code != exitValid {
		t.Errorf("the other agent: %v", e)
	}
	r := resultOf(t, filepath.Join(dir, "run"))
	lost := 0
	for _, a := range r.Agents {
		if a.Lost != "" && !a.Delivered && a.Operations > 0 {
			lost++
		}
	}
	if r.Verdict != check.Valid || r.Measurement.Verdict != "invalid" || !strings.Contains(strings.Join(r.Measurement.Reasons, " "), "lost") || lost != 1 {
		t.Errorf("verdict %v, measurement %+v, agents %+v, checks %+v", r.Verdict, r.Measurement, r.Agents, r.Checks)
	}
}

// TestCoordinatorIsKilled: agents end by themselves, what they had delivered is judged,
// and what they kept is judged when it comes late.
func TestCoordinatorIsKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	coordinator, workers := atWork(t, dir, "")
	downAll := func() string {
		return start(t, command{env: []string{"TMPDIR=" + coordinator.temp}, args: []string{"cluster", "down", "--all"}, messy: true}).wait().want(t, exitValid).stdout
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

// TestCoordinatorIsKilledBesideItsEngine: agents deliver to an engine of the user's own,
// from which assay check takes all that they did.
func TestCoordinatorIsKilledBesideItsEngine(t *testing.T) {
	t.Parallel()
	engine, err := agents.Start("127.0.0.1:0", "")
	expect.NoError(t, err)
	t.Cleanup(engine.Close)
	dir := t.TempDir()
	coordinator, workers := atWork(t, dir, engine.Join())
	coordinator.signal(syscall.SIGKILL)
	coordinator.wait()
	var r *report.Result
	workers[0].untilTrue("delivery", func() bool {
		start(t, command{dir: dir, args: []string{"check", "run", "--engine", engine.Join(), "--quiet"}, unwatched: true}).wait().want(t, exitNoVerdict)
		r = resultOf(t, filepath.Join(dir, "run"))
		return len(r.Agents) == 2 && r.Agents[0].Delivered && r.Agents[1].Delivered
	})
	if r.Verdict != check.Valid || r.Measurement.Verdict != "invalid" || r.Outcomes.Committed == 0 {
		t.Errorf("verdict %v of %+v, measurement %+v, checks %+v", r.Verdict, r.Outcomes, r.Measurement, r.Checks)
	}
	for _, w := range workers {
		w.signal(syscall.SIGTERM)
		w.wait().want(t, exitValid)
	}
}
