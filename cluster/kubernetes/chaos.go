package kubernetes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
)

const chaosGroup = "chaos-mesh.org"

const (
	PodChaos     = "PodChaos"
	NetworkChaos = "NetworkChaos"
	IOChaos      = "IOChaos"
	TimeChaos    = "TimeChaos"
	StressChaos  = "StressChaos"
)

func chaosKinds() []string { return []string{PodChaos, NetworkChaos, IOChaos, TimeChaos, StressChaos} }

func chaosResource(kind string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: chaosGroup, Version: "v1alpha1", Resource: strings.ToLower(kind)}
}

// InstallChaosMesh tells the user how to get it (chaos-mesh.org, "Install Chaos Mesh using Helm").
const InstallChaosMesh = "install it: helm repo add chaos-mesh https://charts.chaos-mesh.org && helm install chaos-mesh chaos-mesh/chaos-mesh --namespace chaos-mesh --create-namespace"

// NoChaosMeshError means that the cluster lacks a kind of Chaos Mesh.
type NoChaosMeshError struct{ Kind string }

func (e *NoChaosMeshError) Error() string {
	return fmt.Sprintf("the cluster has no %s of Chaos Mesh; %s", e.Kind, InstallChaosMesh)
}

// HasChaos returns a *NoChaosMeshError if the cluster lacks this kind, and an *AccessError if we
// may not use it in the namespace.
func (c *Client) HasChaos(ctx context.Context, kind, namespace string) error {
	_, err := c.in(chaosResource(kind), namespace).List(ctx, metav1.ListOptions{Limit: 1})
	switch {
	case apierrors.IsNotFound(err):
		return &NoChaosMeshError{Kind: kind}
	case err != nil:
		return &AccessError{Doing: "look for " + kind + " of Chaos Mesh", Err: err}
	}
	return nil
}

// Chaos is an object of Chaos Mesh that we created.
type Chaos struct {
	client *Client
	object *unstructured.Unstructured
}

// String is the object's kind and name.
func (c *Chaos) String() string { return c.object.GetKind() + " " + c.object.GetName() }

func (c *Chaos) resource() schema.GroupVersionResource { return chaosResource(c.object.GetKind()) }

// CreateChaos creates an object of this kind with our label. If the API server refuses the spec the
// error is an *AccessError. If the answer is lost, it returns the object beside the error, and the
// caller must remove it.
func (c *Client) CreateChaos(ctx context.Context, kind, namespace string, mark Mark, spec map[string]any) (*Chaos, error) {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	o.SetAPIVersion(chaosGroup + "/v1alpha1")
	o.SetKind(kind)
	o.SetNamespace(namespace)
	o.SetName("assay-" + mark.Run + "-" + rand.String(6))
	mark.put(o)
	made, err := c.in(chaosResource(kind), namespace).Create(ctx, o, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
	if err == nil {
		return &Chaos{client: c, object: made}, nil
	}
	if !passing(err) {
		return nil, &AccessError{Doing: "create " + kind, Err: err}
	}
	return &Chaos{client: c, object: o}, &AccessError{Doing: "create " + kind, Err: err}
}

// Injected reports whether Chaos Mesh has injected all targets, and quotes it.
func (c *Chaos) Injected(ctx context.Context) (bool, string, error) {
	o, err := c.client.in(c.resource(), c.object.GetNamespace()).Get(ctx, c.object.GetName(), metav1.GetOptions{})
	if err != nil {
		return false, "", &AccessError{Doing: "look at " + c.String(), Err: err}
	}
	status, _ := condition(o, "AllInjected")
	records := objects(o.Object, "status", "experiment", "containerRecords")
	if status == "True" && len(records) > 0 {
		return true, fmt.Sprintf("Chaos Mesh has injected %s into %d of %d", c.object.GetKind(), len(records), len(records)), nil
	}
	return false, describeRecords(records), nil
}

// describeRecords quotes Chaos Mesh on each target that is not injected, or not recovered.
func describeRecords(records []map[string]any) string {
	if len(records) == 0 {
		return "Chaos Mesh has not said anything of it; look whether its controller runs"
	}
	var all []string
	for _, r := range records {
		line := fmt.Sprintf("%s is %s", text(r, "id"), strings.ToLower(text(r, "phase")))
		if events := objects(r, "events"); len(events) > 0 {
			if message := text(events[len(events)-1], "message"); message != "" {
				line += " (" + message + ")"
			}
		}
		all = append(all, line)
	}
	return strings.Join(all, ", ")
}

// AwaitInjected waits until Chaos Mesh has injected all targets.
func (c *Chaos) AwaitInjected(ctx context.Context, within time.Duration) error {
	bounded, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	var last string
	err := await(bounded, func(ctx context.Context) (done bool, err error) {
		var text string
		if done, text, err = c.Injected(ctx); err == nil {
			last = text
		}
		return done, err
	})
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return errors.New(andLast(fmt.Sprintf("kubernetes: %s is not injected after %v: %s", c, within, cmp.Or(last, "its state was never seen")), err))
	}
	return err
}

const forcedBound = 10 * time.Second

// Remove deletes the object and waits until Chaos Mesh has recovered its targets and released it. The
// API server has within to answer, and Chaos Mesh as long again to recover. Then, if the last look
// showed the object, Remove takes the finalizers away, so that the object goes, and forced says what
// is unknown. Chaos Mesh is known to hang there (its issues 3929, 4311, 4433, 4530).
func (c *Chaos) Remove(ctx context.Context, within time.Duration) (forced string, err error) {
	access, name, uid := c.client.in(c.resource(), c.object.GetNamespace()), c.object.GetName(), c.object.GetUID()
	var same metav1.Preconditions
	if uid != "" { // its name is ours alone where nobody has answered
		same.UID = &uid
	}
	bounded, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if err := remove(bounded, access, name, metav1.DeleteOptions{Preconditions: &same}); err != nil {
		return "", &AccessError{Doing: "delete " + c.String(), Err: err}
	}
	recovering, stop := context.WithTimeout(ctx, within)
	defer stop()
	last, err := awaitGone(recovering, access, c.object)
	if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
		return "", err
	}
	if unseen := lastFailure(err); unseen != nil {
		return "", fmt.Errorf("kubernetes: %s is being deleted, and whether Chaos Mesh has recovered it in %v cannot be seen; assay kubernetes clean removes it later: %w", c, within, unseen)
	}
	forced = fmt.Sprintf("Chaos Mesh had not recovered %s after %v (%s), and assay took its finalizers away",
		c, within, describeRecords(objects(last.Object, "status", "experiment", "containerRecords")))
	if _, err = access.Patch(ctx, name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return forced, &AccessError{Doing: "take the finalizers of " + c.String() + " away", Err: err}
	}
	bounded, cancel = context.WithTimeout(ctx, forcedBound)
	defer cancel()
	_, err = awaitGone(bounded, access, c.object)
	return forced, err
}

func isChaos(o *unstructured.Unstructured) bool {
	return o.GroupVersionKind().Group == chaosGroup && slices.Contains(chaosKinds(), o.GetKind())
}
