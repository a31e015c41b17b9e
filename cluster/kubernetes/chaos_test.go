package kubernetes

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"assay/cluster/kubernetes/kubernetestest"
	"assay/cluster/server"
	"assay/internal/expect"
)

func loss(namespace string) map[string]any {
	return map[string]any{"mode": "all", "action": "loss", "loss": map[string]any{"loss": "10", "correlation": "0"},
		"selector": map[string]any{"pods": map[string]any{namespace: []any{"db-0"}}}}
}

func TestChaos(t *testing.T) {
	var hang, deaf atomic.Bool
	c := keep(t, "chaos", kubernetestest.StandIn{Hang: hang.Load, Deaf: deaf.Load})
	mark := NewMark("0badcafe")
	wrong := loss("chaos")
	wrong["lossy"] = "10"
	if _, err := c.CreateChaos(t.Context(), NetworkChaos, "chaos", mark, wrong); err == nil || !strings.Contains(err.Error(), `unknown field "spec.lossy"`) {
		t.Errorf("a wrong field gives %v", err)
	}
	wrong = loss("chaos")
	wrong["action"] = "lose"
	if _, err := c.CreateChaos(t.Context(), NetworkChaos, "chaos", mark, wrong); err == nil || !strings.Contains(err.Error(), "Unsupported value") {
		t.Errorf("a wrong value gives %v", err)
	}
	make := func() *Chaos {
		t.Helper()
		made, err := c.CreateChaos(t.Context(), NetworkChaos, "chaos", mark, loss("chaos"))
		expect.NoError(t, err)
		return made
	}
	made := make()
	expect.NoError(t, made.AwaitInjected(t.Context(), time.Minute))
	if forced, err := made.Remove(t.Context(), time.Minute); forced != "" || err != nil {
		t.Errorf("removed by %q, %v", forced, err)
	}
	if forced, err := made.Remove(t.Context(), time.Minute); forced != "" || err != nil {
		t.Errorf("removed again by %q, %v", forced, err)
	}

	hang.Store(true)
	made = make()
	expect.NoError(t, made.AwaitInjected(t.Context(), time.Minute))
	forced, err := made.Remove(t.Context(), time.Second)
	if err != nil || !strings.Contains(forced, "had not recovered") || !strings.Contains(forced, "chaos/db-0 is injected") {
		t.Errorf("a recovery that hangs is removed by %q, %v", forced, err)
	}
	if all, _, err := c.Leftovers(t.Context(), "chaos"); len(all) > 0 || err != nil {
		t.Errorf("left are %v, %v", all, err)
	}

	hang.Store(false)
	deaf.Store(true)
	made = make()
	if err := made.AwaitInjected(t.Context(), 2*time.Second); err == nil || !strings.Contains(err.Error(), "failed by the stand-in") {
		t.Errorf("what is not injected gives %v", err)
	}
	if forced, err := made.Remove(t.Context(), time.Minute); forced != "" || err != nil {
		t.Errorf("removed by %q, %v", forced, err)
	}
}

// TestLeftovers: only objects with our label are found, and only those without a living owner are
// called so.
func TestLeftovers(t *testing.T) {
	c := keep(t, "leftovers", kubernetestest.StandIn{Hang: func() bool { return true }})
	here, _ := os.Hostname()
	dead := Mark{Run: "00000001", owner: owner{Host: here, Process: server.ProcessID{PID: 1 << 30}}}
	away := Mark{Run: "00000002", owner: owner{Host: "elsewhere", Process: server.ProcessID{PID: 1}}}
	for _, mark := range []Mark{dead, away, NewMark("00000003")} {
		made, err := c.CreateChaos(t.Context(), NetworkChaos, "leftovers", mark, loss("leftovers"))
		if err == nil {
			err = made.AwaitInjected(t.Context(), time.Minute)
		}
		expect.NoError(t, err)
	}
	networks := chaosResource(NetworkChaos)
	foreign := create(t, networks, "leftovers", `
apiVersion: chaos-mesh.org/v1alpha1
kind: NetworkChaos
metadata: {name: of-somebody-else}
spec: {action: partition, mode: all, selector: {namespaces: [elsewhere]}}`)
	all, hidden, err := c.Leftovers(t.Context(), "leftovers")
	if err != nil || len(all) != 3 || hidden != 0 {
		t.Fatalf("left are %v, hidden %d, %v", all, hidden, err)
	}
	for _, l := range all {
		if l.Alive != (l.Run == "00000003") || l.Away != (l.Run == "00000002") {
			t.Errorf("%v of run %s: alive %v, away %v (%s)", l, l.Run, l.Alive, l.Away, l.Owner)
		}
		if forced, err := l.Remove(t.Context(), time.Second); err != nil || forced == "" {
			t.Errorf("%v is removed by %q, %v", l, forced, err)
		}
	}
	if all, _, err = c.Leftovers(t.Context(), "leftovers"); len(all) > 0 || err != nil {
		t.Errorf("left are %v, %v", all, err)
	}
	if _, err := api.Client.Resource(networks).Namespace("leftovers").Get(t.Context(), foreign.GetName(), metav1.GetOptions{}); err != nil {
		t.Errorf("what has not our label: %v", err)
	}
	patch := []byte(`{"metadata":{"finalizers":null}}`)
	_ = api.Client.Resource(networks).Namespace("leftovers").Delete(t.Context(), foreign.GetName(), metav1.DeleteOptions{})
	_, _ = api.Client.Resource(networks).Namespace("leftovers").Patch(t.Context(), foreign.GetName(), types.MergePatchType, patch, metav1.PatchOptions{})
}

// TestQuota: a refusal by a quota is an error that says so.
func TestQuota(t *testing.T) {
	c := keep(t, "quota", kubernetestest.StandIn{})
	quotas := schema.GroupVersionResource{Version: "v1", Resource: "resourcequotas"}
	o := create(t, quotas, "quota", `
apiVersion: v1
kind: ResourceQuota
metadata: {name: no-chaos}
spec: {hard: {count/networkchaos.chaos-mesh.org: "0"}}`)
	o.Object["status"] = map[string]any{"hard": map[string]any{"count/networkchaos.chaos-mesh.org": "0"}, "used": map[string]any{"count/networkchaos.chaos-mesh.org": "0"}}
	if _, err := api.Client.Resource(quotas).Namespace("quota").UpdateStatus(t.Context(), &unstructured.Unstructured{Object: o.Object}, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	// The API server learns of a quota from a watch. A dry run, which leaves nothing, shows when it
	// has.
	mark, spec := NewMark("0badcafe"), loss("quota")
	trial := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "chaos-mesh.org/v1alpha1", "kind": "NetworkChaos", "metadata": map[string]any{"name": "trial"}, "spec": spec}}
	err := server.Until(t.Context(), 50*time.Millisecond, "the quota in force", func(ctx context.Context) error {
		_, err := api.Client.Resource(chaosResource(NetworkChaos)).Namespace("quota").Create(ctx, trial, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil {
			return errors.New("an object beyond it is admitted")
		}
		return nil
	})
	expect.NoError(t, err)
	var denied *AccessError
	_, err = c.CreateChaos(t.Context(), NetworkChaos, "quota", mark, spec)
	if !errors.As(err, &denied) || !apierrors.IsForbidden(denied.Err) || !strings.Contains(err.Error(), "no-chaos") {
		t.Errorf("beyond a quota: %v", err)
	}
}
