package fault

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"assay/cluster/kubernetes"
)

func evict() Action {
	return Action{Name: "evict", Targets: nodeTargets(), part: partProcess, state: "being evicted", silences: true, restarts: true,
		Pods: "asks for the pod to be evicted, as the drain of a machine does; a PodDisruptionBudget may forbid it",
		pods: podMeans{remove: func(ctx context.Context, c *kubernetes.Client, pod kubernetes.Pod) error { return c.Evict(ctx, pod) }}}
}

// podRemoval deletes or evicts pods. Their controllers make them again.
type podRemoval struct {
	pods   *Pods
	nodes  []*podNode
	before int // how many pods there were
	remove func(context.Context, *kubernetes.Client, kubernetes.Pod) error
}

func deleting(grace bool) func(context.Context, *kubernetes.Client, kubernetes.Pod) error {
	return func(ctx context.Context, c *kubernetes.Client, pod kubernetes.Pod) error {
		return c.Delete(ctx, pod, grace)
	}
}

func refusesRemoval(f Fault, all []kubernetes.Pod) (reason, instead string) {
	if f.For == Ever {
		return "a pod that is deleted does not stay away for ever: whoever made it makes it again at once", "write pod-failure or isolate, by Chaos Mesh, with for ever"
	}
	for _, pod := range all {
		if !pod.Controlled {
			return "pod " + pod.Name + " has no controller, and nobody would make it again", "select the pods of a StatefulSet, an operator or the like"
		}
	}
	return "", ""
}

func (r *podRemoval) inject(ctx context.Context) error {
	return forEach(r.nodes, func(n *podNode) error {
		n.tryToReach(ctx)
		return r.remove(ctx, r.pods.Client, n.Pod)
	})
}

// verify checks that each pod, by its identity, is gone or was told to end.
func (r *podRemoval) verify(ctx context.Context, _ bool) (observation, error) {
	return observeEach(r.nodes, func(n *podNode) (observation, error) {
		now, err := r.pods.Client.Find(ctx, n.Pod)
		switch {
		case err != nil:
			return observation{}, err
		case now == nil:
			return observation{proven: true, text: "the pod " + n.UID + " is gone"}, nil
		case now.Ending:
			return observation{proven: true, text: "the pod " + n.UID + " was told to end"}, nil
		}
		return observation{text: "the pod " + n.UID + " is still there"}, nil
	})
}

func (r *podRemoval) undo(context.Context) error { return nil }

// restore waits until the number of ready pods is as before, without the removed ones. New pods
// must be reachable from here if the old ones were.
func (r *podRemoval) restore(ctx context.Context) (string, error) {
	reachable := allReachable(r.nodes)
	for {
		ready, text, problem := r.pods.back(ctx, r.nodes, reachable)
		if ready >= r.before && problem == nil {
			return fmt.Sprintf("%d pods are ready, as before%s", ready, text), nil
		}
		if problem == nil {
			problem = fmt.Errorf("%d of %d pods are ready", ready, r.before)
		}
		if !sleepUntil(ctx, time.Now().Add(200*time.Millisecond)) {
			return "", fmt.Errorf("%w; kubectl describe of the others says why", problem)
		}
	}
}

func (p *Pods) back(ctx context.Context, removed []*podNode, reachable bool) (ready int, text string, problem error) {
	for _, pod := range p.pods(ctx) {
		if !pod.Ready || slices.ContainsFunc(removed, func(n *podNode) bool { return n.UID == pod.UID }) {
			continue
		}
		ready++
		if !reachable {
			continue
		}
		if address, err := pod.Dial(ctx); err != nil && !errors.Is(err, kubernetes.ErrNoPort) {
			problem = fmt.Errorf("pod %s is called ready, and %s does not answer: %w", pod.Name, address, err)
		}
	}
	if reachable {
		return ready, ", and answer", problem
	}
	return ready, " (they cannot be reached from here)", problem
}
