package fault

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"assay/cluster/kubernetes"
	"assay/cluster/machine"
)

// The shapes of a partition.
const (
	// shapeHalves parts a minority, chosen by the seed, from the others.
	shapeHalves = "halves"
	// shapeOne parts one node from the others: the primary if there is one.
	shapeOne = "one"
	// shapeRing leaves each node its two neighbours, in the order of the names.
	shapeRing = "ring"
	// shapeOneway lets the packets of one node out to the others, and none of
	// theirs in: the primary's if there is one.
	shapeOneway = "oneway"
)

// partition cuts nodes off from other nodes; assay still reaches all of them.
func partition() Action {
	return Action{Name: "partition", Targets: []string{shapeHalves, shapeOne, shapeRing, shapeOneway}, Lasts: true, Divides: true, part: partNetwork, state: "cut off",
		Effect: "drops packets between nodes; clients reach all of them",
		choose: choosePartition,
		fits: func(f Fault, members []member) error {
			least := leastNodes(f.Target)
			if len(members) >= least {
				return nil
			}
			return &TargetError{Fault: f, Problem: fmt.Sprintf("with %d nodes it parts nobody", len(members)),
				Want: fmt.Sprintf("at least %d nodes, or another shape", least)}
		},
		check: checkNetwork,
		on:    partitionServers,
		Pods:  "drops packets between pods (Chaos Mesh)",
		pods:  podMeans{chaos: kubernetes.NetworkChaos}}
}

func partitionServers(t task) (injector, error) {
	var all together
	for _, c := range t.cuts {
		nodes, err := t.find(append([]string{c.node}, c.from...)...)
		if err != nil {
			return nil, err
		}
		node, peers := nodes[0], nodes[1:]
		rule := machine.Rule{Direction: machine.Both, Share: 1}
		if c.inOnly {
			rule.Direction = machine.In
		}
		for _, p := range peers {
			rule.Peers = append(rule.Peers, p.Machine().Address())
		}
		all = append(all, &dropRule{Node: node, rule: rule, acquire: t.acquire, dial: fromPeers(node, peers)})
	}
	return all, nil
}

// choosePartition chooses who is parted from whom.
func choosePartition(shape string, all []string, primary string, random *rand.Rand) (choice, error) {
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

// leastNodes is how many nodes a partition needs to part any.
func leastNodes(shape string) int {
	if shape == shapeRing {
		return 4 // of three, each is the others' neighbour
	}
	return 2
}

// parted cuts few off from the others.
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
