package fault

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"assay/cluster/kubernetes"
)

// injectWithin is how long Chaos Mesh may take to inject, restartWithin Kubernetes to
// count that a container was started again.
const (
	injectWithin  = 30 * time.Second
	restartWithin = 30 * time.Second
)

// chaos is a fault that Chaos Mesh brings about, by one object a pod, or one a cut.
type chaos struct {
	pods  *Pods
	fault Fault
	nodes []*removedPod
	specs []map[string]any

	made   []*kubernetes.Chaos
	forced []string // what is not known because recovery was forced
}

// chaosKind is the kind of Chaos Mesh's objects that does the action.
func chaosKind(a Action) string {
	switch a {
	case ContainerKill, PodFailure:
		return kubernetes.PodChaos
	case SlowIO, DiskFull, ReadError:
		return kubernetes.IOChaos
	case Clock:
		return kubernetes.TimeChaos
	case StressCPU, StressMemory:
		return kubernetes.StressChaos
	}
	return kubernetes.NetworkChaos
}

func newChaos(p *Pods, f Fault, c choice, chosen []kubernetes.Pod) *chaos {
	x := &chaos{pods: p, fault: f}
	for _, pod := range chosen {
		x.nodes = append(x.nodes, &removedPod{Pod: pod})
	}
	// Should assay be killed, Chaos Mesh ends the fault by itself.
	bound := f.For + DefaultFor + 10*time.Minute
	if f.Action == Partition {
		for _, cut := range c.cuts {
			spec := selecting(p.Target.Namespace, bound, cut.node)
			spec["action"], spec["direction"] = "partition", "both"
			if cut.inOnly {
				spec["direction"] = "from"
			}
			spec["target"] = selecting(p.Target.Namespace, 0, cut.from...)
			x.specs = append(x.specs, spec)
		}
		return x
	}
	for _, pod := range chosen {
		spec := selecting(p.Target.Namespace, bound, pod.Name)
		specify(spec, f, pod)
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

// specify enters the fault into a spec. The sources are the types of chaos-mesh/api,
// v1alpha1, and what their webhooks refuse.
func specify(spec map[string]any, f Fault, pod kubernetes.Pod) {
	wait := cmp.Or(f.Wait, DefaultWait).String()
	switch f.Action {
	case ContainerKill:
		spec["action"], spec["containerNames"] = "container-kill", anyOf(pod.Containers)
	case PodFailure:
		spec["action"] = "pod-failure"
	case Isolate: // a set of networks cannot hold 0.0.0.0/0
		spec["action"], spec["direction"], spec["externalTargets"] = "partition", "both", []any{"0.0.0.0/1", "128.0.0.0/1"}
	case Flaky:
		percent := strconv.FormatFloat(cmp.Or(f.Share, DefaultLoss)*100, 'f', -1, 64)
		spec["action"], spec["loss"] = "loss", map[string]any{"loss": percent, "correlation": "0"}
	case Delay:
		spec["action"], spec["delay"] = "delay", map[string]any{"latency": wait, "correlation": "0", "jitter": "0ms"}
	case Bandwidth:
		rate := cmp.Or(f.Rate, DefaultRate)
		// Rates in bps are bytes a second. What waits is at most a second's worth.
		spec["action"], spec["bandwidth"] = "bandwidth", map[string]any{
			"rate": strconv.FormatInt(rate, 10) + "bps", "limit": min(rate, 1<<30), "buffer": max(rate/100, 10_000)}
	case Clock:
		spec["timeOffset"], spec["containerNames"] = cmp.Or(f.Offset, DefaultOffset).String(), anyOf(pod.Containers)
	case StressCPU:
		spec["stressors"] = map[string]any{"cpu": map[string]any{"workers": int64(max(f.Share, 1)), "load": int64(100)}}
	case StressMemory:
		size := strconv.FormatInt(cmp.Or(f.Rate, DefaultMemory), 10) + "B"
		spec["stressors"] = map[string]any{"memory": map[string]any{"workers": int64(1), "size": size}}
	case SlowIO, DiskFull, ReadError:
		specifyFiles(spec, f, wait, pod.Volumes[0])
	}
}

func specifyFiles(spec map[string]any, f Fault, wait string, v kubernetes.Volume) {
	spec["volumePath"], spec["containerNames"], spec["percent"] = v.Path, []any{v.Container}, int64(100)
	const noSpace, ioError = 28, 5 // errno(3)
	switch f.Action {
	case SlowIO:
		spec["action"], spec["delay"] = "latency", wait
	case DiskFull:
		spec["action"], spec["errno"], spec["methods"] = "fault", int64(noSpace), []any{"write", "create", "mkdir", "mknod"}
	case ReadError:
		spec["action"], spec["errno"], spec["methods"] = "fault", int64(ioError), []any{"read"}
		if f.Files != "" {
			spec["path"] = path.Join(v.Path, f.Files)
		}
	}
}

func (x *chaos) inject(ctx context.Context) error {
	for _, n := range x.nodes {
		_, err := n.Dial(ctx)
		n.reachable = err == nil
	}
	for _, spec := range x.specs {
		made, err := x.pods.Client.CreateChaos(ctx, chaosKind(x.fault.Action), x.pods.Target.Namespace, x.pods.Mark, spec)
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

// verify is that Chaos Mesh says so, and that it is seen from here where it can be: a
// pod that is cut off does not answer, and a container that was killed was started once
// more.
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
	if x.fault.Action == Isolate || x.fault.Action == ContainerKill && last {
		look := x.silent
		if x.fault.Action == ContainerKill {
			look = x.restarted
		}
		own, err := observeEach(x.nodes, func(n *removedPod) (observation, error) { return look(ctx, n) })
		if err != nil {
			return observation{}, err
		}
		seen.proven = seen.proven && own.proven
		texts = append(texts, own.text)
	}
	seen.text = strings.Join(slices.DeleteFunc(slices.Compact(texts), func(t string) bool { return t == "" }), "; ")
	return seen, nil
}

func (x *chaos) silent(ctx context.Context, n *removedPod) (observation, error) {
	if !n.reachable {
		return observation{proven: true, text: "it cannot be reached from here anyway"}, nil
	}
	address, err := n.Dial(ctx)
	if err == nil {
		return observation{text: address + " answers all the same"}, nil
	}
	return observation{proven: true, text: address + " does not answer"}, nil
}

func (x *chaos) restarted(ctx context.Context, n *removedPod) (observation, error) {
	ctx, cancel := context.WithTimeout(ctx, restartWithin)
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
			return observation{text: fmt.Sprintf("Kubernetes has counted no start of its containers within %v", restartWithin)}, nil
		}
	}
}

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
	x.forced = slices.DeleteFunc(forced, func(text string) bool { return text == "" })
	return errors.Join(failed...)
}

// visible reports whether the end of the fault can be seen by connecting to its pods.
func (x *chaos) visible() bool {
	return slices.Contains([]Action{Isolate, PodFailure, ContainerKill}, x.fault.Action) &&
		!slices.ContainsFunc(x.nodes, func(n *removedPod) bool { return !n.reachable })
}

// restore waits until the pods are ready, and answer where they did before. Where Chaos
// Mesh was forced, only what is seen from here counts.
func (x *chaos) restore(ctx context.Context) (string, error) {
	forced := strings.Join(x.forced, "; ")
	text, err := describeEach(x.nodes, func(n *removedPod) (string, error) { return x.awaitPod(ctx, n) })
	switch {
	case forced == "":
		return joinedText("Chaos Mesh has recovered it", text), err
	case err != nil:
		return "", fmt.Errorf("%s; %w", forced, err)
	case !x.visible():
		return "", fmt.Errorf("%s; whether the fault is gone cannot be seen from here: delete the pods %s to be sure", forced, joined(x.names()))
	}
	return joinedText(forced, text), nil
}

func joinedText(a, b string) string { return a + "; " + b }

func (x *chaos) names() (all []string) {
	for _, n := range x.nodes {
		all = append(all, n.Pod.Name)
	}
	return all
}

func (x *chaos) awaitPod(ctx context.Context, n *removedPod) (string, error) {
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
