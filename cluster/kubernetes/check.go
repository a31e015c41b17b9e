package kubernetes

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Right is an operation of assay in a namespace, and whether it is allowed.
type Right struct {
	// Verb and Resource are as in a role; Group is empty for Kubernetes' own.
	Verb, Group, Resource, Subresource string
	For                                string
	Allowed                            bool
}

// String is the right as in kubectl auth can-i.
func (r Right) String() string {
	name := r.Resource
	if r.Group != "" {
		name += "." + r.Group
	}
	if r.Subresource != "" {
		name += "/" + r.Subresource
	}
	return r.Verb + " " + name
}

// neededRights are what --kubernetes needs, with chaos also for Chaos Mesh; see deploy/role.yaml.
func neededRights(chaos bool) []Right {
	all := []Right{
		{Verb: "list", Resource: "pods", For: "the nodes of the database"},
		{Verb: "get", Resource: "pods", For: "the nodes of the database"},
		{Verb: "get", Resource: "persistentvolumeclaims", For: "the size of volumes in the report"},
		{Verb: "delete", Resource: "pods", For: "faults kill and stop"},
		{Verb: "create", Resource: "pods", Subresource: "eviction", For: "fault evict"},
	}
	if !chaos {
		return all
	}
	for _, kind := range chaosKinds() {
		for _, verb := range []string{"create", "get", "list", "delete", "patch"} {
			all = append(all, Right{Verb: verb, Group: chaosGroup, Resource: chaosResource(kind).Resource, For: "faults by Chaos Mesh"})
		}
	}
	return all
}

// Access is the result of Client.Check.
type Access struct {
	// Server is the API server, Version its version.
	Server, Version string
	Namespace       string
	Rights          []Right
	// Chaos maps each kind of Chaos Mesh to nil, or to why it cannot be used.
	Chaos map[string]error
	Pods  []Pod
}

// Missing are the rights that are not granted.
func (a Access) Missing() (missing []Right) {
	for _, r := range a.Rights {
		if !r.Allowed {
			missing = append(missing, r)
		}
	}
	return missing
}

// Check asks the API server for this user's rights in the namespace (empty: the context's), and for
// Chaos Mesh. It changes nothing. It returns an error if it cannot reach the cluster or the target
// selects no pods.
func (c *Client) Check(ctx context.Context, t Target) (Access, error) {
	a := Access{Server: c.Host, Namespace: t.Namespace, Chaos: map[string]error{}}
	if a.Namespace == "" {
		a.Namespace = c.Namespace
	}
	var err error
	if a.Version, err = c.version(ctx); err != nil {
		return a, err
	}
	for _, kind := range chaosKinds() {
		if err := c.HasChaos(ctx, kind, a.Namespace); err != nil {
			a.Chaos[kind] = err
		}
	}
	a.Rights = neededRights(len(a.absent()) == 0)
	for i := range a.Rights {
		if a.Rights[i].Allowed, err = c.allowed(ctx, a.Rights[i], a.Namespace); err != nil {
			return a, err
		}
	}
	if t.Selector != "" && a.Rights[0].Allowed {
		a.Pods, err = c.Pods(ctx, t)
	}
	return a, err
}

func (a Access) absent() (kinds []string) {
	for _, kind := range chaosKinds() {
		if none := (*NoChaosMeshError)(nil); errors.As(a.Chaos[kind], &none) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// ChaosMesh describes whether faults by Chaos Mesh are possible.
func (a Access) ChaosMesh() string {
	absent := a.absent()
	switch {
	case len(absent) == len(chaosKinds()):
		return "not installed; faults kill, stop and evict work without. To have the others, " + InstallChaosMesh
	case len(absent) > 0:
		return fmt.Sprintf("there, without %v: it is too old, or part of it; %s", absent, InstallChaosMesh)
	}
	return "installed"
}

// version needs no right.
func (c *Client) version(ctx context.Context) (string, error) {
	var version struct {
		GitVersion string `json:"gitVersion"`
	}
	if err := c.get(ctx, "/version", &version); err != nil {
		return "", err
	}
	return version.GitVersion, nil
}

// allowed needs no right: the API server does not store a SelfSubjectAccessReview
// (authorization.k8s.io/v1).
func (c *Client) allowed(ctx context.Context, r Right, namespace string) (bool, error) {
	review := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
		"spec": map[string]any{"resourceAttributes": map[string]any{
			"namespace": namespace, "verb": r.Verb, "group": r.Group, "resource": r.Resource, "subresource": r.Subresource,
		}},
	}}
	reviews := schema.GroupVersionResource{Group: "authorization.k8s.io", Version: "v1", Resource: "selfsubjectaccessreviews"}
	answer, err := c.in(reviews, "").Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, &AccessError{Doing: "ask what this user may do", Err: err}
	}
	allowed, _, _ := unstructured.NestedBool(answer.Object, "status", "allowed")
	return allowed, nil
}
