package kubernetes

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"assay/cluster/kubernetes/kubernetestest"
	"assay/internal/expect"
)

// unreliable answers requests of some methods with a failure, once each. done says whether the API
// server has carried them out.
type unreliable struct {
	next   http.RoundTripper
	done   bool
	failed map[string]*atomic.Bool
}

func (u *unreliable) RoundTrip(r *http.Request) (*http.Response, error) {
	once := u.failed[r.Method]
	if once == nil || once.Swap(true) {
		return u.next.RoundTrip(r)
	}
	if u.done {
		answer, err := u.next.RoundTrip(r)
		if err != nil {
			return answer, err
		}
		if err := answer.Body.Close(); err != nil {
			return nil, err
		}
	}
	body := `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"etcdserver: request timed out","code":500}`
	return &http.Response{StatusCode: http.StatusInternalServerError, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body))}, nil
}

// through is a client whose first request of each method fails.
func through(t *testing.T, c *Client, done bool, methods ...string) *Client {
	t.Helper()
	config := rest.CopyConfig(c.config)
	u := &unreliable{done: done, failed: map[string]*atomic.Bool{}}
	for _, m := range methods {
		u.failed[m] = &atomic.Bool{}
	}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { u.next = next; return u })
	unreliable, err := newClient(config, c.Namespace)
	expect.NoError(t, err)
	return unreliable
}

// broken fails all requests of the methods in failing, without their being done.
type broken struct {
	next    http.RoundTripper
	failing map[string]bool
	// before, if not nil, sees each request.
	before func(*http.Request)
}

func (b *broken) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.before != nil {
		b.before(r)
	}
	if !b.failing[r.Method] {
		return b.next.RoundTrip(r)
	}
	return (&unreliable{next: b.next, failed: map[string]*atomic.Bool{r.Method: {}}}).RoundTrip(r)
}

func (b *broken) client(t *testing.T, c *Client) *Client {
	t.Helper()
	config := rest.CopyConfig(c.config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { b.next = next; return b })
	client, err := newClient(config, c.Namespace)
	expect.NoError(t, err)
	return client
}

// TestTheLastFailureIsTold: who waits in vain because the API server fails is told that. A recovery
// that cannot be seen is not forced.
func TestTheLastFailureIsTold(t *testing.T) {
	const failure = "etcdserver: request timed out"
	c := keep(t, "failing", kubernetestest.StandIn{Hang: func() bool { return true }})
	b := &broken{failing: map[string]bool{}}
	failing := b.client(t, c)
	made, err := c.CreateChaos(t.Context(), NetworkChaos, "failing", NewMark("0badcafe"), loss("failing"))
	expect.NoError(t, err)
	expect.NoError(t, made.AwaitInjected(t.Context(), time.Minute))
	file := manifest(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, finalizers: [example.com/kept]}\n")
	applied, err := c.Apply(t.Context(), file, NewMark("0badcafe"))
	expect.NoError(t, err)

	b.failing[http.MethodGet] = true
	made.client, applied.client = failing, failing
	if err := made.AwaitInjected(t.Context(), 5*time.Second); err == nil || !strings.Contains(err.Error(), failure) {
		t.Errorf("awaiting an injection gives %v", err)
	}
	if err := applied.Await(expect.Within(t, 5*time.Second)); err == nil || !strings.Contains(err.Error(), failure) {
		t.Errorf("awaiting a manifest gives %v", err)
	}
	if err := applied.Remove(t.Context(), 5*time.Second); err == nil || !strings.Contains(err.Error(), failure) {
		t.Errorf("removing a manifest gives %v", err)
	}
	if forced, err := made.Remove(t.Context(), 5*time.Second); forced != "" || err == nil || !strings.Contains(err.Error(), failure) {
		t.Errorf("removing what cannot be seen gives %q, %v", forced, err)
	}
	made.client = c
	if forced, err := made.Remove(t.Context(), 5*time.Second); forced == "" || err != nil {
		t.Errorf("it was forced before: %q, %v", forced, err)
	}
	settings := c.in(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, "failing")
	_, err = settings.Patch(t.Context(), "settings", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	expect.NoError(t, err)
}

// TestRecoveryHasItsOwnBound: a deletion that is answered late takes nothing of the time in which
// Chaos Mesh recovers.
func TestRecoveryHasItsOwnBound(t *testing.T) {
	const within, late, recovers = 20 * time.Second, 12 * time.Second, 9 * time.Second // the last two are more than the first
	var deleted atomic.Int64
	c := keep(t, "late", kubernetestest.StandIn{Hang: func() bool {
		at := deleted.Load()
		return at == 0 || time.Since(time.Unix(0, at)) < recovers
	}})
	b := &broken{before: func(r *http.Request) {
		if r.Method == http.MethodDelete {
			time.Sleep(late)
			deleted.Store(time.Now().UnixNano())
		}
	}}
	made, err := c.CreateChaos(t.Context(), NetworkChaos, "late", NewMark("0badcafe"), loss("late"))
	expect.NoError(t, err)
	expect.NoError(t, made.AwaitInjected(t.Context(), time.Minute))
	made.client = b.client(t, c)
	if forced, err := made.Remove(t.Context(), within); forced != "" || err != nil {
		t.Errorf("it was forced: %q, %v", forced, err)
	}
}

// TestAnswersThatFail: an API server that says 500 may have done what it was asked. What exists
// already is not taken over, what came to be is removed, and what failed once is asked again.
func TestAnswersThatFail(t *testing.T) {
	expect.NoError(t, api.Namespace(t.Context(), "unreliable"))
	c := connect(t, kubernetestest.Admin, "unreliable")
	file := manifest(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n")
	settings := c.in(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, "unreliable")
	left := func() int {
		t.Helper()
		all, _, err := c.Leftovers(t.Context(), "unreliable")
		expect.NoError(t, err)
		return len(all)
	}

	applied, err := through(t, c, true, http.MethodPatch).Apply(t.Context(), file, NewMark("0badcafe"))
	if err == nil || left() != 1 {
		t.Fatalf("an apply without an answer gives %v and %d objects", err, left())
	}
	applied.client = through(t, c, false, http.MethodGet, http.MethodDelete)
	if err := applied.Remove(t.Context(), time.Minute); err != nil || left() != 0 {
		t.Errorf("its removal gives %v and leaves %d objects", err, left())
	}

	whole, err := c.Apply(t.Context(), file, NewMark("00000001"))
	expect.NoError(t, err)
	if again, err := through(t, c, false, http.MethodGet).Apply(t.Context(), file, NewMark("0badcafe")); err == nil || len(again.objects) != 0 {
		t.Errorf("behind a failed look another's object is taken over: %v", err)
	}
	applied.client = c
	expect.NoError(t, applied.Remove(t.Context(), time.Minute))
	if _, err := settings.Get(t.Context(), "settings", metav1.GetOptions{}); err != nil {
		t.Errorf("an object that another made since: %v", err)
	}
	expect.NoError(t, whole.Remove(t.Context(), time.Minute))

	chaos, err := through(t, c, true, http.MethodPost).CreateChaos(t.Context(), "NetworkChaos", "unreliable", NewMark("0badcafe"), map[string]any{
		"action": "partition", "mode": "all", "selector": map[string]any{"namespaces": []any{"unreliable"}}})
	if err == nil || chaos == nil || left() != 1 {
		t.Fatalf("a creation without an answer gives %v, %v", chaos, err)
	}
	chaos.client = through(t, c, false, http.MethodGet, http.MethodDelete)
	if _, err := chaos.Remove(t.Context(), time.Minute); err != nil || left() != 0 {
		t.Errorf("its removal gives %v and leaves %d objects", err, left())
	}
}
