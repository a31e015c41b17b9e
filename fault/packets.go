package fault

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"assay/cluster"
	"assay/cluster/machine"
)

// dropping has the kernel drop packets by rules, one a node.
type dropping struct {
	rules []*dropRule
	take  taker
}

type dropRule struct {
	node *cluster.Node
	rule machine.Rule
	// dial sends a packet that the rule concerns, and makes a connection once
	// it is gone.
	dial func(context.Context) error

	mu       sync.Mutex
	dropping *machine.Dropping // nil until it is in force
}

func (d *dropping) nodes() []*cluster.Node {
	var all []*cluster.Node
	for _, r := range d.rules {
		all = append(all, r.node)
	}
	return all
}

func (d *dropping) of(n *cluster.Node) *dropRule {
	for _, r := range d.rules {
		if r.node == n {
			return r
		}
	}
	return nil
}

func (d *dropping) act(context.Context) error {
	return each(d.nodes(), func(n *cluster.Node) error {
		r := d.of(n)
		put, err := n.Machine().Drop(r.rule)
		r.mu.Lock()
		r.dropping = put
		r.mu.Unlock()
		return err
	})
}

// proof is that each rule has dropped packets. If nobody has sent any, the last
// look does.
func (d *dropping) proof(ctx context.Context, last bool) (sight, error) {
	var mu sync.Mutex
	proven := true
	text, err := looked(d.nodes(), func(n *cluster.Node) (string, error) {
		packets, probed, err := d.of(n).count(ctx, last)
		mu.Lock()
		proven = proven && packets > 0
		mu.Unlock()
		switch {
		case err != nil:
			return "", err
		case probed:
			return fmt.Sprintf("nobody sent packets but us, %d dropped", packets), nil
		case packets == 1:
			return "1 packet dropped", nil
		}
		return fmt.Sprintf("%d packets dropped", packets), nil
	})
	return sight{proven: proven && err == nil, text: text}, err
}

// probes is how often a packet is sent through a rule that has dropped none: by
// then one that drops 1 % has dropped one with a chance of 1 - 0.99^200, 87 %.
// (Each probe is at least two packets.)
const (
	probes     = 100
	probeBound = 200 * time.Millisecond
)

func (r *dropRule) count(ctx context.Context, probe bool) (packets int64, probed bool, err error) {
	r.mu.Lock()
	put := r.dropping
	r.mu.Unlock()
	if put == nil {
		return 0, false, errors.New("the rule was not put in force")
	}
	for range probes {
		packets, err = put.Packets()
		if err != nil || packets > 0 || !probe || ctx.Err() != nil {
			return packets, probed, err
		}
		probed = true
		bounded, cancel := context.WithTimeout(ctx, probeBound)
		_ = r.dial(bounded) // that it fails is the purpose
		cancel()
	}
	packets, err = put.Packets()
	return packets, probed, err
}

func (d *dropping) undo(context.Context) error {
	return each(d.nodes(), func(n *cluster.Node) error {
		r := d.of(n)
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.dropping == nil {
			return nil
		}
		return r.dropping.Remove()
	})
}

func (d *dropping) confirm(ctx context.Context) (string, error) {
	return looked(d.nodes(), func(n *cluster.Node) (string, error) {
		text, err := back(ctx, n, d.take, func() error {
			bounded, cancel := context.WithTimeout(ctx, dialBound)
			defer cancel()
			return d.of(n).dial(bounded)
		})
		return "the rule is gone, " + text, err
	})
}

// fromHere tries to reach the node from this process.
func fromHere(n *cluster.Node) func(context.Context) error {
	return func(ctx context.Context) error { return dial(ctx, n, dialBound) }
}

// fromPeers tries to reach the node from the machines of others, one after the
// other; it is reached when all have.
func fromPeers(n *cluster.Node, peers []*cluster.Node) func(context.Context) error {
	return func(ctx context.Context) error {
		for _, peer := range peers {
			err := peer.Machine().Run(func() error { return dialHere(ctx, n) })
			if err != nil {
				return fmt.Errorf("from %s: %w", peer.Name(), err)
			}
		}
		return nil
	}
}

// dialHere makes its socket on the calling thread, which is on a peer's
// machine; the address is a number, so that nothing is left to a resolver on
// another thread.
func dialHere(ctx context.Context, n *cluster.Node) error {
	bound := dialBound
	if deadline, has := ctx.Deadline(); has {
		bound = min(bound, time.Until(deadline))
	}
	conn, err := net.DialTimeout("tcp4", hostPort(n), bound)
	if err != nil {
		return err
	}
	return conn.Close()
}
