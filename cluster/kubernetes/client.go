// Package kubernetes uses a Kubernetes cluster that others run. It finds a database's pods, reads
// their resources, deletes and evicts them, creates objects of Chaos Mesh and sees them end,
// applies a manifest and removes it again. Objects are unstructured: only the API server knows
// their fields.
//
// What it creates carries LabelRun. Besides, it changes only the pods that a Target selects. It
// must not know any workload, driver or fault.
package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const requestBound = 30 * time.Second

const pollEvery = 200 * time.Millisecond

// AccessError means that we cannot reach the cluster, or that it refuses us. Its text has no
// credentials.
type AccessError struct {
	Doing string
	Err   error
}

func (e *AccessError) Error() string {
	text := fmt.Sprintf("kubernetes: %s: %v", e.Doing, e.Err)
	switch {
	case apierrors.IsForbidden(e.Err):
		text += "; assay kubernetes check says which rights are missing"
	case apierrors.IsUnauthorized(e.Err):
		text += "; the cluster does not take the credentials of the kubeconfig's current context: renew them, or choose another context"
	}
	return text
}

func (e *AccessError) Unwrap() error { return e.Err }

// Client is access to one cluster. It is safe for concurrent use.
type Client struct {
	dynamic         dynamic.Interface
	config          *rest.Config
	Host, Namespace string
}

// Connect reads the access to the cluster as kubectl does: from the files of KUBECONFIG or
// ~/.kube/config, with the current context. Without them it uses a pod's own access. It sends
// nothing.
func Connect() (*Client, error) {
	loading := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), nil)
	config, err := loading.ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		err = errors.New("there is no kubeconfig, and this is no pod of a cluster; set KUBECONFIG to a file that kubectl can use")
	}
	if err != nil {
		return nil, &AccessError{Doing: "find the cluster", Err: err}
	}
	namespace, _, err := loading.Namespace()
	if err != nil {
		return nil, &AccessError{Doing: "find the cluster", Err: err}
	}
	return newClient(config, namespace)
}

func newClient(config *rest.Config, namespace string) (*Client, error) {
	config = rest.CopyConfig(config)
	config.UserAgent = "assay"
	config.Timeout = requestBound
	config.QPS = -1                           // no limit: the library's 5 a second would delay a fault
	config.WarningHandler = rest.NoWarnings{} // else they go to standard error
	access, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, &AccessError{Doing: "use the cluster's address", Err: err}
	}
	host := config.Host
	if u, err := url.Parse(host); err == nil {
		host = u.Redacted()
	}
	return &Client{dynamic: access, config: config, Host: host, Namespace: namespace}, nil
}

// in is one kind of resource in a namespace. An empty namespace means all, or kinds without any.
func (c *Client) in(resource schema.GroupVersionResource, namespace string) dynamic.ResourceInterface {
	if namespace == "" {
		return c.dynamic.Resource(resource)
	}
	return c.dynamic.Resource(resource).Namespace(namespace)
}

func pods() schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: "pods"}
}

// Target is the pods of a namespace that a selector of labels selects.
type Target struct{ Namespace, Selector string }

// TargetError means that a text names no pods, or missing pods.
type TargetError struct{ Target, Problem, Want string }

func (e *TargetError) Error() string {
	return fmt.Sprintf("--kubernetes %q: %s; want %s", e.Target, e.Problem, e.Want)
}

const targetForm = "NAMESPACE/SELECTOR, such as db/app=mongodb or db/cnpg.io/cluster=main"

// ParseTarget reads NAMESPACE/SELECTOR; the error is a *TargetError. A selector is a list of
// requirements, as for kubectl -l. It refuses an empty one, which would mean all pods of the
// namespace.
func ParseTarget(text string) (Target, error) {
	namespace, selector, found := strings.Cut(text, "/")
	if !found || namespace == "" || strings.TrimSpace(selector) == "" {
		return Target{}, &TargetError{Target: text, Problem: "a namespace or a selector is missing", Want: targetForm}
	}
	if _, err := labels.Parse(selector); err != nil {
		return Target{}, &TargetError{Target: text, Problem: fmt.Sprintf("%q is no selector of labels: %v", selector, err), Want: targetForm}
	}
	return Target{Namespace: namespace, Selector: selector}, nil
}

func (t Target) String() string { return t.Namespace + "/" + t.Selector }

// endedError means that a wait ended with its context. last is why the last look failed; nil if it
// did not.
type endedError struct{ ctx, last error }

func (e *endedError) Error() string {
	if e.last == nil {
		return e.ctx.Error()
	}
	return fmt.Sprintf("%v; the last look failed: %v", e.ctx, e.last)
}

func (e *endedError) Unwrap() []error { return []error{e.ctx, e.last} }

// lastFailure is why the last look of a wait failed that ended with this error; nil if it did not.
func lastFailure(err error) error {
	if ended, is := errors.AsType[*endedError](err); is {
		return ended.last
	}
	return nil
}

// andLast adds the last look's failure to a text; see lastFailure.
func andLast(text string, err error) string {
	if last := lastFailure(err); last != nil {
		return fmt.Sprintf("%s; the last look failed: %v", text, last)
	}
	return text
}

// await looks again and again, also where the API server or the way to it failed for a moment, until
// ctx ends. The error is then an *endedError, else the look's.
func await(ctx context.Context, look wait.ConditionWithContextFunc) error {
	var failed error
	err := wait.PollUntilContextCancel(ctx, pollEvery, true, func(ctx context.Context) (done bool, err error) {
		done, err = look(ctx)
		switch {
		case ctx.Err() != nil && err != nil: // the look was cut by that, and says nothing
		case err != nil && passing(err):
			failed, err = err, nil
		default:
			failed = nil
		}
		return done, err
	})
	if err != nil && ctx.Err() != nil {
		return &endedError{ctx: ctx.Err(), last: failed}
	}
	return err
}

// passing reports whether the same request may succeed a moment later. What it asked may be done all
// the same: an API server says 500 or 504, too, if its store's answer came too late.
func passing(err error) bool {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		code := status.Status().Code
		return code >= http.StatusInternalServerError || code == http.StatusRequestTimeout || code == http.StatusTooManyRequests
	}
	_, unanswered := errors.AsType[*url.Error](err)
	return unanswered
}

// awaitGone returns the last state of the object.
func awaitGone(ctx context.Context, access dynamic.ResourceInterface, o *unstructured.Unstructured) (last *unstructured.Unstructured, err error) {
	last = o
	err = await(ctx, func(ctx context.Context) (bool, error) {
		now, err := access.Get(ctx, o.GetName(), metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err), err == nil && o.GetUID() != "" && now.GetUID() != o.GetUID():
			return true, nil
		case err != nil:
			return false, &AccessError{Doing: "look at " + o.GetKind() + " " + o.GetName(), Err: err}
		}
		last = now
		return false, nil
	})
	return last, err
}

func condition(o *unstructured.Unstructured, kind string) (status, message string) {
	all, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, item := range all {
		c, is := item.(map[string]any)
		if !is || c["type"] != kind {
			continue
		}
		status, _ = c["status"].(string)
		message, _ = c["message"].(string)
	}
	return status, message
}
