package runner

import (
	"context"
	"errors"
)

// restartable is a workload that wants its servers restarted between rounds.
type restartable interface {
	RestartWith(restart func(ctx context.Context, meanwhile func() error) error)
}

// offerRestart lets the workload restart the server, if there is one and it is
// the run's own. A cluster of several would elect or lose its quorum.
func (r *run) offerRestart() {
	store := r.store
	if b, is := store.(*bounded); is {
		store = b.Work
	}
	w, wants := store.(restartable)
	if !wants || r.cluster == nil || len(r.cluster.Nodes()) != 1 {
		return
	}
	node := r.cluster.Nodes()[0]
	w.RestartWith(func(ctx context.Context, meanwhile func() error) error {
		if err := node.Stop(ctx); err != nil {
			return err
		}
		if err := errors.Join(meanwhile(), node.Start(ctx)); err != nil {
			return err
		}
		return r.cluster.Settled(ctx)
	})
}
