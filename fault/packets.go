package fault

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"assay/cluster"
	"assay/cluster/machine"
)

// packetDrop has the kernel drop packets by rules, one a node.
type packetDrop struct {
	rules   []*dropRule
	acquire acquirer
}

type dropRule struct {
	*cluster.Node
	rule machine.Rule
	// dial sends a packet that the rule concerns, and makes a connection once
	// it is gone.
	dial func(context.Context) error

	dropping *machine.Dropping // nil until it is in force
}

func (d *packetDrop) inject(context.Context) error {
	return forEach(d.rules, func(r *dropRule) (err error) {
		r.dropping, err = r.Machine().Drop(r.rule)
		return err
	})
}

// verify is that each rule has dropped packets. If nobody has sent any, the last
// look does.
func (d *packetDrop) verify(ctx context.Context, last bool) (observation, error) {
	return observeEach(d.rules, func(r *dropRule) (observation, error) {
		packets, probed, err := r.count(ctx, last)
		text := fmt.Sprintf("%d packets dropped", packets)
		switch {
		case probed:
			text = fmt.Sprintf("nobody sent packets but us, %d dropped", packets)
		case packets == 1:
			text = "1 packet dropped"
		}
		return observation{proven: packets > 0, text: text}, err
	})
}

// probes is how often a packet is sent through a rule that has dropped none: by
// then one that drops 1 % has dropped one with a chance of 1 - 0.99^200, 87 %.
// (Each probe is at least two packets.)
const (
	probes     = 100
	probeBound = 200 * time.Millisecond
)

func (r *dropRule) count(ctx context.Context, probe bool) (packets int64, probed bool, err error) {
	if r.dropping == nil {
		return 0, false, errors.New("the rule was not put in force")
	}
	for range probes {
		packets, err = r.dropping.Packets()
		if err != nil || packets > 0 || !probe || ctx.Err() != nil {
			return packets, probed, err
		}
		probed = true
		bounded, cancel := context.WithTimeout(ctx, probeBound)
		_ = r.dial(bounded) // that it fails is the purpose
		cancel()
	}
	packets, err = r.dropping.Packets()
	return packets, probed, err
}

func (d *packetDrop) undo(context.Context) error {
	return forEach(d.rules, func(r *dropRule) error {
		if r.dropping == nil {
			return nil
		}
		return r.dropping.Remove()
	})
}

func (d *packetDrop) restore(ctx context.Context) (string, error) {
	return describeEach(d.rules, func(r *dropRule) (string, error) {
		text, err := awaitBack(ctx, r.Node, d.acquire, func() error {
			bounded, cancel := context.WithTimeout(ctx, dialBound)
			defer cancel()
			return r.dial(bounded)
		})
		return "the rule is gone, " + text, err
	})
}

// fromHere tries to reach the node from this process.
func fromHere(n *cluster.Node) func(context.Context) error {
	return func(ctx context.Context) error { return n.Dial(ctx, dialBound) }
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
	conn, err := net.DialTimeout("tcp4", n.Address(), bound)
	if err != nil {
		return err
	}
	return conn.Close()
}

// isolate cuts nodes off from everybody, or from assay alone. Nothing answers
// for what is dropped, as when a machine loses its network or its power.
func isolate(s servers, nodes []*cluster.Node, clients bool, acquire acquirer) injector {
	d := &packetDrop{acquire: acquire}
	rule := machine.Rule{Direction: machine.Both, Share: 1}
	if clients {
		rule.Peers = []netip.Addr{s.cluster.Machines().Client()}
	}
	for _, n := range nodes {
		d.rules = append(d.rules, &dropRule{Node: n, rule: rule, dial: fromHere(n)})
	}
	return d
}

// partitionNodes cuts nodes off from other nodes; assay still reaches all of them.
func partitionNodes(s servers, cuts []cut, acquire acquirer) (injector, error) {
	d := &packetDrop{acquire: acquire}
	for _, c := range cuts {
		node, err := s.nodes([]string{c.node})
		if err != nil {
			return nil, err
		}
		peers, err := s.nodes(c.from)
		if err != nil {
			return nil, err
		}
		rule := machine.Rule{Direction: machine.Both, Share: 1}
		if c.inOnly {
			rule.Direction = machine.In
		}
		for _, p := range peers {
			rule.Peers = append(rule.Peers, p.Machine().Address())
		}
		d.rules = append(d.rules, &dropRule{Node: node[0], rule: rule, dial: fromPeers(node[0], peers)})
	}
	return d, nil
}

// flaky drops a share of the packets that reach or leave nodes, each packet by
// its own chance.
func flaky(nodes []*cluster.Node, share float64, acquire acquirer) injector {
	d := &packetDrop{acquire: acquire}
	rule := machine.Rule{Direction: machine.Both, Share: cmp.Or(share, DefaultLoss)}
	for _, n := range nodes {
		d.rules = append(d.rules, &dropRule{Node: n, rule: rule, dial: fromHere(n)})
	}
	return d
}
