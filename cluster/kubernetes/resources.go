package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

func (c *Client) get(ctx context.Context, path string, into any) error {
	var text []byte
	client, err := rest.UnversionedRESTClientFor(dynamic.ConfigFor(c.config))
	if err == nil {
		text, err = client.Get().AbsPath(path).Do(ctx).Raw()
	}
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return &AccessError{Doing: "reach " + c.Host, Err: err}
	}
	return nil
}

type kind struct {
	schema.GroupVersionResource
	name       string
	namespaced bool
	verbs      []string
}

// kindsOf returns the kinds of one version of a group, such as v1 or apps/v1.
func (c *Client) kindsOf(ctx context.Context, groupVersion string) ([]kind, error) {
	path := "/apis/" + groupVersion
	if !strings.Contains(groupVersion, "/") {
		path = "/api/" + groupVersion
	}
	var list metav1.APIResourceList
	if err := c.get(ctx, path, &list); err != nil {
		return nil, err
	}
	of, err := schema.ParseGroupVersion(groupVersion)
	if err != nil {
		return nil, &AccessError{Doing: "read " + path, Err: err}
	}
	var all []kind
	for _, r := range list.APIResources {
		if !strings.Contains(r.Name, "/") { // else a part of a resource
			all = append(all, kind{of.WithResource(r.Name), r.Kind, r.Namespaced, r.Verbs})
		}
	}
	return all, nil
}

// removable returns all kinds that can be listed and deleted, in preferred versions.
func (c *Client) removable(ctx context.Context) ([]kind, error) {
	versions := []string{"v1"}
	var groups metav1.APIGroupList
	if err := c.get(ctx, "/apis", &groups); err != nil {
		return nil, err
	}
	for _, g := range groups.Groups {
		versions = append(versions, g.PreferredVersion.GroupVersion)
	}
	var all []kind
	var failed []error
	for _, v := range versions {
		kinds, err := c.kindsOf(ctx, v) // that of an aggregated server may not answer
		failed = append(failed, err)
		for _, k := range kinds {
			if slices.Contains(k.verbs, "list") && slices.Contains(k.verbs, "delete") && k.Group != "events.k8s.io" && k.Resource != "events" {
				all = append(all, k)
			}
		}
	}
	return all, errors.Join(failed...)
}

// Leftover is an object with our label.
type Leftover struct {
	client     *Client
	resource   schema.GroupVersionResource
	object     *unstructured.Unstructured
	Run, Owner string
	// Alive is true if its process runs on this machine. Away is true if it belongs to another
	// machine, so that its state is unknown.
	Alive, Away bool
}

// String is the object's kind, namespace and name.
func (l Leftover) String() string {
	name := l.object.GetName()
	if ns := l.object.GetNamespace(); ns != "" {
		name = ns + "/" + name
	}
	return l.object.GetKind() + " " + name
}

// Leftovers returns all objects of any kind with our label in a namespace (empty: in all). hidden
// is the number of kinds that this user may not list.
func (c *Client) Leftovers(ctx context.Context, namespace string) (all []Leftover, hidden int, err error) {
	kinds, err := c.removable(ctx)
	if len(kinds) == 0 {
		return nil, 0, err
	}
	for _, k := range kinds {
		if namespace != "" && !k.namespaced {
			continue
		}
		list, err := c.in(k.GroupVersionResource, namespace).List(ctx, metav1.ListOptions{LabelSelector: LabelRun})
		switch {
		case apierrors.IsForbidden(err), apierrors.IsNotFound(err), apierrors.IsMethodNotSupported(err):
			hidden++
			continue
		case err != nil:
			return nil, 0, &AccessError{Doing: "list " + k.Resource, Err: err}
		}
		for i := range list.Items {
			o := &list.Items[i]
			host, state := ownerOf(o)
			l := Leftover{client: c, resource: k.GroupVersionResource, object: o, Run: o.GetLabels()[LabelRun], Owner: state,
				Alive: state == ownerLives, Away: state == ownerAway}
			if l.Away && host != "" {
				l.Owner += ", " + host
			}
			all = append(all, l)
		}
	}
	return all, hidden, nil
}

// Remove deletes the object and waits until it is gone. An object of Chaos Mesh's is removed as by
// Chaos.Remove, which may take twice within; forced says what is unknown then.
func (l Leftover) Remove(ctx context.Context, within time.Duration) (forced string, err error) {
	if isChaos(l.object) {
		return (&Chaos{client: l.client, object: l.object}).Remove(ctx, within)
	}
	return "", l.client.removeObject(ctx, l.resource, l.object, within)
}

// removeObject deletes an object with our label and waits until it is gone. One without a UID was
// applied without an answer: if it is there without our label, another has made it since.
func (c *Client) removeObject(ctx context.Context, resource schema.GroupVersionResource, o *unstructured.Unstructured, within time.Duration) error {
	what := o.GetKind() + " " + o.GetName()
	access := c.in(resource, o.GetNamespace())
	bounded, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if o.GetUID() == "" {
		there := o
		err := await(bounded, func(ctx context.Context) (done bool, err error) {
			there, err = access.Get(ctx, o.GetName(), metav1.GetOptions{})
			return err == nil, err
		})
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return &AccessError{Doing: "look for " + what, Err: err}
		case there.GetLabels()[LabelRun] != o.GetLabels()[LabelRun]:
			return nil
		}
		o = there
	}
	uid := o.GetUID()
	propagation := metav1.DeletePropagationBackground
	if group := o.GroupVersionKind().Group; group != "" && !strings.HasSuffix(group, ".k8s.io") { // it may own pods
		propagation = metav1.DeletePropagationForeground
	}
	err := remove(bounded, access, o.GetName(), metav1.DeleteOptions{PropagationPolicy: &propagation, Preconditions: &metav1.Preconditions{UID: &uid}})
	if err != nil {
		return &AccessError{Doing: "delete " + what, Err: err}
	}
	last, err := awaitGone(bounded, access, o)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return errors.New(andLast(fmt.Sprintf("kubernetes: %s is being deleted and not gone after %v (finalizers %v); its operator, or kubectl describe, says why", what, within, last.GetFinalizers()), err))
	}
	return err
}

// remove asks for a deletion until the API server has answered that, or ctx ends.
func remove(ctx context.Context, access dynamic.ResourceInterface, name string, options metav1.DeleteOptions) error {
	return await(ctx, func(ctx context.Context) (bool, error) {
		err := access.Delete(ctx, name, options)
		if apierrors.IsNotFound(err) {
			err = nil
		}
		return err == nil, err
	})
}
