package fault

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/cluster"
	"assay/cluster/kubernetes"
	"assay/cluster/machine"
)

// isolate cuts nodes off from everybody, or from assay alone. Nothing answers
// for what is dropped, as when a machine loses its network or its power.
func isolate() Action {
	return Action{Name: "isolate", Targets: serverTargets(), Lasts: true, Divides: true, part: partNetwork, state: "cut off", silences: true,
		Value:  oneOf("clients", "", "from everybody", "it cannot be isolated from %q", "isolate=clients, or isolate alone to cut the node off from everybody", "clients"),
		Effect: "drops all packets of the node, or only those between it and assay; nothing answers for them",
		check:  checkNetwork,
		on: dropping(func(t task) machine.Rule {
			rule := machine.Rule{Direction: machine.Both, Share: 1}
			if t.Value != nil {
				rule.Peers = []netip.Addr{t.cluster.Machines().Client()}
			}
			return rule
		}),
		Pods: "drops all packets of the pod (Chaos Mesh)",
		pods: podMeans{chaos: kubernetes.NetworkChaos, look: silent, shows: true,
			refuses: func(f Fault) (reason, instead string) {
				if f.Value != nil {
					return "a pod cannot be cut off from assay alone", "write isolate without =clients"
				}
				return "", ""
			},
			spec: func(Fault, kubernetes.Pod) map[string]any { // a set of networks cannot hold 0.0.0.0/0
				return map[string]any{"action": "partition", "direction": "both", "externalTargets": []any{"0.0.0.0/1", "128.0.0.0/1"}}
			}}}
}

func silent(ctx context.Context, _ *chaos, n *podNode, _ bool) (observation, error) {
	if !n.reachable {
		return observation{proven: true, text: "it cannot be reached from here anyway"}, nil
	}
	address, err := n.Dial(ctx)
	if err == nil {
		return observation{text: address + " answers all the same"}, nil
	}
	return observation{proven: true, text: address + " does not answer"}, nil
}

// flaky drops a share of the packets that reach or leave nodes, each packet by
// its own chance.
func flaky() Action {
	return Action{Name: "flaky", Targets: serverTargets(), Lasts: true, Divides: true, part: partLoss, state: "losing packets",
		Value: newValue("SHARE", "a share above 0 and at most 1, such as 20% or 0.2", 0.2, parseShare,
			func(share float64) bool { return share > 0 && share <= 1 }, formatShare),
		Effect: "drops this share of the packets to and from the node, by chance",
		check:  checkNetwork,
		on: dropping(func(t task) machine.Rule {
			return machine.Rule{Direction: machine.Both, Share: valueOf[float64](t.Fault)}
		}),
		Pods: "drops this share of the packets that leave the pod (Chaos Mesh)",
		pods: podMeans{chaos: kubernetes.NetworkChaos, spec: func(f Fault, _ kubernetes.Pod) map[string]any {
			return map[string]any{"action": "loss", "loss": map[string]any{"loss": plain(valueOf[float64](f) * 100), "correlation": "0"}}
		}}}
}

func parseShare(text string) (float64, error) {
	digits, percent := strings.CutSuffix(text, "%")
	share, err := strconv.ParseFloat(digits, 64)
	if percent {
		share /= 100
	}
	return share, err
}

// formatShare is in percent if that is the same share when it is read.
func formatShare(share float64) string {
	percent := plain(share*100) + "%"
	if back, err := parseShare(percent); err == nil && back == share {
		return percent
	}
	return plain(share)
}

// dropRule has the kernel drop packets of a node.
type dropRule struct {
	*cluster.Node
	rule    machine.Rule
	acquire acquirer
	// dial sends a packet that the rule concerns, and makes a connection once
	// it is gone.
	dial func(context.Context) error

	dropping *machine.Dropping // nil until it is in force
}

// dropping is how an action is brought about that drops packets by the same rule of
// each node.
func dropping(rule func(task) machine.Rule) func(task) (injector, error) {
	return func(t task) (injector, error) {
		return each(t.nodes, func(n *cluster.Node) oneNode {
			return &dropRule{Node: n, rule: rule(t), acquire: t.acquire, dial: func(ctx context.Context) error { return n.Dial(ctx, dialBound) }}
		}), nil
	}
}

// checkNetwork tells whether packets can be dropped here.
func checkNetwork(f Fault, c *cluster.Cluster) error {
	const instead = "use kill, stop or pause instead"
	if err := c.NoNetwork(); err != nil {
		return &UnavailableError{Action: f.Action, Reason: err.Error(), Instead: instead, Err: err}
	}
	aimed, _ := sides(f.Target)
	for _, n := range c.Servers() {
		if !n.Machine().Apart() && slices.ContainsFunc(aimed, func(s side) bool { return s.role != "" && s.role == n.Role() }) {
			return &UnavailableError{Action: f.Action, Reason: "the " + n.Name() + " is a process of this machine, without a network of its own", Instead: instead}
		}
	}
	return nil
}

func (r *dropRule) inject(context.Context) (err error) {
	r.dropping, err = r.Machine().Drop(r.rule)
	return err
}

// verify is that the rule has dropped packets. If nobody has sent any, the last
// look does.
func (r *dropRule) verify(ctx context.Context, last bool) (observation, error) {
	packets, probed, err := r.count(ctx, last)
	text := fmt.Sprintf("%d packets dropped", packets)
	switch {
	case probed:
		text = fmt.Sprintf("nobody sent packets but us, %d dropped", packets)
	case packets == 1:
		text = "1 packet dropped"
	}
	return observation{proven: packets > 0, text: text}, err
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

func (r *dropRule) undo(context.Context) error {
	if r.dropping == nil {
		return nil
	}
	return r.dropping.Remove()
}

func (r *dropRule) restore(ctx context.Context) (string, error) {
	text, err := awaitBack(ctx, r.Node, r.acquire, func() error {
		bounded, cancel := context.WithTimeout(ctx, dialBound)
		defer cancel()
		return r.dial(bounded)
	})
	return "the rule is gone, " + text, err
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
