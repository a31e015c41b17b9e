package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"assay/check"
	"assay/cluster/kubernetes/kubernetestest"
	"assay/internal/expect"
)

// TestKubernetes: the command line against a real API server, whose pods a stand-in
// keeps. One of them is a PostgreSQL.
func TestKubernetes(t *testing.T) {
	t.Parallel()
	api, err := kubernetestest.Start()
	expect.NoError(t, err)
	expect.AtEnd(t, api.Close)
	k := kubernetesCommands{t, api}
	t.Run("Run", k.run)
	t.Run("Together", k.together)
	t.Run("Killed", k.killed)
	t.Run("Access", k.access)
	t.Run("Provided", k.provided)
	t.Run("Others", k.others)
	t.Run("Without", k.without)
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
	if user == kubernetestest.ServiceAccount { // with the role's rights alone
		file, err = k.api.Granted(t.Context(), "../../deploy/role.yaml", namespace)
	}
	expect.NoError(t, err)
	c.env = append(c.env, "KUBECONFIG="+file)
	return start(t, c)
}

func (k kubernetesCommands) keep(t *testing.T, namespace string, pods []kubernetestest.Pod, how kubernetestest.StandIn) {
	t.Helper()
	stand, err := k.api.Keep(t.Context(), namespace, pods, how)
	expect.NoError(t, err)
	expect.AtEnd(t, stand.Stop)
}

// postgres has the stand-in keep the pod of a PostgreSQL, which is killed and started
// when its pod is.
func (k kubernetesCommands) postgres(t *testing.T, namespace string) (address string) {
	t.Helper()
	database := startPostgres(t)
	k.keep(t, namespace, []kubernetestest.Pod{{Name: "db-0", Labels: map[string]string{"app": "db"}, IP: "127.0.0.1", Port: database.Port, Claim: "data-0"}},
		kubernetestest.StandIn{Ended: func(string) {
			if err := database.Kill(); err != nil {
				t.Error(err)
			}
			if err := database.Restart(patiently(t)); err != nil {
				t.Error(err)
			}
		}})
	k.volume(t, namespace, "data-0")
	return database.Address()
}

// together: a manifest, the pods of a database and a fault in one run.
func (k kubernetesCommands) together(t *testing.T) {
	address := k.postgres(t, "together")
	dir := t.TempDir()
	manifest := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {a: b}\n"
	writeFile(t, manifest, dir, "db.yaml")
	e := k.start(t, kubernetestest.Admin, "together", command{dir: dir, env: []string{"ASSAY_DB=" + address}, args: []string{
		"run", "bank", "--cluster", "k8s:db.yaml", "--kubernetes", "together/app=db", "--accounts", "100", "--clients", "2", "--rate", "50", "--duration", "4s",
		"--warmup", "500ms", "--fault", "kill primary at 1s", "--out", "run"}}).wait().want(t, exitValid, exitNoVerdict)
	r := resultOf(t, filepath.Join(dir, "run"))
	if r.Verdict != check.Valid || len(r.Faults) != 1 || !r.Faults[0].Proven || r.Faults[0].HealedAt.IsZero() || r.Cluster == nil || len(r.Cluster.Nodes) != 1 {
		t.Errorf("verdict %v, faults %+v, nodes %+v: %v", r.Verdict, r.Faults, r.Cluster, e)
	}
	k.assay(t, kubernetestest.Admin, "together", "kubernetes", "clean", "together", "--dry-run").wait().want(t, exitValid).shows(t, "nothing to take away")
}

// run: the pod of a PostgreSQL is its primary, is killed, and is back.
func (k kubernetesCommands) run(t *testing.T) {
	address := k.postgres(t, "pg")
	dir := t.TempDir()
	e := k.start(t, kubernetestest.ServiceAccount, "pg", command{dir: dir, env: []string{"ASSAY_DB=" + address}, args: []string{
		"run", "availability", "--kubernetes", "pg/app=db", "--clients", "2", "--duration", "4s", "--warmup", "500ms", "--fault", "kill primary at 1s", "--out", "run"}}).
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
		len(c.Nodes[0].Pod.Volumes) != 1 || c.Nodes[0].Pod.Volumes[0].Bytes != 5<<30 || *r.Database.DiskPerNode != 5<<30 ||
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

func (k kubernetesCommands) volume(t *testing.T, namespace, name string) {
	t.Helper()
	claims := schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}
	_, err := k.api.Client.Resource(claims).Namespace(namespace).Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": map[string]any{"name": name},
		"spec": map[string]any{"storageClassName": "fast", "accessModes": []any{"ReadWriteOnce"},
			"resources": map[string]any{"requests": map[string]any{"storage": "5Gi"}}}}}, metav1.CreateOptions{})
	expect.NoError(t, err)
}

// others: a database that is none of the pods which the selector fits is said to be so.
func (k kubernetesCommands) others(t *testing.T) {
	address := databaseOf(t, "of_others")
	k.keep(t, "others", []kubernetestest.Pod{{Name: "web-0", Labels: map[string]string{"app": "web"}, IP: "127.0.0.9", Port: 1}}, kubernetestest.StandIn{})
	dir := t.TempDir()
	k.start(t, kubernetestest.ServiceAccount, "others", command{dir: dir, env: []string{"ASSAY_DB=" + address}, args: []string{
		"run", "bank", "--kubernetes", "others/app=web", "--accounts", "100", "--clients", "2", "--ops", "100", "--out", "run"}}).wait()
	expect.Text(t, "the notes", strings.Join(resultOf(t, filepath.Join(dir, "run")).Notes, "; "), "which is none of the pods others/app=web")
}

// without: where Chaos Mesh is not installed, its faults are refused with how to get it.
func (k kubernetesCommands) without(t *testing.T) {
	k.keep(t, "without", []kubernetestest.Pod{{Name: "db-0", Labels: map[string]string{"app": "db"}, IP: "127.0.0.1", Port: 1}}, kubernetestest.StandIn{})
	expect.NoError(t, k.api.RemoveChaosMesh(t.Context()))
	k.assay(t, kubernetestest.ServiceAccount, "without", "kubernetes", "check", "without/app=db").wait().want(t, exitValid).shows(t, "not installed", "helm install chaos-mesh", "5 of 5", "db-0, ready, 0.5 processors, 256MiB of memory")
	e := k.assay(t, kubernetestest.ServiceAccount, "without", "run", "bank", "--db", "mem://", "--kubernetes", "without/app=db", "--duration", "10s",
		"--fault", "isolate any at 1s").wait().want(t, exitCannotRun)
	expect.Text(t, e, e.stderr, "the cluster has no NetworkChaos of Chaos Mesh", "helm install chaos-mesh")
}

// killed: after SIGKILL the fault is still there, and clean takes it away.
func (k kubernetesCommands) killed(t *testing.T) {
	k.keep(t, "killed", []kubernetestest.Pod{{Name: "db-0", Labels: map[string]string{"app": "db"}, IP: "127.0.0.1", Port: 1}}, kubernetestest.StandIn{})
	p := k.start(t, kubernetestest.ServiceAccount, "killed", command{messy: true, args: []string{
		"run", "bank", "--db", "mem://", "--accounts", "100", "--kubernetes", "killed/app=db", "--duration", "1h", "--warmup", "0s", "--fault", "isolate any at 100ms for 30m"}})
	p.until("isolate any")
	clean := func(want string, args ...string) bool {
		e := k.assay(t, kubernetestest.ServiceAccount, "killed", append([]string{"kubernetes", "clean", "killed"}, args...)...).wait().want(t, exitValid)
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
	writeFile(t, manifest, dir, "db.yaml")
	run := []string{"run", "bank", "--db", "mem://", "--accounts", "100", "--cluster", "k8s:db.yaml", "--duration", "1h", "--warmup", "0s"}
	p := k.start(t, kubernetestest.Admin, "default", command{dir: dir, args: run})
	p.until(working)
	k.assay(t, kubernetestest.Admin, "default", "kubernetes", "clean", "default", "--dry-run").wait().want(t, exitValid).shows(t, "ConfigMap default/settings", "its assay runs")
	p.signal(syscall.SIGTERM)
	p.wait().want(t, exitNoVerdict)
	k.assay(t, kubernetestest.Admin, "default", "kubernetes", "clean", "default", "--dry-run").wait().want(t, exitValid).shows(t, "nothing to take away")
	e := k.start(t, kubernetestest.Nobody, "default", command{dir: dir, args: run}).wait().want(t, exitCannotRun)
	expect.Text(t, e, e.stderr, "db.yaml", "forbidden")
	e = k.start(t, kubernetestest.Admin, "default", command{dir: dir, args: []string{"run", "bank", "--cluster", "k8s:db.yaml"}}).wait().want(t, exitUsage)
	expect.Text(t, e, e.stderr, "with --db")
}

// access: what is missing is said, with exit codes.
func (k kubernetesCommands) access(t *testing.T) {
	k.assay(t, kubernetestest.Admin, "default", "kubernetes", "check").wait().want(t, exitValid).shows(t, "Kubernetes v1.", "Chaos Mesh", "installed", "rights", "30 of 30")
	e := k.assay(t, kubernetestest.Nobody, "default", "kubernetes", "check").wait().want(t, exitCannotRun)
	expect.Text(t, e, e.stdout, "0 of 30", "missing", "list pods, for the nodes of the database", "create pods/eviction", "deploy/role.yaml")
	nothing := []string{"run", "bank", "--db", "mem://", "--kubernetes", "default/app=none", "--ops", "10"}
	if e = k.assay(t, kubernetestest.Admin, "default", nothing...).wait().want(t, exitUsage); !strings.Contains(e.stderr, "selects no pod that runs") {
		t.Error(e)
	}
	if e = k.assay(t, kubernetestest.Nobody, "default", nothing...).wait().want(t, exitCannotRun); !strings.Contains(e.stderr, "assay kubernetes check") {
		t.Error(e)
	}
	e = k.assay(t, kubernetestest.Admin, "default", "kubernetes", "check", "default/app=none").wait().want(t, exitUsage)
	expect.Text(t, e, e.stderr, "selects no pod that runs")
	e = k.assay(t, "stranger", "default", "kubernetes", "check").wait().want(t, exitCannotRun) // whose token nobody knows
	expect.Text(t, e, e.stderr, "does not take the credentials")
	file, err := k.api.Kubeconfig(kubernetestest.Admin, "away")
	expect.NoError(t, err)
	text, err := os.ReadFile(file)
	if err == nil { // where nobody listens
		err = os.WriteFile(file, []byte(strings.ReplaceAll(string(text), k.api.Host(), "https://127.0.0.1:1")), 0o600)
	}
	expect.NoError(t, err)
	e = ends(t, command{args: []string{"kubernetes", "check"}, env: []string{"KUBECONFIG=" + file}}).want(t, exitCannotRun)
	expect.Text(t, e, e.stderr, "reach https://127.0.0.1:1", "refused")
	e = ends(t, command{args: []string{"kubernetes", "check"}, env: []string{"KUBECONFIG=" + t.TempDir() + "/none"}}).want(t, exitCannotRun)
	expect.Text(t, e, e.stderr, "set KUBECONFIG")
}
