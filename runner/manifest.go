package runner

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"assay/cluster/kubernetes"
)

// manifestPrefix begins a cluster that is a manifest of Kubernetes.
const manifestPrefix = "k8s:"

// IsManifest reports whether a cluster is a manifest to be applied to Kubernetes.
func IsManifest(spec string) bool { return strings.HasPrefix(spec, manifestPrefix) }

// What a manifest may take until it is ready, and each of its objects until it is gone.
const (
	manifestReady = 15 * time.Minute
	manifestGone  = 5 * time.Minute
)

// apply applies the scenario's manifest, waits until its objects say that they are
// ready, and attaches the run to the pods that it selects, if it does. The returned
// function deletes what was applied.
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
