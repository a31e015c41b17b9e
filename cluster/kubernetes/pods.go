package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Pod is a pod as the API server describes it.
type Pod struct {
	Namespace, Name string
	UID             string
	Labels          map[string]string
	IP              string
	Machine         string
	// Ready is the result of its readiness probes. Ending is true once it must end.
	Ready, Ending bool
	// Controlled is true if a controller replaces the pod.
	Controlled bool
	Restarts   int64
	Containers []string
	Ports      []int
	// CPU in processors and Memory in bytes are the limits of all containers together; 0 if one
	// has no limit. CPURequest and MemoryRequest are their requests.
	CPU, CPURequest       float64
	Memory, MemoryRequest int64
	Volumes               []Volume
}

// Volume is a volume that outlives the pod.
type Volume struct {
	Claim, Class string
	Bytes        int64
	// Path is the mount point in Container.
	Path, Container string
}

// Pods returns the target's pods that have not ended, or a *TargetError if there are none.
func (c *Client) Pods(ctx context.Context, t Target) ([]Pod, error) {
	list, err := c.in(pods(), t.Namespace).List(ctx, metav1.ListOptions{LabelSelector: t.Selector})
	if err != nil {
		return nil, &AccessError{Doing: "list pods " + t.String(), Err: err}
	}
	var all []Pod
	for i := range list.Items {
		phase, _, _ := unstructured.NestedString(list.Items[i].Object, "status", "phase")
		if phase == "Succeeded" || phase == "Failed" { // such as those of jobs
			continue
		}
		all = append(all, podOf(&list.Items[i]))
	}
	if len(all) == 0 {
		return nil, &TargetError{Target: t.String(), Problem: "it selects no pod that runs",
			Want: "labels that pods have; kubectl get pods --namespace " + t.Namespace + " --show-labels has them"}
	}
	slices.SortFunc(all, func(a, b Pod) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

func podOf(o *unstructured.Unstructured) Pod {
	p := Pod{Namespace: o.GetNamespace(), Name: o.GetName(), UID: string(o.GetUID()), Labels: o.GetLabels(), Ending: o.GetDeletionTimestamp() != nil}
	p.IP, _, _ = unstructured.NestedString(o.Object, "status", "podIP")
	p.Machine, _, _ = unstructured.NestedString(o.Object, "spec", "nodeName")
	ready, _ := condition(o, "Ready")
	p.Ready = ready == "True" && !p.Ending
	p.Controlled = metav1.GetControllerOf(o) != nil
	for _, status := range objects(o.Object, "status", "containerStatuses") {
		restarts, _ := status["restartCount"].(int64)
		p.Restarts += restarts
	}
	claims := map[string]string{}
	for _, v := range objects(o.Object, "spec", "volumes") {
		if claim, _, _ := unstructured.NestedString(v, "persistentVolumeClaim", "claimName"); claim != "" {
			claims[text(v, "name")] = claim
		}
	}
	cpuLimited, memoryLimited := true, true
	for _, container := range objects(o.Object, "spec", "containers") {
		name := text(container, "name")
		p.Containers = append(p.Containers, name)
		for _, port := range objects(container, "ports") {
			number, is := port["containerPort"].(int64)
			if protocol := text(port, "protocol"); is && (protocol == "" || protocol == "TCP") {
				p.Ports = append(p.Ports, int(number))
			}
		}
		for _, mount := range objects(container, "volumeMounts") {
			claim, is := claims[text(mount, "name")]
			known := slices.ContainsFunc(p.Volumes, func(v Volume) bool { return v.Claim == claim })
			if is && !known {
				p.Volumes = append(p.Volumes, Volume{Claim: claim, Path: text(mount, "mountPath"), Container: name})
			}
		}
		cpu, memory := quantityOf(container, "limits", "cpu"), quantityOf(container, "limits", "memory")
		cpuLimited, memoryLimited = cpuLimited && !cpu.IsZero(), memoryLimited && !memory.IsZero()
		p.CPU, p.Memory = p.CPU+cpu.AsApproximateFloat64(), p.Memory+memory.Value()
		cpu, memory = quantityOf(container, "requests", "cpu"), quantityOf(container, "requests", "memory")
		p.CPURequest, p.MemoryRequest = p.CPURequest+cpu.AsApproximateFloat64(), p.MemoryRequest+memory.Value()
	}
	if !cpuLimited {
		p.CPU = 0
	}
	if !memoryLimited {
		p.Memory = 0
	}
	return p
}

func objects(within map[string]any, path ...string) (all []map[string]any) {
	list, _, _ := unstructured.NestedSlice(within, path...)
	for _, item := range list {
		if o, is := item.(map[string]any); is {
			all = append(all, o)
		}
	}
	return all
}

func text(within map[string]any, key string) string {
	value, _ := within[key].(string)
	return value
}

func quantityOf(container map[string]any, kind, name string) resource.Quantity {
	value, _, _ := unstructured.NestedFieldNoCopy(container, "resources", kind, name)
	q, err := resource.ParseQuantity(fmt.Sprint(value))
	if err != nil {
		return resource.Quantity{}
	}
	return q
}

// Measure sets the sizes of the pods' volumes from their claims.
func (c *Client) Measure(ctx context.Context, all []Pod) error {
	claims := schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}
	for i := range all {
		for j := range all[i].Volumes {
			v := &all[i].Volumes[j]
			o, err := c.in(claims, all[i].Namespace).Get(ctx, v.Claim, metav1.GetOptions{})
			if err != nil {
				return &AccessError{Doing: "read the volume claim " + v.Claim, Err: err}
			}
			v.Class, _, _ = unstructured.NestedString(o.Object, "spec", "storageClassName")
			value, found, _ := unstructured.NestedString(o.Object, "status", "capacity", "storage")
			if !found {
				value, _, _ = unstructured.NestedString(o.Object, "spec", "resources", "requests", "storage")
			}
			if q, err := resource.ParseQuantity(value); err == nil {
				v.Bytes = q.Value()
			}
		}
	}
	return nil
}

// Delete deletes this pod, but not a later one of its name. Without grace the API server forgets it
// at once; with grace its containers have their time to end.
func (c *Client) Delete(ctx context.Context, p Pod, grace bool) error {
	uid := types.UID(p.UID)
	o := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}
	if !grace {
		none := int64(0)
		o.GracePeriodSeconds = &none
	}
	if err := c.in(pods(), p.Namespace).Delete(ctx, p.Name, o); err != nil {
		return &AccessError{Doing: "delete pod " + p.Name, Err: err}
	}
	return nil
}

// Evict evicts the pod (policy/v1). A budget of disruptions may forbid it, which is an error.
func (c *Client) Evict(ctx context.Context, p Pod) error {
	eviction := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "policy/v1", "kind": "Eviction",
		"metadata":      map[string]any{"name": p.Name, "namespace": p.Namespace},
		"deleteOptions": map[string]any{"preconditions": map[string]any{"uid": p.UID}},
	}}
	_, err := c.in(pods(), p.Namespace).Create(ctx, eviction, metav1.CreateOptions{}, "eviction")
	if apierrors.IsTooManyRequests(err) {
		return fmt.Errorf("kubernetes: pod %s may not be evicted: its PodDisruptionBudget allows no further disruption: %w", p.Name, err)
	}
	if err != nil {
		return &AccessError{Doing: "evict pod " + p.Name, Err: err}
	}
	return nil
}

// Find returns the pod's present state; nil if it is gone, even if another has its name.
func (c *Client) Find(ctx context.Context, p Pod) (*Pod, error) {
	o, err := c.in(pods(), p.Namespace).Get(ctx, p.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, &AccessError{Doing: "look at pod " + p.Name, Err: err}
	case string(o.GetUID()) != p.UID:
		return nil, nil
	}
	now := podOf(o)
	return &now, nil
}

const dialBound = 1500 * time.Millisecond

// ErrNoPort means that a pod has no address or declares no port.
var ErrNoPort = errors.New("it has no address yet, or declares no TCP port")

// Dial connects once to the pod's first port. From outside the cluster's network it often fails.
func (p Pod) Dial(ctx context.Context) (address string, err error) {
	if p.IP == "" || len(p.Ports) == 0 {
		return "", ErrNoPort
	}
	ctx, cancel := context.WithTimeout(ctx, dialBound)
	defer cancel()
	address = net.JoinHostPort(p.IP, strconv.Itoa(p.Ports[0]))
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return address, err
	}
	return address, conn.Close()
}

// Named reports whether a server's name for itself, host or host:port, means this pod: its address,
// its name, or its name in the cluster's DNS.
func (p Pod) Named(server string) bool {
	host := server
	if h, _, err := net.SplitHostPort(server); err == nil {
		host = h
	}
	host, _, _ = strings.Cut(host, "/") // an inet of PostgreSQL may have its prefix length
	return host != "" && (host == p.IP || host == p.Name || strings.HasPrefix(host, p.Name+"."))
}
