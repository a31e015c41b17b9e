package nodes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"assay/cluster/kubernetes"
	"assay/fault"
	"assay/report"
)

// manifestPrefix begins Asked.Cluster if it is a manifest of Kubernetes.
const manifestPrefix = "k8s:"

// IsManifest reports whether a cluster is a Kubernetes manifest.
func IsManifest(spec string) bool { return strings.HasPrefix(spec, manifestPrefix) }

// manifestReady bounds the wait for the whole manifest, manifestGone for each object's deletion.
const (
	manifestReady = 15 * time.Minute
	manifestGone  = 5 * time.Minute
)

// apply applies the manifest, waits until its objects are ready, and attaches the run to the pods
// that are selected, if they are.
func (a Asked) apply(ctx context.Context) (*System, error) {
	client, err := kubernetes.Connect()
	if err != nil {
		return nil, err
	}
	a.Stage("applying " + a.Cluster)
	applied, err := client.Apply(ctx, strings.TrimPrefix(a.Cluster, manifestPrefix), kubernetes.NewMark(newMarkID()))
	remove := func() error { // also when the run was interrupted
		return applied.Remove(context.WithoutCancel(ctx), manifestGone)
	}
	if err != nil {
		return nil, errors.Join(err, remove())
	}
	a.Stage("waiting until " + a.Cluster + " is ready")
	bounded, cancel := context.WithTimeout(ctx, manifestReady)
	defer cancel()
	if err := applied.Await(bounded); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", a.Cluster, err), remove())
	}
	if a.Kubernetes == "" {
		return &System{end: remove}, nil
	}
	s, err := a.attach(ctx)
	if err != nil {
		return nil, errors.Join(err, remove())
	}
	detach := s.end
	s.end = func() error { return errors.Join(detach(), remove()) }
	return s, nil
}

// attach finds the selected pods, before anything is changed.
func (a Asked) attach(ctx context.Context) (*System, error) {
	target, err := kubernetes.ParseTarget(a.Kubernetes)
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.Connect()
	if err != nil {
		return nil, err
	}
	a.Stage("looking for pods " + target.String())
	all, err := client.Pods(ctx, target)
	if err == nil {
		err = client.Measure(ctx, all)
	}
	if err != nil {
		return nil, err
	}
	asker := &primaryAsker{open: a.Account}
	return &System{
		Pods:      &fault.Pods{Client: client, Target: target, Mark: kubernetes.NewMark(newMarkID()), Primary: asker.ask},
		Described: podsOf(client, target, all), end: asker.close,
	}, nil
}

// newMarkID marks what this run creates in a Kubernetes cluster.
func newMarkID() string { return strings.ReplaceAll(uuid.NewString(), "-", "")[:8] }

// Strangers says so if the server that answers is none of the pods: they may belong to another
// database. It is empty if the database does not name its servers.
func (s *System) Strangers(ctx context.Context) string {
	if s.Pods == nil {
		return ""
	}
	name, err := s.Pods.Primary(ctx)
	if err != nil {
		return ""
	}
	all, err := s.Pods.Client.Pods(ctx, s.Pods.Target)
	if err != nil || slices.ContainsFunc(all, func(p kubernetes.Pod) bool { return p.Named(name) }) {
		return ""
	}
	return fmt.Sprintf("the server that answers calls itself %s, which is none of the pods %s: unless it is a router before them, they are not this database's",
		name, s.Pods.Target)
}

func podsOf(client *kubernetes.Client, target kubernetes.Target, all []kubernetes.Pod) *report.Cluster {
	out := &report.Cluster{Spec: "kubernetes:" + target.String(), Network: "Kubernetes, " + client.Host}
	for _, p := range all {
		node := report.ClusterNode{Name: p.Name, Address: p.IP, Memory: p.Memory, CPU: p.CPU,
			Pod: &report.Pod{Machine: p.Machine, CPURequest: p.CPURequest, MemoryRequest: p.MemoryRequest, Volumes: []report.PodVolume{}}}
		for _, v := range p.Volumes {
			node.Pod.Volumes = append(node.Pod.Volumes, report.PodVolume{Claim: v.Claim, Class: v.Class, Bytes: v.Bytes})
		}
		out.Nodes = append(out.Nodes, node)
	}
	return out
}
