package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"assay/cluster/kubernetes/kubernetestest"
	"assay/cluster/server"
	"assay/internal/expect"
)

// api is one API server for all tests, which use namespaces of their own.
var api *kubernetestest.Server

func TestMain(m *testing.M) {
	var err error
	if api, err = kubernetestest.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if err := api.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func connect(t *testing.T, user, namespace string) *Client {
	t.Helper()
	file, err := api.Kubeconfig(user, namespace)
	expect.NoError(t, err)
	t.Setenv("KUBECONFIG", file)
	c, err := Connect()
	expect.NoError(t, err)
	return c
}

// keep has a stand-in look after three pods of a database and a pod of another owner.
func keep(t *testing.T, namespace string, how kubernetestest.StandIn) *Client {
	t.Helper()
	pods := []kubernetestest.Pod{{Name: "other", Labels: map[string]string{"app": "other"}, IP: "127.0.0.9", Port: 1}}
	for i := range 3 {
		pods = append(pods, kubernetestest.Pod{Name: fmt.Sprintf("db-%d", i), Labels: map[string]string{"app": "db"}, IP: fmt.Sprintf("127.0.0.%d", i+1), Port: 1})
	}
	k, err := api.Keep(t.Context(), namespace, pods, how)
	expect.NoError(t, err)
	expect.AtEnd(t, k.Stop)
	c := connect(t, kubernetestest.Admin, namespace)
	err = server.Until(t.Context(), 50*time.Millisecond, "ready pods", func(ctx context.Context) error {
		all, err := c.Pods(ctx, Target{namespace, "app in (db, other)"})
		for _, p := range all {
			if !p.Ready {
				return errors.New(p.Name + " is not ready")
			}
		}
		if len(all) != 4 {
			return errors.Join(err, fmt.Errorf("%d pods", len(all)))
		}
		return err
	})
	expect.NoError(t, err)
	return c
}

func TestParseTarget(t *testing.T) {
	for text, want := range map[string]Target{
		"db/app=mongodb":          {"db", "app=mongodb"},
		"db/cnpg.io/cluster=main": {"db", "cnpg.io/cluster=main"},
		"db/app in (a,b),tier!=x": {"db", "app in (a,b),tier!=x"},
	} {
		if got, err := ParseTarget(text); err != nil || got != want {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "db", "db/", "/app=x", "db/ ", "db/a=b=c", "db/a in b"} {
		var wrong *TargetError
		if _, err := ParseTarget(text); !errors.As(err, &wrong) || !strings.Contains(err.Error(), "NAMESPACE/SELECTOR") {
			t.Errorf("%q gives %v", text, err)
		}
	}
}

func TestWithoutAccess(t *testing.T) {
	t.Setenv("KUBECONFIG", t.TempDir()+"/nothing")
	t.Setenv("HOME", t.TempDir())
	var denied *AccessError
	if _, err := Connect(); !errors.As(err, &denied) || !strings.Contains(err.Error(), "set KUBECONFIG") {
		t.Errorf("without a kubeconfig: %v", err)
	}
	c := connect(t, "stranger", "default") // whose token nobody knows
	_, err := c.Pods(t.Context(), Target{"default", "app=db"})
	if !errors.As(err, &denied) || !apierrors.IsUnauthorized(denied.Err) || !strings.Contains(err.Error(), "choose another context") {
		t.Errorf("with a wrong token: %v", err)
	}
	if strings.Contains(fmt.Sprint(err), api.Token("stranger")) {
		t.Errorf("the token is in the error: %v", err)
	}
	c = connect(t, kubernetestest.Nobody, "default")
	if _, err = c.Pods(t.Context(), Target{"default", "app=db"}); !errors.As(err, &denied) || !strings.Contains(err.Error(), "assay kubernetes check") {
		t.Errorf("without rights: %v", err)
	}
	var none *NoChaosMeshError
	c = connect(t, kubernetestest.Admin, "default")
	if err := c.HasChaos(t.Context(), "NoSuchChaos", "default"); !errors.As(err, &none) || !strings.Contains(err.Error(), "helm install chaos-mesh") {
		t.Errorf("without Chaos Mesh: %v", err)
	}
}

func TestCheck(t *testing.T) {
	a, err := connect(t, kubernetestest.Admin, "default").Check(t.Context(), Target{})
	if err != nil || len(a.Missing()) > 0 || a.ChaosMesh() != "installed" || !strings.HasPrefix(a.Version, "v1.") || a.Namespace != "default" {
		t.Errorf("an administrator has %+v, %v", a, err)
	}
	a, err = connect(t, kubernetestest.Nobody, "default").Check(t.Context(), Target{})
	if err != nil || len(a.Missing()) != len(neededRights(true)) || a.Missing()[0].String() != "list pods" {
		t.Errorf("nobody has %+v, %v", a, err)
	}
	all := Access{Chaos: map[string]error{}}
	for _, kind := range chaosKinds() {
		all.Chaos[kind] = &NoChaosMeshError{kind}
	}
	expect.Text(t, "without Chaos Mesh", all.ChaosMesh(), "not installed", "helm install")
	delete(all.Chaos, PodChaos)
	expect.Text(t, "with a part of Chaos Mesh", all.ChaosMesh(), "[NetworkChaos IOChaos TimeChaos StressChaos]")
}

func TestPods(t *testing.T) {
	c := keep(t, "pods", kubernetestest.StandIn{})
	var none *TargetError
	if _, err := c.Pods(t.Context(), Target{"pods", "app=nothing"}); !errors.As(err, &none) || !strings.Contains(err.Error(), "--show-labels") {
		t.Errorf("a selector of nothing gives %v", err)
	}
	all, err := c.Pods(t.Context(), Target{"pods", "app=db"})
	if err != nil || len(all) != 3 {
		t.Fatalf("pods are %v, %v", all, err)
	}
	p := all[1]
	if p.Name != "db-1" || p.IP != "127.0.0.2" || p.CPU != 0.5 || p.Memory != 256<<20 || p.CPURequest != 0.25 || p.MemoryRequest != 128<<20 ||
		p.Machine != "machine-1" || !p.Controlled || len(p.Ports) != 1 || len(p.Containers) != 1 {
		t.Errorf("a pod is read as %+v", p)
	}
	for server, is := range map[string]bool{"127.0.0.2": true, "127.0.0.2:5432": true, "127.0.0.2/32": true, "db-1": true, "db-1.db.pods.svc:27017": true,
		"db-10": false, "127.0.0.21": false, "": false} {
		if p.Named(server) != is {
			t.Errorf("%q is the pod: %v", server, !is)
		}
	}
	// A later pod of the same name is another pod.
	expect.NoError(t, c.Delete(t.Context(), p, false))
	err = server.Until(t.Context(), 50*time.Millisecond, "a new pod", func(ctx context.Context) error {
		now, err := c.Pods(ctx, Target{"pods", "app=db"})
		if err == nil && (len(now) != 3 || now[1].UID == p.UID) {
			err = errors.New("it is not there")
		}
		return err
	})
	expect.NoError(t, err)
	if gone, err := c.Find(t.Context(), p); gone != nil || err != nil {
		t.Errorf("the pod that is gone is %v, %v", gone, err)
	}
	if err := c.Delete(t.Context(), p, false); !apierrors.IsConflict(errors.Unwrap(err)) {
		t.Errorf("the pod that is gone is deleted again: %v", err)
	}
}

func TestVolumes(t *testing.T) {
	expect.NoError(t, api.Namespace(t.Context(), "volumes"))
	create(t, schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}, "volumes", `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data-0}
spec: {storageClassName: fast, accessModes: [ReadWriteOnce], resources: {requests: {storage: 5Gi}}}`)
	k, err := api.Keep(t.Context(), "volumes", []kubernetestest.Pod{{Name: "db-0", Labels: map[string]string{"app": "db"}, IP: "127.0.0.1", Port: 1, Claim: "data-0"}}, kubernetestest.StandIn{})
	expect.NoError(t, err)
	defer func() { _ = k.Stop() }()
	c := connect(t, kubernetestest.Admin, "volumes")
	all, err := c.Pods(t.Context(), Target{"volumes", "app=db"})
	if err == nil {
		err = c.Measure(t.Context(), all)
	}
	expect.NoError(t, err)
	if want := (Volume{Claim: "data-0", Class: "fast", Bytes: 5 << 30, Path: "/var/lib/data", Container: "server"}); len(all[0].Volumes) != 1 || all[0].Volumes[0] != want {
		t.Errorf("the volume is %+v, want %+v", all[0].Volumes, want)
	}
}

func create(t *testing.T, resource schema.GroupVersionResource, namespace, text string) *unstructured.Unstructured {
	t.Helper()
	all, err := readManifest(strings.NewReader(text))
	if err != nil || len(all) != 1 {
		t.Fatalf("%d objects, %v", len(all), err)
	}
	o, err := api.Client.Resource(resource).Namespace(namespace).Create(t.Context(), all[0], metav1.CreateOptions{})
	expect.NoError(t, err)
	return o
}

// TestRole: deploy/role.yaml grants what is needed, and nothing else.
func TestRole(t *testing.T) {
	expect.NoError(t, api.Namespace(t.Context(), "db"))
	c := connect(t, kubernetestest.Admin, "db")
	applied, err := c.Apply(t.Context(), "../../deploy/role.yaml", NewMark("0badcafe"))
	expect.NoError(t, err)
	create(t, schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"}, "db", `
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: nobody}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: assay}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: nobody}]`)
	limited := connect(t, kubernetestest.Nobody, "db")
	err = server.Until(t.Context(), 100*time.Millisecond, "the rights of the role", func(ctx context.Context) error {
		a, err := limited.Check(ctx, Target{})
		if err == nil && len(a.Missing()) > 0 {
			err = fmt.Errorf("missing are %v", a.Missing())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	needed := map[string]bool{}
	for _, r := range neededRights(true) {
		needed[r.String()] = true
	}
	for _, o := range applied.objects {
		for _, rule := range objects(o.Object, "rules") {
			for _, verb := range rule["verbs"].([]any) {
				for _, of := range rule["resources"].([]any) {
					name := fmt.Sprint(verb, " ", of)
					if group := rule["apiGroups"].([]any)[0].(string); group != "" {
						name += "." + group
					}
					if !needed[name] {
						t.Errorf("the role grants %s, which nobody needs", name)
					}
				}
			}
		}
	}
	expect.NoError(t, applied.Remove(t.Context(), time.Minute))
}
