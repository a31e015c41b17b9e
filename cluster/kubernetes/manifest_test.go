package kubernetes

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"assay/cluster/kubernetes/kubernetestest"
	"assay/internal/expect"
)

func manifest(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "db.yaml")
	expect.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

const database = `
---
# a document of a chart that has nothing
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {fsync: "on"}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 1
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: db, image: none}]}
`

// TestManifest applies objects with our label, waits for their own status, and deletes them.
func TestManifest(t *testing.T) {
	expect.NoError(t, api.Namespace(t.Context(), "manifest"))
	c := connect(t, kubernetestest.Admin, "manifest")
	applied, err := c.Apply(t.Context(), manifest(t, database), NewMark("0badcafe"))
	expect.NoError(t, err)
	if left, _, err := c.Leftovers(t.Context(), "manifest"); len(left) != 2 || err != nil {
		t.Errorf("with our label are %v, %v", left, err)
	}
	bounded, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := applied.Await(bounded); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "StatefulSet db (") {
		t.Errorf("what is not ready gives %v", err)
	}
	sets := api.Client.Resource(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}).Namespace("manifest")
	status := []byte(`{"status":{"replicas":1,"readyReplicas":1,"observedGeneration":1}}`)
	if _, err := sets.Patch(t.Context(), "db", types.MergePatchType, status, metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	patient, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	expect.NoError(t, applied.Await(patient))
	if _, err := c.Apply(t.Context(), manifest(t, database), NewMark("00000001")); err == nil || !strings.Contains(err.Error(), "not of this run") {
		t.Errorf("what is there of another run: %v", err)
	}
	collected := make(chan error, 1)
	go func() { // nobody else collects what belongs to the set
		collected <- await(patient, func(context.Context) (bool, error) {
			o, err := sets.Get(patient, "db", metav1.GetOptions{})
			if err != nil || o.GetDeletionTimestamp() == nil {
				return false, err
			}
			_, err = sets.Patch(patient, "db", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
			return true, err
		})
	}()
	expect.NoError(t, applied.Remove(t.Context(), time.Minute), <-collected)
	if left, _, err := c.Leftovers(t.Context(), "manifest"); len(left) != 0 || err != nil {
		t.Errorf("left are %v, %v", left, err)
	}
}

func TestManifestRefused(t *testing.T) {
	expect.NoError(t, api.Namespace(t.Context(), "refused"))
	c := connect(t, kubernetestest.Admin, "refused")
	for text, want := range map[string]string{
		"":          "has no objects",
		"a: [":      "no YAML",
		"kind: Pod": "object 1 has no apiVersion, kind or metadata.name",
		"apiVersion: postgresql.nowhere.io/v1\nkind: Cluster\nmetadata: {name: db}": "no kind Cluster in postgresql.nowhere.io/v1; install the operator",
		"apiVersion: apps/v1\nkind: StatefulSett\nmetadata: {name: db}":             "install the operator",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\nbinary: {a: b}":      "field not declared in schema",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: nowhere}":  "not found",
	} {
		applied, err := c.Apply(t.Context(), manifest(t, text), NewMark("0badcafe"))
		var wrong *ManifestError
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gives %v", text, err)
		}
		if err := applied.Remove(t.Context(), time.Minute); err != nil {
			t.Error(err)
		}
	}
	if _, err := c.Apply(t.Context(), "/nowhere.yaml", NewMark("0badcafe")); err == nil || !strings.Contains(err.Error(), "cannot be read") {
		t.Errorf("a file that is not there: %v", err)
	}
}

// TestReadiness: an object's own status decides. Without one it is ready only if its kind has none.
func TestReadiness(t *testing.T) {
	for text, ready := range map[string]bool{
		`{apiVersion: v1, kind: ConfigMap}`:                                                                                                                                     true,
		`{apiVersion: apps/v1, kind: StatefulSet}`:                                                                                                                              false,
		`{apiVersion: apps/v1, kind: StatefulSet, spec: {replicas: 3}, status: {readyReplicas: 2}}`:                                                                             false,
		`{apiVersion: apps/v1, kind: StatefulSet, spec: {replicas: 3}, status: {readyReplicas: 3}}`:                                                                             true,
		`{apiVersion: apps/v1, kind: StatefulSet, metadata: {generation: 2}, spec: {replicas: 1}, status: {readyReplicas: 1, observedGeneration: 1}}`:                           false,
		`{apiVersion: v1, kind: PersistentVolumeClaim, status: {phase: Pending}}`:                                                                                               false,
		`{apiVersion: v1, kind: PersistentVolumeClaim, status: {phase: Bound}}`:                                                                                                 true,
		`{apiVersion: postgresql.cnpg.io/v1, kind: Cluster}`:                                                                                                                    false,
		`{apiVersion: postgresql.cnpg.io/v1, kind: Cluster, status: {instances: 3}}`:                                                                                            false,
		`{apiVersion: postgresql.cnpg.io/v1, kind: Cluster, status: {conditions: [{type: Ready, status: "False"}]}}`:                                                            false,
		`{apiVersion: postgresql.cnpg.io/v1, kind: Cluster, status: {conditions: [{type: Ready, status: "True"}]}}`:                                                             true,
		`{apiVersion: psmdb.percona.com/v1, kind: PerconaServerMongoDB, status: {state: initializing}}`:                                                                         false,
		`{apiVersion: k8ssandra.io/v1alpha1, kind: K8ssandraCluster, status: {conditions: [{type: Other, status: "True"}]}}`:                                                    false,
		`{apiVersion: k8ssandra.io/v1alpha1, kind: K8ssandraCluster, status: {conditions: [{type: CassandraInitialized, status: "True"}]}}`:                                     true,
		`{apiVersion: apps.foundationdb.org/v1beta2, kind: FoundationDBCluster, metadata: {generation: 2}, status: {health: {available: true}, generations: {reconciled: 1}}}`:  false,
		`{apiVersion: apps.foundationdb.org/v1beta2, kind: FoundationDBCluster, metadata: {generation: 2}, status: {health: {available: false}, generations: {reconciled: 2}}}`: false,
		`{apiVersion: apps.foundationdb.org/v1beta2, kind: FoundationDBCluster, metadata: {generation: 2}, status: {health: {available: true}, generations: {reconciled: 2}}}`:  true,
		`{apiVersion: psmdb.percona.com/v1, kind: PerconaServerMongoDB, status: {state: ready}}`:                                                                                true,
	} {
		all, err := readManifest(strings.NewReader(text))
		expect.NoError(t, err)
		if is, why := readiness(&unstructured.Unstructured{Object: all[0].Object}); is != ready {
			t.Errorf("%s: ready %v, %s", text, is, why)
		}
	}
}
