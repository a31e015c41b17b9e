package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/internal/expect"
	"assay/runner"
)

// twoObjects is a file of Chaos Mesh with a schedule and a partition.
const twoObjects = `apiVersion: chaos-mesh.org/v1alpha1
kind: Schedule
metadata: {name: kills}
spec:
  schedule: "@every 5s"
  type: PodChaos
  podChaos:
    action: pod-kill
    mode: one
    selector: {labelSelectors: {role: standby}}
---
apiVersion: chaos-mesh.org/v1alpha1
kind: NetworkChaos
metadata: {name: apart}
spec:
  action: partition
  direction: both
  duration: 2s
  mode: one
  selector: {labelSelectors: {role: primary}}
  target: {mode: one, selector: {labelSelectors: {role: standby}}}
`

// TestFaultsOfAFile: the objects of a file happen to a cluster of ours, are told before and
// in the result, and the run's own scenario needs the file no more.
func TestFaultsOfAFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFile(t, twoObjects, dir, "chaos.yaml")
	e := assay(t, dir, "run", "bank", "--cluster", "postgres:2", "--accounts", "200", "--clients", "4", "--seed", "3",
		"--warmup", "500ms", "--duration", "9s", "--out", "run", "--fault", "chaos.yaml at 1s").want(t, exitValid, exitNoVerdict)
	kill, part := "chaos.yaml:1 Schedule of PodChaos kills", "chaos.yaml:12 NetworkChaos apart"
	expect.Text(t, e, e.stderr, "note: "+kill+": kill secondary every 5s for 1s (the label role=standby means nodes that are not the primary)",
		"note: "+part+": partition primary,secondary at 1s for 2s (")
	r := resultOf(t, filepath.Join(dir, "run"))
	if len(r.Faults) != 2 || r.Verdict.String() != "valid" {
		t.Fatalf("%+v: %v", r.Faults, e)
	}
	for i, source := range []string{part, kill} {
		if f := r.Faults[i]; f.Source != source || strings.Contains(f.Asked, "#") || !f.Proven || f.HealedAt.IsZero() || f.Problem != "" {
			t.Errorf("%+v", f)
		}
	}
	if proof := r.Faults[0].Proof; !strings.Contains(proof, "does not connect with it") {
		t.Errorf("the partition: %s", proof)
	}
	expect.Text(t, "the report", readFile(t, dir, "run", "report.html"), "from "+part)
	s, err := runner.ReadScenario(filepath.Join(dir, "run", "scenario.yaml"))
	expect.NoError(t, err)
	if want := []string{"kill secondary every 5s for 1s # " + kill, "partition primary,secondary at 1s for 2s # " + part}; !slices.Equal(s.Faults, want) {
		t.Errorf("the scenario has %q", s.Faults)
	}
}

// TestFilesThatAreNoFaults: what is wrong is told with its line, before anything is started.
func TestFilesThatAreNoFaults(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFile(t, twoObjects, dir, "chaos.yaml")
	writeFile(t, strings.Replace(twoObjects, "partition\n", "duplicate\n", 1), dir, "wrong.yaml")
	writeFile(t, "kind: [\n", dir, "broken.yml")
	run := func(args ...string) string {
		return assay(t, dir, append([]string{"run", "bank", "--cluster", "postgres:2", "--duration", "9s"}, args...)...).want(t, exitUsage).stderr
	}
	for fault, want := range map[string]string{
		"wrong.yaml":          `wrong.yaml:16: spec.action: no fault of assay stands for "duplicate"`,
		"broken.yml":          "broken.yml:1: it is no YAML",
		"none.yaml":           "none.yaml: a file of Chaos Mesh: open none.yaml: no such file",
		"chaos.yaml every 5s": "behind a file only at T can stand",
		"none | wrong.yaml":   "wrong.yaml:16",
		"chaos.yaml at soon":  `"soon" is no duration`,
	} {
		expect.Text(t, fault, run("--fault", fault), want)
	}
	e := assay(t, dir, "run", "bank", "--kubernetes", "db/app=x", "--db", "postgres://localhost/x", "--fault", "wrong.yaml").want(t, exitUsage)
	expect.Text(t, e, e.stderr, "wrong.yaml:16")
}

// TestStudyWithAFileOfFaults: a file is a value of the key fault, and is told once.
func TestStudyWithAFileOfFaults(t *testing.T) {
	t.Parallel()
	dir, file := studyFile(t, `defaults: {cluster: "postgres:2", duration: 9s}
experiments:
  x: {workload: bank, fault: chaos.yaml, matrix: {clients: [1, 2]}}
`)
	writeFile(t, twoObjects, dir, "chaos.yaml")
	e := assay(t, dir, "study", file, "--dry-run").want(t, exitValid)
	expect.Text(t, e, e.stdout, "--fault chaos.yaml")
	if n := strings.Count(e.stderr, "partition primary,secondary for 2s"); n != 1 {
		t.Errorf("it was told %d times: %v", n, e)
	}
	writeFile(t, strings.Replace(twoObjects, "partition\n", "duplicate\n", 1), dir, "chaos.yaml")
	e = assay(t, dir, "study", file, "--dry-run").want(t, exitUsage)
	expect.Text(t, e, e.stderr, ":3:", "chaos.yaml:16: spec.action")
}
