package fault

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"assay/cluster/kubernetes"
)

const injectWithin = 30 * time.Second

// chaos is a fault by Chaos Mesh, with one object for each pod or cut.
type chaos struct {
	podMeans
	pods  *Pods
	nodes []*podNode
	specs []map[string]any

	made   []*kubernetes.Chaos
	forced []string // what is unknown because recovery was forced
}

func newChaos(p *Pods, f Fault, c choice, chosen []*podNode) *chaos {
	a, _ := Lookup(f.Action)
	x := &chaos{podMeans: a.pods, pods: p, nodes: chosen}
	// If assay is killed, Chaos Mesh ends the fault by itself.
	bound := f.For + DefaultFor + 10*time.Minute
	for _, cut := range c.cuts {
		spec := selecting(p.Target.Namespace, bound, cut.node)
		spec["action"], spec["direction"] = "partition", "both"
		if cut.inOnly {
			spec["direction"] = "from"
		}
		spec["target"] = selecting(p.Target.Namespace, 0, cut.from...)
		x.specs = append(x.specs, spec)
	}
	if x.spec == nil {
		return x
	}
	for _, n := range chosen {
		spec := selecting(p.Target.Namespace, bound, n.Pod.Name)
		maps.Copy(spec, x.spec(f, n.Pod))
		x.specs = append(x.specs, spec)
	}
	return x
}

// selecting is the part of a spec that names pods (chaos-mesh/api, PodSelector).
func selecting(namespace string, bound time.Duration, names ...string) map[string]any {
	spec := map[string]any{"mode": "all", "selector": map[string]any{"pods": map[string]any{namespace: anyOf(names)}}}
	if bound > 0 {
		spec["duration"] = bound.String()
	}
	return spec
}

func anyOf(names []string) (all []any) {
	for _, name := range names {
		all = append(all, name)
	}
	return all
}

func onVolume(pod kubernetes.Pod, spec map[string]any) map[string]any {
	v := pod.Volumes[0]
	spec["volumePath"], spec["containerNames"], spec["percent"] = v.Path, []any{v.Container}, int64(100)
	return spec
}

func (x *chaos) inject(ctx context.Context) error {
	for _, n := range x.nodes {
		n.tryToReach(ctx)
	}
	for _, spec := range x.specs {
		made, err := x.pods.Client.CreateChaos(ctx, x.chaos, x.pods.Target.Namespace, x.pods.Mark, spec)
		if made != nil {
			x.made = append(x.made, made)
		}
		if err != nil {
			return err
		}
	}
	for _, c := range x.made {
		if err := c.AwaitInjected(ctx, injectWithin); err != nil {
			return err
		}
	}
	return nil
}

// verify trusts Chaos Mesh's status, together with what can be seen from here.
func (x *chaos) verify(ctx context.Context, last bool) (observation, error) {
	seen := observation{proven: len(x.made) == len(x.specs)}
	var texts []string
	for _, c := range x.made {
		injected, text, err := c.Injected(ctx)
		if err != nil {
			return observation{}, err
		}
		seen.proven = seen.proven && injected
		texts = append(texts, text)
	}
	if x.look != nil {
		own, err := observeEach(x.nodes, func(n *podNode) (observation, error) { return x.look(ctx, x, n, last) })
		if err != nil {
			return observation{}, err
		}
		seen.proven = seen.proven && own.proven
		texts = append(texts, own.text)
	}
	seen.text = strings.Join(slices.DeleteFunc(slices.Compact(texts), func(t string) bool { return t == "" }), "; ")
	return seen, nil
}

// undo also keeps what earlier calls have forced.
func (x *chaos) undo(ctx context.Context) error {
	within := cmp.Or(x.pods.RecoverWithin, DefaultRecovery)
	forced, failed := make([]string, len(x.made)), make([]error, len(x.made))
	var wait sync.WaitGroup
	for i, c := range x.made {
		wait.Go(func() {
			failed[i] = guard(func() (err error) {
				forced[i], err = c.Remove(ctx, within)
				return err
			})
		})
	}
	wait.Wait()
	x.forced = append(x.forced, slices.DeleteFunc(forced, func(text string) bool { return text == "" })...)
	return errors.Join(failed...)
}

// restore waits until the pods are ready and answer if they did before. If Chaos Mesh was forced,
// only what is seen from here counts.
func (x *chaos) restore(ctx context.Context) (string, error) {
	forced := strings.Join(x.forced, "; ")
	text, err := describeEach(x.nodes, func(n *podNode) (string, error) { return x.awaitPod(ctx, n) })
	switch {
	case forced == "":
		return "Chaos Mesh has recovered it; " + text, err
	case err != nil:
		return "", fmt.Errorf("%s; %w", forced, err)
	case !x.shows || !allReachable(x.nodes):
		return "", fmt.Errorf("%s; whether the fault is gone cannot be seen from here: delete the pods %s to be sure", forced, joined(names(x.nodes)))
	}
	return forced + "; " + text, nil
}

func (x *chaos) awaitPod(ctx context.Context, n *podNode) (string, error) {
	for {
		problem := errors.New("it is not ready")
		for _, pod := range x.pods.pods(ctx) {
			if pod.Name != n.Pod.Name || !pod.Ready {
				continue
			}
			if !n.reachable {
				return "it is ready, and cannot be reached from here", nil
			}
			address, err := pod.Dial(ctx)
			if err == nil {
				return "it is ready, and " + address + " answers", nil
			}
			problem = fmt.Errorf("it is called ready, and %s does not answer: %w", address, err)
		}
		if !sleepUntil(ctx, time.Now().Add(200*time.Millisecond)) {
			return "", problem
		}
	}
}

func bandwidth() Action {
	return Action{Name: "bandwidth", Value: size("RATE", "bytes a second, at least 1KiB, such as 1MiB or 500kB", 1<<20), Targets: nodeTargets(), Lasts: true, Divides: true, part: partLoss, state: "slowed",
		Pods: "leaves the pod this many bytes a second to send (Chaos Mesh)",
		pods: podMeans{chaos: kubernetes.NetworkChaos, spec: func(f Fault, _ kubernetes.Pod) map[string]any {
			rate := valueOf[int64](f)
			// Rates in bps are bytes a second. The queue holds at most a second's worth.
			return map[string]any{"action": "bandwidth", "bandwidth": map[string]any{
				"rate": strconv.FormatInt(rate, 10) + "bps", "limit": min(rate, 1<<30), "buffer": max(rate/100, 10_000)}}
		}}}
}

func podFailure() Action {
	return Action{Name: "pod-failure", Targets: nodeTargets(), Lasts: true, part: partProcess, state: "failed", silences: true, restarts: true,
		Pods: "has the pod's containers replaced by ones that do nothing (Chaos Mesh); healing brings the right ones back",
		pods: podMeans{chaos: kubernetes.PodChaos, shows: true, spec: func(Fault, kubernetes.Pod) map[string]any {
			return map[string]any{"action": "pod-failure"}
		}}}
}

func containerKill() Action {
	return Action{Name: "container-kill", Value: containers(), Targets: nodeTargets(), Kills: true, part: partProcess, state: "down", silences: true, restarts: true,
		Pods: "kills the pod's containers, or the named ones, which are started again in the same pod (Chaos Mesh)",
		pods: podMeans{chaos: kubernetes.PodChaos, look: restarted, shows: true, spec: func(f Fault, pod kubernetes.Pod) map[string]any {
			names := pod.Containers
			if f.Value != nil {
				names = strings.Split(valueOf[string](f), ",")
			}
			return map[string]any{"action": "container-kill", "containerNames": anyOf(names)}
		}}}
}

func restarted(ctx context.Context, x *chaos, n *podNode, last bool) (observation, error) {
	if !last {
		return observation{proven: true}, nil
	}
	const within = 30 * time.Second // that Kubernetes may take to count it
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for {
		now, err := x.pods.Client.Find(ctx, n.Pod)
		switch {
		case err != nil && ctx.Err() == nil:
			return observation{}, err
		case err == nil && now == nil:
			return observation{text: "the pod is gone"}, nil
		case err == nil && now.Restarts > n.Restarts:
			return observation{proven: true, text: fmt.Sprintf("its containers were started again (%d times by now, %d before)", now.Restarts, n.Restarts)}, nil
		}
		if !sleepUntil(ctx, time.Now().Add(200*time.Millisecond)) {
			return observation{text: fmt.Sprintf("Kubernetes has counted no start of its containers within %v", within)}, nil
		}
	}
}

func stressCPU() Action {
	return Action{Name: "stress-cpu", Targets: nodeTargets(), Lasts: true, part: partCPU, state: "under stress",
		Value: newValue("PROCESSES", "a whole number of processes from 1 to 1024, such as 2", 1,
			func(text string) (float64, error) { return strconv.ParseFloat(text, 64) },
			func(n float64) bool { return n >= 1 && n <= 1024 && n == math.Trunc(n) }, plain),
		Pods: "starts so many busy processes beside the pod's server, within its limits (Chaos Mesh)",
		pods: podMeans{chaos: kubernetes.StressChaos, spec: func(f Fault, _ kubernetes.Pod) map[string]any {
			return map[string]any{"stressors": map[string]any{"cpu": map[string]any{"workers": int64(valueOf[float64](f)), "load": int64(100)}}}
		}}}
}

func stressMemory() Action {
	return Action{Name: "stress-memory", Value: size("SIZE", "bytes, at least 1KiB, such as 256MiB", 256<<20), Targets: nodeTargets(), Lasts: true, part: partMemory, state: "under stress",
		Pods: "takes so much memory beside the pod's server, within its limits (Chaos Mesh)",
		pods: podMeans{chaos: kubernetes.StressChaos, spec: func(f Fault, _ kubernetes.Pod) map[string]any {
			size := strconv.FormatInt(valueOf[int64](f), 10) + "B"
			return map[string]any{"stressors": map[string]any{"memory": map[string]any{"workers": int64(1), "size": size}}}
		}}}
}
