package fault

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"assay/cluster/kubernetes"
	"assay/cluster/server"
)

// Pods is a database in pods of a Kubernetes cluster. It must not be copied after first use.
type Pods struct {
	Client *kubernetes.Client
	Target kubernetes.Target
	// Mark is put on everything that is created.
	Mark kubernetes.Mark
	// Primary returns what the server that takes writes calls itself, host or host:port. Several
	// goroutines may call it.
	Primary func(ctx context.Context) (string, error)
	// RecoverWithin is how long Chaos Mesh may take to recover before it is forced; 0 means
	// DefaultRecovery.
	RecoverWithin time.Duration

	mu    sync.Mutex
	known []kubernetes.Pod // as they were seen last
}

// DefaultRecovery is the default of Pods.RecoverWithin.
const DefaultRecovery = 45 * time.Second

const lookBound = 10 * time.Second

func (p *Pods) check(ctx context.Context, f Fault) error {
	a, _ := Lookup(f.Action)
	all := p.pods(ctx)
	var reason, instead string
	switch {
	case a.Pods == "":
		reason, instead = "it cannot be done to pods", "assay list has the faults that can be"
	case a.pods.remove != nil:
		reason, instead = refusesRemoval(f, all)
	case a.pods.refuses != nil:
		reason, instead = a.pods.refuses(f)
	case a.pods.chaos == kubernetes.IOChaos:
		for _, pod := range all {
			if len(pod.Volumes) == 0 {
				reason, instead = "pod "+pod.Name+" has no persistent volume", "use another fault"
				break
			}
		}
	}
	if reason == "" {
		reason, instead = p.strangers(ctx, f, all)
	}
	if reason != "" {
		return &UnavailableError{Action: f.Action, Reason: reason, Instead: instead}
	}
	if a.pods.remove == nil {
		if err := p.Client.HasChaos(ctx, a.pods.chaos, p.Target.Namespace); err != nil {
			return &UnavailableError{Action: f.Action, Reason: err.Error(), Err: err}
		}
	}
	return nil
}

func (p *Pods) strangers(ctx context.Context, f Fault, all []kubernetes.Pod) (reason, instead string) {
	aimed, _ := sides(f.Target)
	for _, s := range aimed {
		if s.selector == "" {
			continue
		}
		meant, err := p.Client.Pods(ctx, kubernetes.Target{Namespace: p.Target.Namespace, Selector: s.selector})
		if err != nil {
			return err.Error(), "" // present pods were found before
		}
		for _, pod := range meant {
			if !slices.ContainsFunc(all, func(own kubernetes.Pod) bool { return own.UID == pod.UID }) {
				return fmt.Sprintf("the labels %s mean pod %s too, which is none of %s", s.selector, pod.Name, p.Target), "add labels that only the database's pods have"
			}
		}
	}
	return "", ""
}

// look finds the present pods; after an error, it returns those last seen.
func (p *Pods) look(ctx context.Context) ([]kubernetes.Pod, error) {
	ctx, cancel := context.WithTimeout(ctx, lookBound)
	defer cancel()
	all, err := p.Client.Pods(ctx, p.Target)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		p.known = all
	}
	return p.known, err
}

func (p *Pods) pods(ctx context.Context) []kubernetes.Pod {
	all, _ := p.look(ctx)
	return all
}

func (p *Pods) members(ctx context.Context) (all []member, err error) {
	pods, err := p.look(ctx)
	for _, pod := range pods {
		all = append(all, member{name: pod.Name, labels: pod.Labels})
	}
	return all, err
}

func (p *Pods) running(name string) bool {
	return slices.ContainsFunc(p.pods(context.Background()), func(pod kubernetes.Pod) bool { return pod.Name == name && pod.Ready })
}

func (p *Pods) primaries(ctx context.Context) ([]string, error) {
	return askPrimary(ctx, p.Primary, func(ctx context.Context, called string) (string, error) {
		for _, pod := range p.pods(ctx) {
			if pod.Named(called) {
				return pod.Name, nil
			}
		}
		return "", fmt.Errorf("the server that takes writes calls itself %s, which is none of the pods %s; name a pod (%sNAME), or write any",
			called, p.Target, PodPrefix)
	})
}

// askPrimary asks until the database answers, and finds the node by its server's name for itself.
// When ctx ends, an unknown name says more than the error of the interrupted question.
func askPrimary(ctx context.Context, ask func(context.Context) (string, error), find func(ctx context.Context, called string) (string, error)) ([]string, error) {
	var stranger error
	for {
		called, err := ask(ctx)
		var none *server.NoPrimaryError
		if errors.As(err, &none) {
			return nil, err
		}
		if err == nil {
			var node string
			if node, stranger = find(ctx, called); stranger == nil {
				return []string{node}, nil
			}
		}
		if !sleepUntil(ctx, time.Now().Add(200*time.Millisecond)) {
			return nil, cmp.Or(stranger, err)
		}
	}
}

func (p *Pods) prepare(f Fault, c choice, _ acquirer) (injector, error) {
	var chosen []*podNode
	all := p.pods(context.Background())
	for _, pod := range all {
		if slices.Contains(c.affected(), pod.Name) {
			chosen = append(chosen, &podNode{Pod: pod})
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("the pods %v are gone", c.nodes)
	}
	a, _ := Lookup(f.Action)
	if a.pods.remove != nil {
		return &podRemoval{pods: p, nodes: chosen, before: len(all), remove: a.pods.remove}, nil
	}
	return newChaos(p, f, c, chosen), nil
}

// podNode is a pod under a fault. It remembers whether the pod was reachable before.
type podNode struct {
	kubernetes.Pod
	reachable bool
}

func (n *podNode) Name() string { return n.Pod.Name }

func (n *podNode) tryToReach(ctx context.Context) {
	_, err := n.Dial(ctx)
	n.reachable = err == nil
}

func allReachable(nodes []*podNode) bool {
	return !slices.ContainsFunc(nodes, func(n *podNode) bool { return !n.reachable })
}
