package kubernetestest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Pod is a pod that the stand-in keeps in existence.
type Pod struct {
	Name   string
	Labels map[string]string
	IP     string
	Port   int
	Bare   bool
	Claim  string
}

// StandIn replaces kubelet, the pods' controller, and Chaos Mesh in one namespace.
type StandIn struct {
	// With Hang Chaos Mesh recovers nothing; with Deaf it does not even inject.
	Hang, Deaf func() bool
	// Ended is called for a deleted pod before its replacement, Injected and Recovered for each
	// pod of a Chaos Mesh object. All may be nil.
	Ended               func(pod string)
	Injected, Recovered func(kind, action, pod string)

	server    *Server
	namespace string
	pods      []Pod
	seen      map[string]string // uid by name
	stop      func()
	ended     chan struct{}
	failed    error
}

func podResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: "pods"}
}

// Keep makes the namespace and the pods, and maintains them until Stop.
func (s *Server) Keep(ctx context.Context, namespace string, pods []Pod, how StandIn) (*StandIn, error) {
	if err := s.Namespace(ctx, namespace); err != nil {
		return nil, err
	}
	how.server, how.namespace, how.pods, how.seen = s, namespace, pods, map[string]string{}
	how.ended = make(chan struct{})
	k := &how
	ctx, k.stop = context.WithCancel(context.WithoutCancel(ctx))
	if err := k.turn(ctx, true); err != nil {
		return nil, err
	}
	go func() {
		defer close(k.ended)
		for ctx.Err() == nil {
			if err := k.turn(ctx, false); err != nil && ctx.Err() == nil {
				k.failed = err
				return
			}
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	}()
	return k, nil
}

// Stop ends the stand-in; the error is an earlier failure of it.
func (k *StandIn) Stop() error {
	k.stop()
	<-k.ended
	return k.failed
}

// Namespace makes a namespace unless it exists.
func (s *Server) Namespace(ctx context.Context, name string) error {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}}
	_, err := s.Client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}).Create(ctx, o, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

func (k *StandIn) turn(ctx context.Context, first bool) error {
	var failed []error
	for _, p := range k.pods {
		failed = append(failed, k.pod(ctx, p, first))
	}
	for _, kind := range chaosResources() {
		failed = append(failed, k.chaos(ctx, kind))
	}
	return errors.Join(failed...)
}

func (k *StandIn) pod(ctx context.Context, p Pod, first bool) error {
	access := k.server.Client.Resource(podResource()).Namespace(k.namespace)
	o, err := access.Get(ctx, p.Name, metav1.GetOptions{})
	switch {
	case err == nil && o.GetDeletionTimestamp() != nil: // it ends at once
		none := int64(0)
		err = access.Delete(ctx, p.Name, metav1.DeleteOptions{GracePeriodSeconds: &none})
		return ignoreGone(err)
	case apierrors.IsNotFound(err):
		if k.seen[p.Name] != "" {
			k.seen[p.Name] = ""
			if k.Ended != nil {
				k.Ended(p.Name)
			}
		}
		if p.Bare && !first {
			return nil
		}
		_, err = access.Create(ctx, p.object(k.namespace), metav1.CreateOptions{})
		return err
	case err != nil:
		return err
	}
	if before := k.seen[p.Name]; before != "" && before != string(o.GetUID()) && k.Ended != nil {
		k.Ended(p.Name)
	}
	k.seen[p.Name] = string(o.GetUID())
	if _, ready, _ := unstructured.NestedString(o.Object, "status", "podIP"); ready {
		return nil
	}
	return k.status(ctx, p.Name, map[string]any{
		"phase": "Running", "podIP": p.IP, "podIPs": []any{map[string]any{"ip": p.IP}},
		"conditions":        []any{map[string]any{"type": "Ready", "status": "True"}},
		"containerStatuses": []any{containerStatus(0)},
	})
}

func containerStatus(restarts int64) map[string]any {
	return map[string]any{"name": "server", "image": "none", "imageID": "", "ready": true, "restartCount": restarts,
		"state": map[string]any{"running": map[string]any{}}}
}

func (k *StandIn) status(ctx context.Context, pod string, status map[string]any) error {
	data, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return err
	}
	_, err = k.server.Client.Resource(podResource()).Namespace(k.namespace).Patch(ctx, pod, types.MergePatchType, data, metav1.PatchOptions{}, "status")
	return ignoreGone(err)
}

func (p Pod) object(namespace string) *unstructured.Unstructured {
	container := map[string]any{"name": "server", "image": "none",
		"ports": []any{map[string]any{"containerPort": int64(p.Port)}},
		"resources": map[string]any{"limits": map[string]any{"cpu": "500m", "memory": "256Mi"},
			"requests": map[string]any{"cpu": "250m", "memory": "128Mi"}}}
	spec := map[string]any{"nodeName": "machine-1", "containers": []any{container}}
	if p.Claim != "" {
		spec["volumes"] = []any{map[string]any{"name": "data", "persistentVolumeClaim": map[string]any{"claimName": p.Claim}}}
		container["volumeMounts"] = []any{map[string]any{"name": "data", "mountPath": "/var/lib/data"}}
	}
	labels := map[string]any{}
	for name, value := range p.Labels {
		labels[name] = value
	}
	metadata := map[string]any{"name": p.Name, "namespace": namespace, "labels": labels}
	if !p.Bare {
		metadata["ownerReferences"] = []any{map[string]any{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "controller": true,
			"uid": "00000000-0000-4000-8000-000000000001"}}
	}
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}}
}

const recordsFinalizer = "chaos-mesh/records"

// chaos does Chaos Mesh's work for a kind: finalizer, injection, recovery after a deletion.
func (k *StandIn) chaos(ctx context.Context, resource string) error {
	access := k.server.Client.Resource(schema.GroupVersionResource{Group: "chaos-mesh.org", Version: "v1alpha1", Resource: resource}).Namespace(k.namespace)
	list, err := access.List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) { // Chaos Mesh was removed
		return nil
	}
	if err != nil {
		return err
	}
	for i := range list.Items {
		o := &list.Items[i]
		held := len(o.GetFinalizers()) > 0
		switch {
		case o.GetDeletionTimestamp() != nil && held && !isSet(k.Hang):
			k.notify(k.Recovered, o)
			o.SetFinalizers(nil)
		case o.GetDeletionTimestamp() == nil && !held:
			o.SetFinalizers([]string{recordsFinalizer})
			if !isSet(k.Deaf) {
				k.notify(k.Injected, o)
				if err := k.restart(ctx, o); err != nil {
					return err
				}
			}
			o.Object["status"] = k.report(o)
		default:
			continue
		}
		if _, err := access.Update(ctx, o, metav1.UpdateOptions{}); err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			return fmt.Errorf("%s: %w", resource, err)
		}
	}
	return nil
}

func isSet(f func() bool) bool { return f != nil && f() }

func (k *StandIn) notify(observer func(kind, action, pod string), o *unstructured.Unstructured) {
	if observer == nil {
		return
	}
	for _, pod := range k.selected(o) {
		action, _, _ := unstructured.NestedString(o.Object, "spec", "action")
		observer(o.GetKind(), action, pod)
	}
}

func (k *StandIn) selected(o *unstructured.Unstructured) []string {
	names, _, _ := unstructured.NestedStringSlice(o.Object, "spec", "selector", "pods", k.namespace)
	return names
}

func (k *StandIn) restart(ctx context.Context, o *unstructured.Unstructured) error {
	if action, _, _ := unstructured.NestedString(o.Object, "spec", "action"); action != "container-kill" {
		return nil
	}
	for _, pod := range k.selected(o) {
		if err := k.status(ctx, pod, map[string]any{"containerStatuses": []any{containerStatus(1)}}); err != nil {
			return err
		}
	}
	return nil
}

// report is Chaos Mesh's status (chaos-mesh/api, ChaosStatus).
func (k *StandIn) report(o *unstructured.Unstructured) map[string]any {
	phase, status, event := "Injected", "True", "Succeeded"
	if isSet(k.Deaf) {
		phase, status, event = "Not Injected", "False", "Failed"
	}
	var records []any
	for _, pod := range k.selected(o) {
		records = append(records, map[string]any{"id": k.namespace + "/" + pod, "selectorKey": ".", "phase": phase,
			"injectedCount": int64(1), "recoveredCount": int64(0), "events": []any{map[string]any{
				"type": event, "operation": "Apply", "message": strings.ToLower(event) + " by the stand-in", "timestamp": time.Now().UTC().Format(time.RFC3339)}}})
	}
	return map[string]any{
		"conditions": []any{map[string]any{"type": "Selected", "status": "True"}, map[string]any{"type": "AllInjected", "status": status}},
		"experiment": map[string]any{"desiredPhase": "Run", "containerRecords": records},
	}
}

func ignoreGone(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}
