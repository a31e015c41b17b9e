package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"assay/cluster/kubernetes"
	"assay/cluster/server"
	"assay/fault"
	"assay/report"
	"assay/store"
)

// attach finds the pods that the scenario selects, before anything is changed. stop closes the
// connection that asks for the primary.
func (r *run) attach(ctx context.Context) (stop func() error, err error) {
	target, err := kubernetes.ParseTarget(r.scenario.Kubernetes)
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.Connect()
	if err != nil {
		return nil, err
	}
	r.options.Progress.Stage("looking for pods " + target.String())
	all, err := client.Pods(ctx, target)
	if err == nil {
		err = client.Measure(ctx, all)
	}
	if err != nil {
		return nil, err
	}
	asker := &primaryAsker{run: r}
	r.pods = &fault.Pods{Client: client, Target: target, Mark: kubernetes.NewMark(newMarkID()), Primary: asker.ask}
	r.nodes = podsOf(client, target, all)
	return asker.close, nil
}

// newMarkID marks what this run creates in a Kubernetes cluster.
func newMarkID() string { return strings.ReplaceAll(uuid.NewString(), "-", "")[:8] }

// noteOthers notes if the server that answers is none of the pods: they may belong to another
// database. It notes nothing if the database does not name its servers.
func (r *run) noteOthers(ctx context.Context) {
	if r.pods == nil {
		return
	}
	name, err := r.pods.Primary(ctx)
	if err != nil {
		return
	}
	all, err := r.pods.Client.Pods(ctx, r.pods.Target)
	if err != nil || slices.ContainsFunc(all, func(p kubernetes.Pod) bool { return p.Named(name) }) {
		return
	}
	text := fmt.Sprintf("the server that answers calls itself %s, which is none of the pods %s: unless it is a router before them, they are not this database's", name, r.pods.Target)
	r.options.Progress.Note(text)
	r.note(text)
}

func (r *run) hasNodes() bool { return r.system() != nil }

// system is the target of faults; nil for none.
func (r *run) system() fault.System {
	switch {
	case r.cluster != nil:
		return fault.Servers(r.cluster.Cluster)
	case r.pods != nil:
		return r.pods
	case r.hosts != nil:
		return r.hosts
	case r.embedded != nil:
		return fault.Embedded(r.embedded)
	}
	return nil
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

// describePods enters the smallest limits of the pods. Without a limit they are unknown, since
// they depend on the machine and on what else runs there.
func describePods(d *report.Database, nodes []report.ClusterNode) {
	d.Nodes = known(len(nodes))
	least := func(of func(report.ClusterNode) float64) float64 {
		var all []float64
		for _, n := range nodes {
			all = append(all, of(n))
		}
		return slices.Min(all)
	}
	disk := func(n report.ClusterNode) (bytes float64) {
		for _, v := range n.Pod.Volumes {
			bytes += float64(v.Bytes)
		}
		return bytes
	}
	d.CPUsPerNode = known(least(func(n report.ClusterNode) float64 { return n.CPU }))
	d.MemoryPerNode = known(int64(least(func(n report.ClusterNode) float64 { return float64(n.Memory) })))
	d.DiskPerNode = known(int64(least(disk)))
}

// primaryAsker asks the database, over its own connection, which server takes writes. It is
// safe for concurrent use.
type primaryAsker struct {
	run *run

	mu      sync.Mutex
	account store.Statistics
}

const askBound = 3 * time.Second

func (p *primaryAsker) ask(ctx context.Context) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.account == nil {
		var why string
		p.account, why = p.run.driver.OpenStatistics(ctx, p.run.scenario.Workload,
			store.Target{Address: p.run.address, ConnectTimeout: p.run.scenario.ConnectTimeout})
		if p.account == nil {
			return "", &server.NoPrimaryError{Product: p.run.driver.Name + " (" + why + ")"}
		}
	}
	ctx, cancel := context.WithTimeout(ctx, askBound)
	defer cancel()
	reading, err := p.account.Read(ctx)
	if err != nil { // a hung question is not repeated
		p.account.Close()
		p.account = nil
		return "", fmt.Errorf("ask the database who takes writes: %w", err)
	}
	name, _, _ := strings.Cut(reading.Server, " ")
	if name == "" {
		return "", errors.New("the database does not say by which of its servers it answers")
	}
	return name, nil
}

func (p *primaryAsker) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.account != nil {
		p.account.Close()
		p.account = nil
	}
	return nil
}

// manifestPrefix begins Scenario.Cluster if it is a manifest of Kubernetes.
const manifestPrefix = "k8s:"

// IsManifest reports whether a cluster is a Kubernetes manifest.
func IsManifest(spec string) bool { return strings.HasPrefix(spec, manifestPrefix) }

// manifestReady bounds the wait for the whole manifest, manifestGone for each object's deletion.
const (
	manifestReady = 15 * time.Minute
	manifestGone  = 5 * time.Minute
)

// apply applies the scenario's manifest, waits until its objects are ready, and attaches the
// run to the pods that the scenario selects, if it does. stop deletes the objects.
func (r *run) apply(ctx context.Context) (stop func() error, err error) {
	client, err := kubernetes.Connect()
	if err != nil {
		return nil, err
	}
	r.options.Progress.Stage("applying " + r.scenario.Cluster)
	applied, err := client.Apply(ctx, strings.TrimPrefix(r.scenario.Cluster, manifestPrefix), kubernetes.NewMark(newMarkID()))
	remove := func() error { // also when the run was interrupted
		return applied.Remove(context.WithoutCancel(ctx), manifestGone)
	}
	if err != nil {
		return nil, errors.Join(err, remove())
	}
	r.options.Progress.Stage("waiting until " + r.scenario.Cluster + " is ready")
	bounded, cancel := context.WithTimeout(ctx, manifestReady)
	defer cancel()
	if err := applied.Await(bounded); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", r.scenario.Cluster, err), remove())
	}
	if r.scenario.Kubernetes == "" {
		return remove, nil
	}
	detach, err := r.attach(ctx)
	if err != nil {
		return nil, errors.Join(err, remove())
	}
	return func() error { return errors.Join(detach(), remove()) }, nil
}
