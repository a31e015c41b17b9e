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
	"assay/internal/quantity"
)

// isolate cuts nodes off from all others, or from assay alone. Dropped packets get no answer, as
// when a machine loses its network or power.
func isolate() Action {
	return Action{Name: "isolate", Targets: serverTargets(), Lasts: true, Divides: true, part: partNetwork, state: "cut off", silences: true,
		Value:  oneOf("clients", "", "from everybody", "it cannot be isolated from %q", "isolate=clients, or isolate alone to cut the node off from everybody", "clients"),
		Effect: "drops all packets of the node, or only those between it and assay; nothing answers for them",
		check:  checkNetwork,
		on: onPackets(func(t task) packetRule {
			rule := machine.Rule{Direction: machine.Both, Share: 1}
			if t.Value != nil {
				rule.Peers = []netip.Addr{t.cluster.Machines().Client()}
			}
			return packetRule{rule: rule}
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

// flaky drops a share of the packets of nodes, or between two sides, each packet at random.
func flaky() Action {
	return Action{Name: "flaky", Targets: append(serverTargets(), aPair), Lasts: true, Divides: true, part: partLoss, state: "losing packets",
		Value: newValue("SHARE", "a share above 0 and at most 1, such as 20% or 0.2", 0.2, parseShare,
			func(share float64) bool { return share > 0 && share <= 1 }, formatShare),
		Effect: "drops this share of the packets to and from the node, or between two sides, by chance",
		fits:   fitsPair,
		check:  checkNetwork,
		on: onPackets(func(t task) packetRule {
			return packetRule{rule: machine.Rule{Direction: machine.Both, Share: valueOf[float64](t.Fault)}}
		}),
		Pods: "drops this share of the packets that leave the pod (Chaos Mesh)",
		pods: podMeans{chaos: kubernetes.NetworkChaos, refuses: noPair, spec: func(f Fault, _ kubernetes.Pod) map[string]any {
			return map[string]any{"action": "loss", "loss": map[string]any{"loss": plain(valueOf[float64](f) * 100), "correlation": "0"}}
		}}}
}

func delay() Action {
	return Action{Name: "delay", Value: wait(100 * time.Millisecond), Targets: append(serverTargets(), aPair), Lasts: true, Divides: true, part: partLoss, state: "slowed",
		Effect: "has each packet to and from the node, or between two sides, take this much longer",
		fits:   fitsPair,
		check: func(f Fault, c *cluster.Cluster) error {
			err := checkNetwork(f, c)
			if err == nil {
				if err = machine.CanDelay(); err != nil {
					err = &UnavailableError{Action: f.Action, Reason: err.Error(), Instead: "use flaky or pause instead", Err: err}
				}
			}
			return err
		},
		on: onPackets(func(t task) packetRule {
			return packetRule{rule: machine.Rule{Direction: machine.Both, Share: 1}, by: valueOf[time.Duration](t.Fault)}
		}),
		Pods: "has every packet that leaves the pod take this much longer (Chaos Mesh)",
		pods: podMeans{chaos: kubernetes.NetworkChaos, refuses: noPair, spec: func(f Fault, _ kubernetes.Pod) map[string]any {
			latency := valueOf[time.Duration](f).String()
			return map[string]any{"action": "delay", "delay": map[string]any{"latency": latency, "correlation": "0", "jitter": "0ms"}}
		}}}
}

// noPair refuses two sides of pods.
func noPair(f Fault) (reason, instead string) {
	if all, _ := sides(f.Target); len(all) == 2 {
		return "it is done to all packets of a pod", "name one pod, or write partition for two"
	}
	return "", ""
}

func parseShare(text string) (float64, error) {
	digits, percent := strings.CutSuffix(text, "%")
	share, err := strconv.ParseFloat(digits, 64)
	if percent {
		share /= 100
	}
	return share, err
}

// formatShare writes percent only if reading it back gives the same share.
func formatShare(share float64) string {
	percent := plain(share*100) + "%"
	if back, err := parseShare(percent); err == nil && back == share {
		return percent
	}
	return plain(share)
}

// packetRule drops or delays packets of a node.
type packetRule struct {
	*cluster.Node
	rule machine.Rule
	// by is the delay; 0 means drop.
	by      time.Duration
	acquire acquirer
	// dial sends a packet that the rule matches, and connects once the rule is gone.
	dial func(context.Context) error

	// inForce is nil before inject.
	inForce interface {
		Packets() (int64, error)
		Remove() error
	}
}

// onPackets makes an action that applies a rule to the packets of each node, or between two sides.
func onPackets(rule func(task) packetRule) func(task) (injector, error) {
	return func(t task) (injector, error) {
		if len(t.cuts) > 0 {
			return t.ofCuts(rule(t), func(r *packetRule, _ []*cluster.Node) oneNode { return r })
		}
		return onEach(t.nodes, func(n *cluster.Node) oneNode {
			r := rule(t)
			r.Node, r.acquire, r.dial = n, t.acquire, func(ctx context.Context) error { return n.Dial(ctx, dialBound) }
			return &r
		}), nil
	}
}

// ofCuts makes an injector for each cut, with the rule for packets between its node and its peers.
func (t task) ofCuts(rule packetRule, one func(r *packetRule, peers []*cluster.Node) oneNode) (all together, err error) {
	for _, c := range t.cuts {
		nodes, err := t.find(append([]string{c.node}, c.from...)...)
		if err != nil {
			return nil, err
		}
		r, peers := rule, nodes[1:]
		if c.inOnly {
			r.rule.Direction = machine.In
		}
		r.rule.Peers = nil
		for _, p := range peers {
			r.rule.Peers = append(r.rule.Peers, p.Machine().Address())
		}
		r.Node, r.acquire, r.dial = nodes[0], t.acquire, fromPeers(nodes[0], peers)
		all = append(all, one(&r, peers))
	}
	return all, nil
}

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

func (r *packetRule) inject(context.Context) error {
	if r.by > 0 {
		delaying, err := r.Machine().Delay(r.rule, r.by)
		if err == nil {
			r.inForce = delaying
		}
		return err
	}
	dropping, err := r.Machine().Drop(r.rule)
	if err == nil {
		r.inForce = dropping
	}
	return err
}

// verify checks that the rule acted on packets. Without any, the last look sends some.
func (r *packetRule) verify(ctx context.Context, last bool) (observation, error) {
	packets, probed, err := r.count(ctx, last)
	what := "dropped"
	if r.by > 0 {
		what = "came " + quantity.Duration(r.by) + " later"
	}
	text := fmt.Sprintf("%d packets %s", packets, what)
	switch {
	case probed:
		text = fmt.Sprintf("nobody sent packets but us, %d %s", packets, what)
	case packets == 1:
		text = "1 packet " + what
	}
	return observation{proven: packets > 0, text: text}, err
}

// probes is how many probes are sent through a rule that has dropped nothing. Each is at least two
// packets, so that a rule of 1 % drops one with a probability of 1 - 0.99^200, 87 %.
const (
	probes     = 100
	probeBound = 200 * time.Millisecond
)

func (r *packetRule) count(ctx context.Context, probe bool) (packets int64, probed bool, err error) {
	if r.inForce == nil {
		return 0, false, errors.New("the rule was not put in force")
	}
	for range probes {
		packets, err = r.inForce.Packets()
		if err != nil || packets > 0 || !probe || ctx.Err() != nil {
			return packets, probed, err
		}
		probed = true
		bounded, cancel := context.WithTimeout(ctx, probeBound)
		_ = r.dial(bounded) // that it fails is the purpose
		cancel()
	}
	packets, err = r.inForce.Packets()
	return packets, probed, err
}

func (r *packetRule) undo(context.Context) error {
	if r.inForce == nil {
		return nil
	}
	if err := r.inForce.Remove(); err != nil {
		return err
	}
	r.inForce = nil
	return nil
}

func (r *packetRule) restore(ctx context.Context) (string, error) {
	text, err := awaitBack(ctx, r.Node, r.acquire, func() error {
		bounded, cancel := context.WithTimeout(ctx, dialBound)
		defer cancel()
		return r.dial(bounded)
	})
	return "the rule is gone, " + text, err
}

// fromPeers dials the node from the machines of all peers in turn. It succeeds if all do.
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

// dialHere makes its socket on the calling thread, which is in a peer's network namespace. A
// numeric address avoids a resolver on another thread.
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
