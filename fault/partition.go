package fault

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"assay/cluster"
	"assay/cluster/kubernetes"
	"assay/cluster/machine"
)

const (
	// shapeHalves separates a minority, chosen by the seed, from the others.
	shapeHalves = "halves"
	// shapeOne separates one node, if possible the primary, from the others.
	shapeOne = "one"
	// shapeRing leaves each node its two neighbours, in the order of the names.
	shapeRing = "ring"
	// shapeOneway lets packets of one node, if possible the primary, reach the others, but none of
	// theirs reach it.
	shapeOneway = "oneway"
)

// partition cuts nodes off from other nodes. assay still reaches all of them.
func partition() Action {
	return Action{Name: "partition", Targets: []string{shapeHalves, shapeOne, shapeRing, shapeOneway, aPair}, Lasts: true, Divides: true, part: partNetwork, state: "cut off",
		Effect: "drops packets between nodes, of all or of two sides; clients reach all of them, and the other nodes see both sides",
		choose: choosePartition,
		fits:   fitsShape,
		check:  checkNetwork,
		on:     partitionServers,
		Pods:   "drops packets between pods (Chaos Mesh)",
		pods:   podMeans{chaos: kubernetes.NetworkChaos}}
}

func fitsShape(f Fault, members []member) error {
	least, nodes := leastNodes(f.Target), len(ofRole("", members))
	all, _ := sides(f.Target)
	if slices.ContainsFunc(all, func(s side) bool { return s.role != "" }) {
		return nil // one side is of other servers
	}
	if len(all) == 2 && all[0].word == TargetSecondary && all[1] == all[0] {
		least++ // the primary is on no side
	}
	if nodes >= least {
		return nil
	}
	return &TargetError{Fault: f, Problem: fmt.Sprintf("with %d nodes it parts nobody", nodes),
		Want: fmt.Sprintf("at least %d nodes, or another shape", least)}
}

func fitsPair(f Fault, members []member) error {
	if all, _ := sides(f.Target); len(all) == 2 {
		return fitsShape(f, members)
	}
	return nil
}

func partitionServers(t task) (injector, error) {
	third := slices.DeleteFunc(t.cluster.Nodes(), func(n *cluster.Node) bool { return slices.Contains(t.affected(), n.Name()) })
	rule := packetRule{rule: machine.Rule{Direction: machine.Both, Share: 1}}
	return t.ofCuts(rule, func(r *packetRule, peers []*cluster.Node) oneNode {
		return &cutNode{packetRule: r, peers: peers, third: third}
	})
}

func choosePartition(shape string, members []member, primary string, random *rand.Rand) (choice, error) {
	all := names(ofRole("", members))
	if pair, oneway := sides(shape); len(pair) == 2 {
		return choosePair(pair, oneway, members, primary, random)
	}
	if len(all) < leastNodes(shape) {
		return choice{}, fmt.Errorf("partition %s takes at least %d nodes", shape, leastNodes(shape))
	}
	single := primary
	if single == "" {
		single = all[random.IntN(len(all))]
	}
	switch shape {
	case shapeHalves:
		var few []string
		for _, i := range random.Perm(len(all))[:len(all)/2] {
			few = append(few, all[i])
		}
		return parted(all, few), nil
	case shapeOne:
		return parted(all, []string{single}), nil
	case shapeOneway:
		others := without(all, []string{single})
		return choice{nodes: []string{single}, cuts: []cut{{node: single, from: others, inOnly: true}},
			detail: fmt.Sprintf("%s hears nothing of %s, but is heard", single, strings.Join(others, ", "))}, nil
	case shapeRing:
		return ring(all), nil
	}
	return choice{}, fmt.Errorf("there is no partition %s", shape)
}

// leastNodes is the fewest nodes that a shape can separate.
func leastNodes(shape string) int {
	if shape == shapeRing {
		return 4 // of three, each is the others' neighbour
	}
	return 2
}

func parted(all, few []string) choice {
	others := without(all, few)
	var c choice
	for _, name := range all { // in the order of the names
		if slices.Contains(few, name) {
			c.nodes = append(c.nodes, name)
			c.cuts = append(c.cuts, cut{node: name, from: others})
		}
	}
	c.detail = strings.Join(c.nodes, ", ") + " | " + strings.Join(others, ", ")
	return c
}

func ring(all []string) choice {
	c := choice{nodes: all, detail: "only neighbours see each other: " + strings.Join(all, " - ") + " - " + all[0]}
	for i, name := range all {
		neighbours := []string{name, all[(i+1)%len(all)], all[(i+len(all)-1)%len(all)]}
		c.cuts = append(c.cuts, cut{node: name, from: without(all, neighbours)})
	}
	return c
}

// choosePair separates two sides or, with oneway, has the second hear nothing of the first. Named
// nodes are chosen first; all means the remaining nodes.
func choosePair(pair []side, oneway bool, members []member, primary string, random *rand.Rand) (choice, error) {
	rank := func(s side) int {
		switch {
		case s.named || s.word == TargetPrimary:
			return 0
		case s.word == TargetAll:
			return 2
		}
		return 1
	}
	order := []int{0, 1}
	if rank(pair[1]) < rank(pair[0]) {
		order = []int{1, 0}
	}
	var chosen [2][]string
	left := members
	for _, i := range order {
		nodes, err := pair[i].choose(left, primary, random)
		if err == nil && len(nodes) == 0 {
			err = fmt.Errorf("there is no node to choose as %s", pair[i].word)
		}
		if err != nil {
			return choice{}, err
		}
		if other := chosen[1-i]; slices.ContainsFunc(nodes, func(n string) bool { return slices.Contains(other, n) }) {
			return choice{}, fmt.Errorf("%s is on both sides, and cannot be parted from itself", joined(nodes))
		}
		chosen[i] = nodes
		left = slices.DeleteFunc(slices.Clone(left), func(m member) bool { return slices.Contains(nodes, m.name) && rank(pair[1-i]) > 0 })
	}
	from, to := chosen[0], chosen[1]
	c := choice{detail: joined(from) + " | " + joined(to)}
	if oneway {
		c.detail = joined(to) + " hears nothing of " + joined(from) + ", but is heard"
	}
	deaf, mute := from, to
	if oneway {
		deaf, mute = to, from
	}
	for _, name := range deaf {
		c.cuts = append(c.cuts, cut{node: name, from: mute, inOnly: oneway})
	}
	for _, m := range members {
		on := func(i int) bool {
			return (pair[i].word != TargetAll || pair[i].role != "") && slices.Contains(chosen[i], m.name)
		}
		if on(0) || on(1) || pair[0].word == pair[1].word && slices.Contains(from, m.name) {
			c.nodes = append(c.nodes, m.name)
		}
	}
	return c, nil
}

// cutNode is a node cut off from peers. third are on neither side.
type cutNode struct {
	*packetRule
	peers, third []*cluster.Node
}

// verify checks that packets were dropped and, at the last look, that the node and its peers cannot
// connect. Whether the others see both is reported but is no proof: another fault may cut them off.
func (n *cutNode) verify(ctx context.Context, last bool) (observation, error) {
	seen, err := n.packetRule.verify(ctx, last)
	if err != nil || !last {
		return seen, err
	}
	parted, err := observeEach(n.peers, func(peer *cluster.Node) (observation, error) {
		there, back := reach(ctx, n.Node, peer, probeBound), reach(ctx, peer, n.Node, probeBound)
		if there == nil || back == nil {
			return observation{text: "connects with it all the same"}, nil
		}
		return observation{proven: true, text: "does not connect with it"}, nil
	})
	if err != nil {
		return seen, err
	}
	others, err := describeEach(n.third, func(third *cluster.Node) (string, error) {
		for _, to := range append([]*cluster.Node{n.Node}, n.peers...) {
			if err := reach(ctx, third, to, dialBound); err != nil && to.Running() {
				return "does not connect with " + to.Name() + ": " + err.Error(), nil
			}
		}
		return "connects with both sides", nil
	})
	seen.proven = seen.proven && parted.proven
	seen.text = strings.Join(slices.DeleteFunc([]string{seen.text, parted.text, others}, func(t string) bool { return t == "" }), "; ")
	return seen, err
}

func reach(ctx context.Context, from, to *cluster.Node, bound time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	return from.Machine().Run(func() error { return dialHere(ctx, to) })
}
