package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"assay/check"
	"assay/cluster/kubernetes/kubernetestest"
)

// TestKubernetes: the command line against a real API server, whose pods a stand-in
// keeps. One of them is a PostgreSQL.
func TestKubernetes(t *testing.T) {
	t.Parallel()
	api, err := kubernetestest.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := api.Close(); err != nil {
			t.Error(err)
		}
	})
	k := kubernetesCommands{t, api}
	t.Run("Run", k.run)
	t.Run("Killed", k.killed)
	t.Run("Access", k.access)
	t.Run("Provided", k.provided)
}

type kubernetesCommands struct {
	t   *testing.T
	api *kubernetestest.Server
}

// assay runs the program as a user of a namespace.
func (k kubernetesCommands) assay(t *testing.T, user, namespace string, args ...string) *process {
	t.Helper()
	return k.start(t, user, namespace, command{args: args})
}

func (k kubernetesCommands) start(t *testing.T, user, namespace string, c command) *process {
	t.Helper()
	file, err := k.api.Kubeconfig(user, namespace)
	if err != nil {
		t.Fatal(err)
	}
	c.env = append(c.env, "KUBECONFIG="+file)
	return start(t, c)
}

func (k kubernetesCommands) keep(t *testing.T, namespace string, pods []kubernetestest.Pod, how kubernetestest.StandIn) {
	t.Helper()
	stand, err := k.api.Keep(t.Context(), namespace, pods, how)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stand.Stop(); err != nil {
			t.Error(err)
		}
	})
}

// run: the pod of a PostgreSQL is its primary, is killed, and is back.
func (k kubernetesCommands) run(t *testing.T) {
	database := startPostgres(t)
	k.keep(t, "pg", []kubernetestest.Pod{{Name: "db-0", Labels: map[string]string{"app": "db"}, IP: "127.0.0.1", Port: database.Port}},
		kubernetestest.StandIn{Ended: func(string) {
			if err := database.Kill(); err != nil {
				t.Error(err)
			}
			if err := database.Restart(patiently(t)); err != nil {
				t.Error(err)
			}
		}})
	dir := t.TempDir()
	e := k.start(t, kubernetestest.Admin, "pg", command{dir: dir, env: []string{"ASSAY_DB=" + database.Address()}, args: []string{
		"run", "availability", "--kubernetes", "pg/app=db", "--clients", "2", "--duration", "8s", "--warmup", "500ms", "--fault", "kill primary at 1s", "--out", "run"}}).
		wait().want(t, exitValid, exitNoVerdict)
	r := resultOf(t, filepath.Join(dir, "run"))
	if len(r.Faults) != 1 {
		t.Fatalf("faults are %+v: %v", r.Faults, e)
	}
	f := r.Faults[0]
	if !f.Proven || f.HealedAt.IsZero() || len(f.Nodes) != 1 || f.Nodes[0] != "db-0" || f.Problem != "" || f.Skipped {
		t.Errorf("the fault is %+v", f)
	}
	c := r.Cluster
	if c == nil || len(c.Nodes) != 1 || c.Nodes[0].CPU != 0.5 || c.Nodes[0].Memory != 256<<20 || c.Nodes[0].Pod == nil || c.Nodes[0].Pod.Machine != "machine-1" ||
		c.Spec != "kubernetes:pg/app=db" || r.Database.CPUsPerNode == nil || *r.Database.CPUsPerNode != 0.5 {
		t.Errorf("the nodes are %+v, of %+v", c, r.Database)
	}
	if r.Verdict != check.Valid {
		t.Errorf("the verdict is %v: %v", r.Verdict, e)
	}
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), k.api.Token(kubernetestest.Admin)) {
			t.Errorf("%s holds the token", path)
		}
		return err
	})
	if err != nil || strings.Contains(e.stdout+e.stderr, k.api.Token(kubernetestest.Admin)) {
		t.Errorf("the token is shown: %v, %v", e, err)
	}
}

// killed: after SIGKILL the fault is still there, and clean takes it away.
func (k kubernetesCommands) killed(t *testing.T) {
	k.keep(t, "killed", []kubernetestest.Pod{{Name: "db-0", Labels: map[string]string{"app": "db"}, IP: "127.0.0.1", Port: 1}}, kubernetestest.StandIn{})
	p := k.start(t, kubernetestest.Admin, "killed", command{messy: true, args: []string{
		"run", "bank", "--db", "mem://", "--accounts", "100", "--kubernetes", "killed/app=db", "--duration", "1h", "--warmup", "0s", "--fault", "isolate any at 100ms for 30m"}})
	p.until("isolate any")
	clean := func(want string, args ...string) bool {
		e := k.assay(t, kubernetestest.Admin, "killed", append([]string{"kubernetes", "clean", "killed"}, args...)...).wait().want(t, exitValid)
		return strings.Contains(e.stdout, want)
	}
	p.untilTrue("a fault that belongs to a run", func() bool { return clean("left alone (its assay runs)") })
	p.signal(syscall.SIGKILL)
	p.wait()
	if !clean("left alone (its assay is gone)", "--dry-run") || !clean(" is gone") || !clean("there was nothing to take away") {
		t.Error("what a killed run left is not found, or not taken away")
	}
}

// provided: a manifest is there while the run goes on, and not afterwards.
func (k kubernetesCommands) provided(t *testing.T) {
	dir := t.TempDir()
	manifest := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {a: b}\n"
	if err := os.WriteFile(filepath.Join(dir, "db.yaml"), []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	run := []string{"run", "bank", "--db", "mem://", "--accounts", "100", "--cluster", "k8s:db.yaml", "--duration", "1h", "--warmup", "0s"}
	p := k.start(t, kubernetestest.Admin, "default", command{dir: dir, args: run})
	p.until(working)
	left := k.assay(t, kubernetestest.Admin, "default", "kubernetes", "clean", "default", "--dry-run").wait().want(t, exitValid)
	if !strings.Contains(left.stdout, "ConfigMap default/settings") || !strings.Contains(left.stdout, "its assay runs") {
		t.Errorf("while the run goes on: %v", left)
	}
	p.signal(syscall.SIGTERM)
	p.wait().want(t, exitNoVerdict)
	left = k.assay(t, kubernetestest.Admin, "default", "kubernetes", "clean", "default", "--dry-run").wait().want(t, exitValid)
	if !strings.Contains(left.stdout, "nothing to take away") {
		t.Errorf("after the run: %v", left)
	}
	e := k.start(t, kubernetestest.Nobody, "default", command{dir: dir, args: run}).wait().want(t, exitCannotRun)
	if !strings.Contains(e.stderr, "db.yaml") || !strings.Contains(e.stderr, "forbidden") {
		t.Errorf("without rights: %v", e)
	}
	e = k.start(t, kubernetestest.Admin, "default", command{dir: dir, args: []string{"run", "bank", "--cluster", "k8s:db.yaml"}}).wait().want(t, exitUsage)
	if !strings.Contains(e.stderr, "with --db") {
		t.Errorf("without an address: %v", e)
	}
}

// access: what is missing is said, with exit codes.
func (k kubernetesCommands) access(t *testing.T) {
	e := k.assay(t, kubernetestest.Admin, "default", "kubernetes", "check").wait().want(t, exitValid)
	for _, part := range []string{"Kubernetes v1.", "Chaos Mesh", "installed", "rights", "30 of 30"} {
		if !strings.Contains(e.stdout, part) {
			t.Errorf("check does not say %q: %v", part, e)
		}
	}
	e = k.assay(t, kubernetestest.Nobody, "default", "kubernetes", "check").wait().want(t, exitCannotRun)
	for _, part := range []string{"0 of 30", "missing", "list pods, for the nodes of the database", "create pods/eviction", "deploy/role.yaml"} {
		if !strings.Contains(e.stdout, part) {
			t.Errorf("check does not say %q: %v", part, e)
		}
	}
	nothing := []string{"run", "bank", "--db", "mem://", "--kubernetes", "default/app=none", "--ops", "10"}
	if e = k.assay(t, kubernetestest.Admin, "default", nothing...).wait().want(t, exitUsage); !strings.Contains(e.stderr, "selects no pod that runs") {
		t.Error(e)
	}
	if e = k.assay(t, kubernetestest.Nobody, "default", nothing...).wait().want(t, exitCannotRun); !strings.Contains(e.stderr, "assay kubernetes check") {
		t.Error(e)
	}
	e = start(t, command{args: []string{"kubernetes", "check"}, env: []string{"KUBECONFIG=" + t.TempDir() + "/none"}}).wait().want(t, exitCannotRun)
	if !strings.Contains(e.stderr, "set KUBECONFIG") {
		t.Error(e)
	}
}
