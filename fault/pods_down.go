package fault

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"assay/cluster/kubernetes"
)

// podRemoval has pods deleted or evicted; their controllers make them again.
type podRemoval struct {
	pods   *Pods
	nodes  []*removedPod
	before int // how many pods there were
	remove func(context.Context, kubernetes.Pod) error
}

// removedPod is a pod with whether it could be reached from here before.
type removedPod struct {
	kubernetes.Pod
	reachable bool
}

// Name implements named.
func (r *removedPod) Name() string { return r.Pod.Name }

func newPodRemoval(p *Pods, chosen []kubernetes.Pod, before int, remove func(context.Context, kubernetes.Pod) error) *podRemoval {
	r := &podRemoval{pods: p, before: before, remove: remove}
	for _, pod := range chosen {
		r.nodes = append(r.nodes, &removedPod{Pod: pod})
	}
	return r
}

func (r *podRemoval) inject(ctx context.Context) error {
	return forEach(r.nodes, func(n *removedPod) error {
		_, err := n.Dial(ctx)
		n.reachable = err == nil
		return r.remove(ctx, n.Pod)
	})
}

// verify is that each pod, by its identity, is gone or was told to end.
func (r *podRemoval) verify(ctx context.Context, _ bool) (observation, error) {
	return observeEach(r.nodes, func(n *removedPod) (observation, error) {
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

// restore waits until there are as many ready pods as before, none of them a removed
// one, and the new ones can be reached from here if the old ones could.
func (r *podRemoval) restore(ctx context.Context) (string, error) {
	reachable := !slices.ContainsFunc(r.nodes, func(n *removedPod) bool { return !n.reachable })
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

// back looks which pods are ready again that are none of the removed ones.
func (p *Pods) back(ctx context.Context, removed []*removedPod, reachable bool) (ready int, text string, problem error) {
	for _, pod := range p.pods(ctx) {
		if !pod.Ready || slices.ContainsFunc(removed, func(n *removedPod) bool { return n.UID == pod.UID }) {
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
