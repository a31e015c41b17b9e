package fault

import (
	"context"
	"fmt"
	"time"

	"assay/cluster"
)

// switchover moves the primary, as before maintenance of its machine.
func switchover() Action {
	return Action{Name: "switchover", Targets: []string{TargetPrimary}, part: partProcess, state: "handing over",
		Effect: "has another node become the primary, as planned, by the product's own command: Patroni's switchover, pg_auto_failover's, MongoDB's replSetStepDown, Sentinel's failover, MySQL's group_replication_set_as_primary, etcd's move-leader",
		check:  needs((*cluster.Cluster).CheckSwitchOver, "take patroni, pg-auto-failover, mongodb, redis with Sentinel, mysql in a group or etcd, of two nodes or more"),
		on:     func(t task) (injector, error) { return &planned{cluster: t.cluster, from: t.nodes[0]}, nil }}
}

type planned struct {
	cluster *cluster.Cluster
	from    *cluster.Node
	to      *cluster.Node // nil before
	took    time.Duration
}

func (p *planned) inject(ctx context.Context) (err error) {
	began := time.Now()
	p.to, err = p.from.SwitchOver(ctx)
	p.took = time.Since(began)
	return err
}

// verify checks that another node was seen as the primary.
func (p *planned) verify(context.Context, bool) (observation, error) {
	if p.to == nil {
		return observation{text: p.from.Name() + " has not handed over"}, nil
	}
	return observation{proven: true, text: fmt.Sprintf("%s is the primary in place of %s, %.1f s after it was asked", p.to.Name(), p.from.Name(), p.took.Seconds())}, nil
}

func (p *planned) undo(context.Context) error { return nil }

// restore waits until all are in step behind the new primary.
func (p *planned) restore(ctx context.Context) (string, error) {
	if err := p.cluster.Settled(ctx); err != nil {
		return "", err
	}
	return "all nodes are in step", nil
}
