package fault

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"assay/cluster/kubernetes"
	"assay/cluster/kubernetes/kubernetestest"
	"assay/cluster/server"
	"assay/internal/expect"
)

// podSet is three pods of a database and a foreign pod, with listeners that the stand-in controls.
type podSet struct {
	pods       *Pods
	other      string // the uid of somebody else's
	hang, deaf atomic.Bool
	// leaky makes isolation a lie.
	leaky atomic.Bool
	// heal is how long healing may take; 0 means the test's patience.
	heal time.Duration

	mu        sync.Mutex
	listeners map[string]net.Listener
	addresses map[string]string
}

func (s *podSet) open(pod string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listeners[pod] != nil {
		return
	}
	address := s.addresses[pod]
	if address == "" {
		address = "127.0.0.1:0"
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return // seen as a pod that does not answer
	}
	s.listeners[pod], s.addresses[pod] = l, l.Addr().String()
}

func (s *podSet) shut(pod string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.listeners[pod]; l != nil {
		_ = l.Close()
		s.listeners[pod] = nil
	}
}

func (s *podSet) injected(kind, action, pod string) {
	if action == "partition" && !s.leaky.Load() || kind == kubernetes.PodChaos {
		s.shut(pod)
	}
	if kind == kubernetes.PodChaos { // a killed container is started again
		time.AfterFunc(200*time.Millisecond, func() { s.open(pod) })
	}
}

func startPods(t *testing.T, api *kubernetestest.Server, namespace string) *podSet {
	t.Helper()
	s := &podSet{listeners: map[string]net.Listener{}, addresses: map[string]string{}}
	kept := []kubernetestest.Pod{{Name: "other", Labels: map[string]string{"app": "other"}, IP: "127.0.0.1", Port: 1}}
	for i := range 3 {
		name := fmt.Sprintf("db-%d", i)
		s.open(name)
		t.Cleanup(func() { s.shut(name) })
		kept = append(kept, kubernetestest.Pod{Name: name, Labels: map[string]string{"app": "db"}, IP: "127.0.0.1",
			Port: s.listeners[name].Addr().(*net.TCPAddr).Port, Claim: "data"})
	}
	k, err := api.Keep(t.Context(), namespace, kept, kubernetestest.StandIn{
		Hang: s.hang.Load, Deaf: s.deaf.Load, Injected: s.injected,
		Recovered: func(_, _, pod string) { s.open(pod) },
		Ended: func(pod string) {
			s.shut(pod)
			s.open(pod)
		},
	})
	expect.NoError(t, err)
	expect.AtEnd(t, k.Stop)
	// The client has only the role's rights, so that every request proves them sufficient.
	file, err := api.Granted(t.Context(), "../deploy/role.yaml", namespace)
	expect.NoError(t, err)
	t.Setenv("KUBECONFIG", file)
	client, err := kubernetes.Connect()
	expect.NoError(t, err)
	s.pods = &Pods{Client: client, Target: kubernetes.Target{Namespace: namespace, Selector: "app=db"}, Mark: kubernetes.NewMark("0badcafe"),
		Primary: func(context.Context) (string, error) { return "db-1.db." + namespace + ".svc:1", nil }}
	err = server.Until(t.Context(), 50*time.Millisecond, "ready pods", func(ctx context.Context) error {
		all, err := client.Pods(ctx, kubernetes.Target{Namespace: namespace, Selector: "app"})
		ready := 0
		for _, p := range all {
			if p.Ready {
				ready++
			}
			if p.Name == "other" {
				s.other = p.UID
			}
		}
		if ready != 4 {
			return errors.Join(err, fmt.Errorf("%d pods are ready", ready))
		}
		return err
	})
	expect.NoError(t, err)
	return s
}

func connectAs(t *testing.T, api *kubernetestest.Server, user string) *kubernetes.Client {
	t.Helper()
	file, err := api.Kubeconfig(user, "default")
	expect.NoError(t, err)
	t.Setenv("KUBECONFIG", file)
	client, err := kubernetes.Connect()
	expect.NoError(t, err)
	return client
}

// inject does faults to the pods and checks that the foreign pod is unchanged.
func (s *podSet) inject(t *testing.T, texts ...string) []Injection {
	t.Helper()
	faults := parse(t, texts...)
	expect.NoError(t, Validate(t.Context(), faults, s.pods))
	all, _ := Run(t.Context(), s.pods, faults, Plan{HealWithin: cmp.Or(s.heal, expect.Patience)}, &recording{})
	if len(all) != len(texts) {
		t.Fatalf("%v happened %d times", texts, len(all))
	}
	others, err := s.pods.Client.Pods(t.Context(), kubernetes.Target{Namespace: s.pods.Target.Namespace, Selector: "app=other"})
	if err != nil || others[0].UID != s.other {
		t.Errorf("%v changed somebody else's pod: %v, %v", texts, others, err)
	}
	return all
}

// nothingLeft looks for our label among all kinds, with the right to list them.
func (s *podSet) nothingLeft(t *testing.T, api *kubernetestest.Server) {
	t.Helper()
	if left, hidden, err := connectAs(t, api, kubernetestest.Admin).Leftovers(t.Context(), s.pods.Target.Namespace); len(left) > 0 || hidden > 0 || err != nil {
		t.Errorf("left are %v, hidden %d, %v", left, hidden, err)
	}
}

func TestPods(t *testing.T) {
	api, err := kubernetestest.Start()
	expect.NoError(t, err)
	expect.AtEnd(t, api.Close)
	t.Run("EachAction", func(t *testing.T) { testEachAction(t, api, startPods(t, api, "actions")) })
	t.Run("RecoveryHangs", func(t *testing.T) { testRecoveryHangs(t, api, startPods(t, api, "hangs")) })
	t.Run("NotInjected", func(t *testing.T) { testNotInjected(t, api, startPods(t, api, "deaf")) })
	t.Run("Budget", func(t *testing.T) { testBudget(t, api, startPods(t, api, "budget")) })
	t.Run("Stranger", func(t *testing.T) { testStranger(t, startPods(t, api, "stranger")) })
	t.Run("Refused", func(t *testing.T) { testRefused(t, api, startPods(t, api, "refused")) })
}

// testEachAction: the API server accepts each action's objects, and each is proven and healed.
func testEachAction(t *testing.T, api *kubernetestest.Server, s *podSet) {
	defer s.nothingLeft(t, api)
	type expected struct{ text, proof string }
	for _, together := range [][]expected{
		{{"kill primary at 0s for 300ms", "is gone"}, {"stop pod/db-2 at 0s", "db-2: the pod"}},
		{{"evict any at 0s", "the pod"}},
		{{"kill all at 0s", "db-0: the pod"}},
		{{"container-kill primary at 0s", "were started again (1 times by now, 0 before)"}, {"pod-failure pod/db-0 at 0s for 300ms", "PodChaos into 1 of 1"}},
		{{"isolate primary at 0s for 300ms", "does not answer"}},
		{{"partition halves at 0s for 300ms", "NetworkChaos into"}, {"flaky=30% all at 0s for 300ms", "NetworkChaos into"},
			{"io-delay pod/db-0 at 0s for 300ms", "IOChaos into"}, {"disk-full pod/db-1 at 0s for 300ms", "IOChaos into"},
			{"read-error=base/*/* pod/db-2 at 0s for 300ms", "IOChaos into"}, {"clock=-5m any at 0s for 300ms", "TimeChaos into"},
			{"stress-cpu=2 any at 0s for 300ms", "StressChaos into"}, {"stress-memory=64MiB any at 0s for 300ms", "StressChaos into"}},
		{{"partition pod/db-0,pod/db-2 at 0s for 300ms", "NetworkChaos into"}, {"container-kill any[app=db] at 0s", "were started again"}},
		{{"partition oneway at 0s for 300ms", "NetworkChaos into"}, {"delay=20ms pod/db-0 at 0s for 300ms", "NetworkChaos into"},
			{"bandwidth=1MiB pod/db-1 at 0s for 300ms", "NetworkChaos into"}},
	} {
		var texts []string
		for _, e := range together {
			texts = append(texts, e.text)
		}
		for n, i := range s.inject(t, texts...) {
			text := together[n].text
			if !i.Proven || !i.Healed || i.Problem != "" || !strings.Contains(i.Proof, together[n].proof) {
				t.Errorf("%s: proven %v (%s), healed %v (%s), problem %q", text, i.Proven, i.Proof, i.Healed, i.Healing, i.Problem)
			}
			if strings.Contains(text, "primary") && !slices.Equal(i.Nodes, []string{"db-1"}) {
				t.Errorf("%s was done to %v", text, i.Nodes)
			}
		}
	}
}

// testRecoveryHangs: a hanging recovery is forced in bounded time and reported. It is healed only
// if that can be seen from here.
func testRecoveryHangs(t *testing.T, api *kubernetestest.Server, s *podSet) {
	defer s.nothingLeft(t, api)
	s.hang.Store(true)
	s.pods.RecoverWithin, s.heal = 2*time.Second, 8*time.Second
	i := s.inject(t, "delay=20ms pod/db-0 at 0s for 100ms")[0]
	if !i.Proven || i.Healed || !strings.Contains(i.Problem, "took its finalizers away") || !strings.Contains(i.Problem, "delete the pods db-0") {
		t.Errorf("a delay: proven %v, healed %v, problem %q", i.Proven, i.Healed, i.Problem)
	}
	i = s.inject(t, "isolate pod/db-1 at 0s for 100ms")[0] // whose listener nobody opens
	if i.Healed || !strings.Contains(i.Problem, "does not answer") {
		t.Errorf("an isolation that stays: healed %v, problem %q", i.Healed, i.Problem)
	}
	s.open("db-1")
	i = s.inject(t, "pod-failure pod/db-1 at 0s for 100ms")[0]
	if !i.Healed || i.Problem != "" || !strings.Contains(i.Healing, "took its finalizers away") || !strings.Contains(i.Healing, "answers") {
		t.Errorf("a failure that is gone: healed %v (%s), problem %q", i.Healed, i.Healing, i.Problem)
	}
}

// testStranger: a server that is no pod is reported, even if the time ends during the question.
func testStranger(t *testing.T, s *podSet) {
	asked := 0
	s.pods.Primary = func(ctx context.Context) (string, error) {
		if asked++; asked > 1 {
			<-ctx.Done()
			return "", ctx.Err()
		}
		return "stranger", nil
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	names, err := s.pods.primaries(ctx)
	if err == nil || !strings.Contains(err.Error(), "calls itself stranger, which is none of the pods") {
		t.Errorf("%q, %v", names, err)
	}
}

// testNotInjected: a fault that Chaos Mesh only claims is not proven.
func testNotInjected(t *testing.T, api *kubernetestest.Server, s *podSet) {
	defer s.nothingLeft(t, api)
	s.leaky.Store(true)
	i := s.inject(t, "isolate pod/db-0 at 0s for 100ms")[0]
	if i.Proven || !i.Healed || !strings.Contains(i.Proof, "answers all the same") {
		t.Errorf("a leaky isolation: proven %v (%s), healed %v, problem %q", i.Proven, i.Proof, i.Healed, i.Problem)
	}
}

// testBudget: an eviction that a budget forbids is no fault, and the error says why.
func testBudget(t *testing.T, api *kubernetestest.Server, s *podSet) {
	defer s.nothingLeft(t, api)
	s.heal = 2 * time.Second // nobody makes a pod anew that stays
	budgets := api.Client.Resource(schema.GroupVersionResource{Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"}).Namespace("budget")
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": map[string]any{"name": "db"},
		"spec": map[string]any{"minAvailable": int64(3), "selector": map[string]any{"matchLabels": map[string]any{"app": "db"}}}}}
	if _, err := budgets.Create(t.Context(), o, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	status := []byte(`{"status":{"observedGeneration":1,"disruptionsAllowed":0,"currentHealthy":3,"desiredHealthy":3,"expectedPods":3}}`)
	if _, err := budgets.Patch(t.Context(), "db", types.MergePatchType, status, metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	i := s.inject(t, "evict pod/db-0 at 0s")[0]
	if i.Proven || !strings.Contains(i.Problem, "its PodDisruptionBudget allows no further disruption") {
		t.Errorf("beyond a budget: proven %v (%s), problem %q", i.Proven, i.Proof, i.Problem)
	}
}

// testRefused: impossible faults are refused before a run begins.
func testRefused(t *testing.T, api *kubernetestest.Server, s *podSet) {
	for text, want := range map[string]string{
		"pause any":           "it cannot be done to pods",
		"kill any for ever":   "does not stay away for ever",
		"stop any for ever":   "write pod-failure or isolate",
		"power-cut any":       "it cannot be done to pods",
		"isolate=clients any": "from assay alone",
		"kill pod/db-7":       "want one of db-0, db-1, db-2",
		"kill any[app]":       "mean pod other too",
		"kill 2[app=other]":   "no node has the labels app=other",
		"partition ring":      "at least 4 nodes",
	} {
		if err := Validate(t.Context(), parse(t, text), s.pods); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s gives %v", text, err)
		}
	}
	kill := parse(t, "kill primary")
	s.pods.Primary = func(context.Context) (string, error) { return "", &server.NoPrimaryError{Product: "it"} }
	if err := Validate(t.Context(), kill, s.pods); err == nil || !strings.Contains(err.Error(), "has no primary") {
		t.Errorf("without a primary: %v", err)
	}
	s.pods.Client = connectAs(t, api, kubernetestest.Admin) // who may look at another namespace
	bare, err := api.Keep(t.Context(), "bare", []kubernetestest.Pod{{Name: "db-0", Labels: map[string]string{"app": "db"}, IP: "127.0.0.1", Port: 1, Bare: true}}, kubernetestest.StandIn{})
	expect.NoError(t, err)
	defer func() { _ = bare.Stop() }()
	s.pods.Target.Namespace = "bare"
	for text, want := range map[string]string{"kill any": "nobody would make it again", "io-delay any": "no persistent volume"} {
		if err := Validate(t.Context(), parse(t, text), s.pods); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s gives %v", text, err)
		}
	}
	s.pods.Client = connectAs(t, api, kubernetestest.Nobody)
	if err := Validate(t.Context(), kill, s.pods); err == nil || !strings.Contains(err.Error(), "assay kubernetes check") {
		t.Errorf("without rights: %v", err)
	}
}
