package kubernetes

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"assay/cluster/kubernetes/kubernetestest"
	"assay/cluster/server"
	"assay/internal/expect"
)

// TestAgentsJob: the API server accepts the agents' Job. Its pods' names have their index.
func TestAgentsJob(t *testing.T) {
	expect.NoError(t, api.Namespace(t.Context(), "agents"))
	c := connect(t, kubernetestest.Admin, "agents")
	all := manifestObjects(t, "../../deploy/agents-job.yaml")
	if len(all) != 1 {
		t.Fatalf("%d objects", len(all))
	}
	expect.NoError(t, dryRun(t, c, all[0]))
	if mode, _, _ := unstructured.NestedString(all[0].Object, "spec", "completionMode"); mode != "Indexed" {
		t.Errorf("the Job is %q", mode)
	}
}

// TestChart: the API server accepts the chart's objects for all values, and its role grants what
// deploy/role.yaml does.
func TestChart(t *testing.T) {
	expect.NoError(t, api.Namespace(t.Context(), "chart"))
	c := connect(t, kubernetestest.Admin, "chart")
	pods := []string{"database.namespace=default", "database.selector=app=db"}
	for _, chart := range []struct {
		set   []string
		kinds string
	}{
		{nil, "Deployment Job PersistentVolumeClaim"},
		{[]string{"view=false", "run.storageClassName=fast"}, "Job PersistentVolumeClaim"},
		{slices.Concat(pods, []string{"agents.count=4", "args={bank,--clients,128,--fault,kill primary every 2m}"}), "Deployment Job Job PersistentVolumeClaim Role RoleBinding Service ServiceAccount"},
		{slices.Concat(pods, []string{"database.chaosMesh=false"}), "Deployment Job PersistentVolumeClaim Role RoleBinding ServiceAccount"},
	} {
		text, err := template(t, chart.set...)
		if err != nil {
			t.Fatalf("%v: %v", chart.set, err)
		}
		all, err := readManifest(strings.NewReader(text))
		if err != nil {
			t.Fatalf("%v: %v", chart.set, err)
		}
		var kinds []string
		for _, o := range all {
			kinds = append(kinds, o.GetKind())
			if err := dryRun(t, c, o); err != nil {
				t.Errorf("%v: %s %s: %v", chart.set, o.GetKind(), o.GetName(), err)
			}
			if o.GetName() == "trial-run" && slices.Contains(chart.set, "agents.count=4") {
				want := []string{"run", "bank", "--clients", "128", "--fault", "kill primary every 2m", "--kubernetes", "default/app=db", "--agents", "4", "--engine", "0.0.0.0:4222"}
				containers := objects(o.Object, "spec", "template", "spec", "containers")
				if got, _, _ := unstructured.NestedStringSlice(containers[0], "args"); !slices.Equal(got, want) {
					t.Errorf("the run is given %q", got)
				}
			}
			if o.GetKind() == "Role" {
				want := roleRules(t)
				if slices.Contains(chart.set, "database.chaosMesh=false") {
					want = want[:3]
				}
				if got := objects(o.Object, "rules"); !reflect.DeepEqual(got, want) {
					t.Errorf("%v: the role grants %v, and deploy/role.yaml %v", chart.set, got, want)
				}
			}
		}
		if slices.Sort(kinds); strings.Join(kinds, " ") != chart.kinds {
			t.Errorf("%v makes %v", chart.set, kinds)
		}
	}
	if _, err := template(t, "database.selector=app=db"); err == nil || !strings.Contains(err.Error(), "of which namespace?") {
		t.Errorf("a selector without a namespace: %v", err)
	}
}

func roleRules(t *testing.T) []map[string]any {
	t.Helper()
	for _, o := range manifestObjects(t, "../../deploy/role.yaml") {
		if o.GetKind() == "Role" {
			return objects(o.Object, "rules")
		}
	}
	t.Fatal("deploy/role.yaml has no role")
	return nil
}

func manifestObjects(t *testing.T, file string) []*unstructured.Unstructured {
	t.Helper()
	f, err := os.Open(file)
	expect.NoError(t, err)
	defer f.Close()
	all, err := readManifest(f)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return all
}

func template(t *testing.T, values ...string) (string, error) {
	t.Helper()
	program, err := server.Program{Name: "helm-template", Get: "scripts/install-servers.sh kubernetes builds it"}.Find("")
	expect.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), program, append([]string{"../../deploy/chart", "trial", "chart"}, values...)...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%w: %s", err, &said)
	}
	return out.String(), nil
}
