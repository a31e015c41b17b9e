package kubernetes

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"assay/cluster/kubernetes/kubernetestest"
	"assay/cluster/server"
	"assay/internal/expect"
)

// noDefinition are manifests of kinds without a definition: their fields stay unchecked.
func noDefinition() []string { return []string{"foundationdb.yaml"} }

// TestDatabases: the API server accepts each manifest of deploy/databases by its operator's
// definitions, without a wrong field or value.
func TestDatabases(t *testing.T) {
	expect.NoError(t, api.Namespace(t.Context(), "databases"))
	expect.NoError(t, api.DefineOperators(t.Context()))
	c := connect(t, kubernetestest.Admin, "databases")
	for _, version := range []string{"postgresql.cnpg.io/v1", "psmdb.percona.com/v1", "mongodbcommunity.mongodb.com/v1", "k8s.mariadb.com/v1alpha1", "k8ssandra.io/v1alpha1"} {
		if err := server.Until(t.Context(), 100*time.Millisecond, "kinds of "+version, func(ctx context.Context) error {
			_, err := c.kindsOf(ctx, version)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob("../../deploy/databases/*.yaml")
	if err != nil || len(files) != 8 {
		t.Fatalf("manifests are %v, %v", files, err)
	}
	table, err := os.ReadFile("../../docs/guides/kubernetes.md")
	expect.NoError(t, err)
	for _, file := range files {
		name := filepath.Base(file)
		expect.Text(t, name, string(table), "`databases/"+name+"`")
		objects := manifestObjects(t, file)
		if len(objects) != 1 {
			t.Errorf("%s has %d objects", name, len(objects))
			continue
		}
		o := objects[0]
		err = dryRun(t, c, o)
		if slices.Contains(noDefinition(), name) {
			if err == nil || !strings.Contains(err.Error(), "install the operator") {
				t.Errorf("%s: %v; its kind is there, and it can be tried", name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		wrong := o.DeepCopy()
		_ = unstructured.SetNestedField(wrong.Object, "x", "spec", "nosuchfield")
		if err := dryRun(t, c, wrong); err == nil || !strings.Contains(err.Error(), `unknown field "spec.nosuchfield"`) {
			t.Errorf("%s with a wrong field: %v", name, err)
		}
		wrong = o.DeepCopy()
		wrong.Object["spec"] = "x"
		if err := dryRun(t, c, wrong); err == nil || !strings.Contains(err.Error(), "spec") {
			t.Errorf("%s with a wrong value: %v", name, err)
		}
	}
}

// dryRun sends an object without keeping it.
func dryRun(t *testing.T, c *Client, o *unstructured.Unstructured) error {
	t.Helper()
	k, err := c.kindOf(t.Context(), o)
	if err != nil {
		return err
	}
	_, err = c.in(k.GroupVersionResource, c.namespaceOf(k, o)).Create(t.Context(), o.DeepCopy(),
		metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict})
	return err
}
