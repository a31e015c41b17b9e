package fault

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"assay/cluster/kubernetes"
	"assay/cluster/server"
)

// Pods is a database whose nodes are pods of a Kubernetes cluster. It must not be
// copied once it is in use.
type Pods struct {
	Client *kubernetes.Client
	Target kubernetes.Target
	// Mark is on all that is created.
	Mark kubernetes.Mark
	// Primary says how the server that takes writes calls itself, host or host:port; it
	// may be called from several goroutines.
	Primary func(ctx context.Context) (string, error)
	// RecoverWithin is how long Chaos Mesh may take to recover before it is forced; 0
	// means DefaultRecovery.
	RecoverWithin time.Duration

	mu    sync.Mutex
	known []kubernetes.Pod // as they were seen last
}

// DefaultRecovery is what is taken for Pods.RecoverWithin.
const DefaultRecovery = 45 * time.Second

// lookBound is how long a look at the pods may take.
const lookBound = 10 * time.Second

// RunOnPods is Run on the pods of a database.
func RunOnPods(ctx context.Context, p *Pods, faults []Fault, plan Plan, to Recorder) ([]Injection, error) {
	r := &runner{system: p, faults: faults, plan: plan, recorder: to}
	return r.run(ctx)
}

// ValidateOnPods is Validate for the pods of a database.
func ValidateOnPods(ctx context.Context, faults []Fault, p *Pods) error {
	all, err := p.Client.Pods(ctx, p.Target)
	if err != nil {
		return err
	}
	var failed []error
	for _, f := range faults {
		err := checkTarget(f, membersOf(all))
		if err == nil {
			err = p.checkMeans(ctx, f, all)
		}
		if err == nil && (f.Target == TargetPrimary || f.Target == TargetSecondary) {
			asking, cancel := context.WithTimeout(ctx, primaryWait)
			_, err = p.primary(asking)
			cancel()
			if err != nil {
				err = fmt.Errorf("fault %q: %w", f, err)
			}
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// checkMeans tells whether the action can be done to these pods.
func (p *Pods) checkMeans(ctx context.Context, f Fault, all []kubernetes.Pod) error {
	about, _ := describe(f.Action)
	unavailable := func(reason, instead string) error {
		return &UnavailableError{Action: f.Action, Reason: reason, Instead: instead}
	}
	switch {
	case f.For == Ever && slices.Contains([]Action{Kill, Stop}, f.Action):
		return unavailable("a pod that is deleted does not stay away for ever: whoever made it makes it again at once", "write "+string(PodFailure)+" or isolate, by Chaos Mesh, with for ever")
	case about.Pods == "":
		return unavailable("it cannot be done to pods", "assay list has those that can be")
	case f.Clients:
		return unavailable("a pod cannot be cut off from assay alone", "write isolate without =clients")
	case slices.Contains([]Action{Kill, Stop, Evict}, f.Action):
		for _, pod := range all {
			if !pod.Controlled {
				return unavailable("pod "+pod.Name+" has no controller, and nobody would make it again", "select the pods of a StatefulSet, an operator or the like")
			}
		}
		return nil
	case slices.Contains([]Action{SlowIO, DiskFull, ReadError}, f.Action):
		for _, pod := range all {
			if len(pod.Volumes) == 0 {
				return unavailable("pod "+pod.Name+" has no persistent volume", "use another fault")
			}
		}
	}
	if err := p.Client.HasChaos(ctx, chaosKind(f.Action), p.Target.Namespace); err != nil {
		return &UnavailableError{Action: f.Action, Reason: err.Error(), Err: err}
	}
	return nil
}

// pods are the pods as they are now, or as they were seen last.
func (p *Pods) pods(ctx context.Context) []kubernetes.Pod {
	ctx, cancel := context.WithTimeout(ctx, lookBound)
	defer cancel()
	all, err := p.Client.Pods(ctx, p.Target)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		p.known = all
	}
	return p.known
}

func (p *Pods) members() []member { return membersOf(p.pods(context.Background())) }

func membersOf(pods []kubernetes.Pod) (all []member) {
	for _, pod := range pods {
		all = append(all, member{name: pod.Name})
	}
	return all
}

func (p *Pods) running(name string) bool {
	return slices.ContainsFunc(p.pods(context.Background()), func(pod kubernetes.Pod) bool { return pod.Name == name && pod.Ready })
}

// primary asks until the database answers, and finds the pod that has answered.
func (p *Pods) primary(ctx context.Context) (string, error) {
	for {
		name, err := p.Primary(ctx)
		var none *server.NoPrimaryError
		if errors.As(err, &none) {
			return "", err
		}
		if err == nil {
			for _, pod := range p.pods(ctx) {
				if pod.Named(name) {
					return pod.Name, nil
				}
			}
			err = fmt.Errorf("the server that takes writes calls itself %s, which is none of the pods %s; name a pod (%sNAME), or write any",
				name, p.Target, PodPrefix)
		}
		if !sleepUntil(ctx, time.Now().Add(200*time.Millisecond)) {
			return "", err
		}
	}
}

func (p *Pods) prepare(f Fault, c choice, _ acquirer) (injector, error) {
	var chosen []kubernetes.Pod
	all := p.pods(context.Background())
	for _, pod := range all {
		if slices.Contains(c.affected(), pod.Name) {
			chosen = append(chosen, pod)
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("the pods %v are gone", c.nodes)
	}
	switch f.Action {
	case Kill:
		return newPodRemoval(p, chosen, len(all), func(ctx context.Context, pod kubernetes.Pod) error { return p.Client.Delete(ctx, pod, false) }), nil
	case Stop:
		return newPodRemoval(p, chosen, len(all), func(ctx context.Context, pod kubernetes.Pod) error { return p.Client.Delete(ctx, pod, true) }), nil
	case Evict:
		return newPodRemoval(p, chosen, len(all), p.Client.Evict), nil
	}
	return newChaos(p, f, c, chosen), nil
}
