package kubernetes

import (
	"cmp"
	"context"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// ManifestError means that a manifest cannot be applied.
type ManifestError struct {
	File, Problem string
	Err           error
}

func (e *ManifestError) Error() string {
	text := fmt.Sprintf("manifest %s: %s", e.File, e.Problem)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

func (e *ManifestError) Unwrap() error { return e.Err }

func readManifest(r io.Reader) (all []*unstructured.Unstructured, err error) {
	decoder := yaml.NewYAMLOrJSONDecoder(r, 4096)
	for {
		o := &unstructured.Unstructured{}
		var document stdjson.RawMessage
		err := decoder.Decode(&document)
		if err == nil && len(document) > 0 { // else it is a comment alone
			err = json.Unmarshal(document, &o.Object) // whole numbers stay whole
		}
		switch {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, err
		case len(o.Object) == 0: // between two lines of ---
			continue
		case o.IsList():
			list, err := o.ToList()
			if err != nil {
				return nil, err
			}
			for i := range list.Items {
				all = append(all, &list.Items[i])
			}
			continue
		}
		all = append(all, o)
	}
}

// Applied is the objects of an applied manifest.
type Applied struct {
	client  *Client
	objects []applied
}

type applied struct {
	*unstructured.Unstructured
	resource schema.GroupVersionResource
}

func (a applied) String() string { return a.GetKind() + " " + a.GetName() }

const applyWithin = 30 * time.Second

// Apply applies a manifest (server-side apply) with our label on each object. If an object exists
// without our label, it refuses before any change. It returns the applied objects also beside an
// error; the caller must remove them.
func (c *Client) Apply(ctx context.Context, file string, mark Mark) (*Applied, error) {
	a := &Applied{client: c}
	bad := func(problem string, err error) (*Applied, error) {
		return a, &ManifestError{File: file, Problem: problem, Err: err}
	}
	r, err := os.Open(file)
	if err != nil {
		return bad("it cannot be read", errors.Unwrap(err))
	}
	defer r.Close()
	objects, err := readManifest(r)
	if err != nil {
		return bad("it is no YAML of Kubernetes' objects", err)
	}
	if len(objects) == 0 {
		return bad("it has no objects", nil)
	}
	for i, o := range objects {
		if o.GetKind() == "" || o.GetAPIVersion() == "" || o.GetName() == "" {
			return bad(fmt.Sprintf("object %d has no apiVersion, kind or metadata.name", i+1), nil)
		}
		if err := c.refuseOthers(ctx, o, mark); err != nil {
			return bad(o.GetKind()+" "+o.GetName(), err)
		}
	}
	for _, o := range objects {
		if err := a.apply(ctx, o, mark); err != nil {
			return bad(o.GetKind()+" "+o.GetName()+" is refused", err)
		}
	}
	return a, nil
}

// refuseOthers refuses another run's object. A missing kind may come with the manifest.
func (c *Client) refuseOthers(ctx context.Context, o *unstructured.Unstructured, mark Mark) error {
	k, err := c.kindOf(ctx, o)
	if _, missing := errors.AsType[*kindError](err); missing {
		return nil
	}
	if err != nil {
		return err
	}
	there, err := c.in(k.GroupVersionResource, c.namespaceOf(k, o)).Get(ctx, o.GetName(), metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return &AccessError{Doing: "look for it", Err: err}
	case there.GetLabels()[LabelRun] == mark.Run:
		return nil
	}
	return errors.New("it is there already and not of this run; delete it, or choose another name or namespace")
}

func (c *Client) namespaceOf(k kind, o *unstructured.Unstructured) string {
	switch {
	case !k.namespaced:
		return ""
	case o.GetNamespace() != "":
		return o.GetNamespace()
	}
	return c.Namespace
}

func (c *Client) kindOf(ctx context.Context, o *unstructured.Unstructured) (kind, error) {
	all, err := c.kindsOf(ctx, o.GetAPIVersion())
	if err != nil && !apierrors.IsNotFound(errors.Unwrap(err)) {
		return kind{}, err
	}
	for _, k := range all {
		if k.name == o.GetKind() {
			return k, nil
		}
	}
	return kind{}, &kindError{kind: o.GetKind(), version: o.GetAPIVersion()}
}

// kindError means that the cluster has no such kind.
type kindError struct{ kind, version string }

func (e *kindError) Error() string {
	return fmt.Sprintf("the cluster has no kind %s in %s; install the operator that brings it", e.kind, e.version)
}

func (a *Applied) apply(ctx context.Context, o *unstructured.Unstructured, mark Mark) error {
	bounded, cancel := context.WithTimeout(ctx, applyWithin)
	defer cancel()
	var k kind
	var missing error
	err := await(bounded, func(ctx context.Context) (bool, error) {
		k, missing = a.client.kindOf(ctx, o)
		defined := slices.ContainsFunc(a.objects, func(o applied) bool { return o.GetKind() == "CustomResourceDefinition" })
		if missing != nil && !defined { // nobody brings it
			return false, missing
		}
		return missing == nil, nil
	})
	if err != nil {
		return errors.Join(missing, ctx.Err())
	}
	o.SetNamespace(a.client.namespaceOf(k, o))
	mark.put(o)
	made, err := a.client.in(k.GroupVersionResource, o.GetNamespace()).Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: "assay"})
	if err != nil {
		if passing(err) { // it may be there all the same
			a.objects = append(a.objects, applied{o, k.GroupVersionResource})
		}
		return &AccessError{Doing: "apply", Err: err}
	}
	a.objects = append(a.objects, applied{made, k.GroupVersionResource})
	return nil
}

// Await waits until all objects report that they are ready, or names the others.
func (a *Applied) Await(ctx context.Context) error {
	var waiting []string
	err := await(ctx, func(ctx context.Context) (bool, error) {
		var still []string
		for _, o := range a.objects {
			now, err := a.client.in(o.resource, o.GetNamespace()).Get(ctx, o.GetName(), metav1.GetOptions{})
			if err != nil {
				return false, &AccessError{Doing: "look at " + o.String(), Err: err}
			}
			if ready, why := readiness(now); !ready {
				still = append(still, o.String()+" ("+why+")")
			}
		}
		waiting = still
		return len(waiting) == 0, nil
	})
	if err != nil && ctx.Err() != nil && len(waiting) > 0 {
		return fmt.Errorf("kubernetes: not ready: %s: %w; kubectl describe says why", strings.Join(waiting, ", "), err)
	}
	return err
}

// readiness reports whether an object says that it is ready, and what else it says. Its controller
// must have seen this generation. Then a condition Ready, Available or Complete counts, the number
// of ready replicas, or a phase or state. Kubernetes' own objects without a status are ready at
// once; operators' objects must say something.
func readiness(o *unstructured.Unstructured) (bool, string) {
	status, has, _ := unstructured.NestedMap(o.Object, "status")
	group := o.GroupVersionKind().Group
	if !has || len(status) == 0 {
		builtIn := !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
		return builtIn && !slices.Contains([]string{"Pod", "Deployment", "StatefulSet", "DaemonSet", "Job"}, o.GetKind()), "it has no status yet"
	}
	if seen, is := status["observedGeneration"].(int64); is && seen < o.GetGeneration() {
		return false, "its controller has not seen it yet"
	}
	if ready, why, known := databaseReadiness(o); known {
		return ready, why
	}
	for _, kind := range []string{"Ready", "Available", "Complete", "Established"} {
		if value, message := condition(o, kind); value != "" {
			return value == "True", strings.TrimSpace(kind + " is " + value + " " + message)
		}
	}
	if wanted, is, _ := unstructured.NestedInt64(o.Object, "spec", "replicas"); is {
		ready, _, _ := unstructured.NestedInt64(o.Object, "status", "readyReplicas")
		return ready >= wanted, fmt.Sprintf("%d of %d replicas are ready", ready, wanted)
	}
	if wanted, is := status["desiredNumberScheduled"].(int64); is { // a DaemonSet's
		ready, _ := status["numberReady"].(int64)
		return ready >= wanted, fmt.Sprintf("%d of %d are ready", ready, wanted)
	}
	for _, key := range []string{"phase", "state"} {
		if value, is := status[key].(string); is {
			good := []string{"bound", "active", "running", "ready", "succeeded"}
			return slices.Contains(good, strings.ToLower(value)), key + " is " + value
		}
	}
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io"), "its status says nothing of readiness"
}

// databaseReadiness knows operators with their own words: K8ssandra (K8ssandraClusterStatus) and
// FoundationDB (FoundationDBClusterStatus).
func databaseReadiness(o *unstructured.Unstructured) (ready bool, why string, known bool) {
	switch o.GetKind() {
	case "K8ssandraCluster":
		value, message := condition(o, "CassandraInitialized")
		return value == "True", strings.TrimSpace("CassandraInitialized is " + cmp.Or(value, "not said") + " " + message), true
	case "FoundationDBCluster":
		available, _, _ := unstructured.NestedBool(o.Object, "status", "health", "available")
		reconciled, _, _ := unstructured.NestedInt64(o.Object, "status", "generations", "reconciled")
		return available && reconciled >= o.GetGeneration(),
			fmt.Sprintf("available is %v, and generation %d of %d is there", available, reconciled, o.GetGeneration()), true
	}
	return false, "", false
}

// Remove deletes the objects, the last first, and waits at most within until each is gone. A
// StatefulSet's volume claims stay, unless its persistentVolumeClaimRetentionPolicy says otherwise.
func (a *Applied) Remove(ctx context.Context, within time.Duration) error {
	failed := make([]error, len(a.objects))
	var wait sync.WaitGroup
	for i, o := range slices.Backward(a.objects) {
		if o.GetKind() == "CustomResourceDefinition" || o.GetKind() == "Namespace" {
			wait.Wait() // what lives in it goes first
		}
		wait.Go(func() { failed[i] = a.client.removeObject(ctx, o.resource, o.Unstructured, within) })
	}
	wait.Wait()
	return errors.Join(failed...)
}
