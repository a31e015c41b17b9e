package fault

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// member is a node as far as the choice goes.
type member struct {
	name    string
	arbiter bool
}

// cut is one node's packets that are dropped: those from the nodes in from, and
// those to them unless only the incoming ones are meant.
type cut struct {
	node   string
	from   []string
	inOnly bool
}

// choice is what a fault is to be done to.
type choice struct {
	// seed is for what the fault itself leaves to chance.
	seed   uint64
	nodes  []string
	cuts   []cut // of a partition
	detail string
}

// affected are the nodes that a fault acts on: those that it is done to,
// and those that a partition parts them from.
func (c choice) affected() []string {
	all := slices.Clone(c.nodes)
	for _, cut := range c.cuts {
		all = append(all, without(cut.from, all)...)
	}
	return all
}

// randomness returns the source of one occurrence's choices. Each occurrence
// has its own, so that the order in which they are made does not matter.
func randomness(seed uint64, o Occurrence) *rand.Rand {
	return rand.New(rand.NewPCG(seed, uint64(o.Fault)<<32|uint64(o.Round)))
}

// choose picks the nodes. primary is the one that takes writes, empty if there
// is none or nobody knows.
func choose(f Fault, members []member, primary string, random *rand.Rand) (choice, error) {
	if f.Action == Partition {
		return partition(f.Target, names(members), primary, random)
	}
	var withData []string
	for _, m := range members {
		if !m.arbiter {
			withData = append(withData, m.name)
		}
	}
	switch f.Target {
	case TargetCluster:
		return choice{}, nil
	case TargetAll:
		return choice{nodes: names(members)}, nil
	case TargetPrimary:
		if primary == "" {
			return choice{}, errors.New("there is no primary")
		}
		return choice{nodes: []string{primary}}, nil
	case TargetSecondary:
		if primary == "" {
			return choice{}, errors.New("there is no primary, and so no secondary")
		}
		withData = slices.DeleteFunc(withData, func(name string) bool { return name == primary })
		fallthrough
	case TargetAny:
		if len(withData) == 0 {
			return choice{}, fmt.Errorf("there is no node to choose as %s", f.Target)
		}
		return choice{nodes: []string{withData[random.IntN(len(withData))]}}, nil
	}
	if !slices.Contains(names(members), f.node()) {
		return choice{}, fmt.Errorf("there is no node %s", f.node())
	}
	return choice{nodes: []string{f.node()}}, nil
}

// node is the target as a node's name.
func (f Fault) node() string { return strings.TrimPrefix(f.Target, PodPrefix) }

func names(members []member) []string {
	var all []string
	for _, m := range members {
		all = append(all, m.name)
	}
	return all
}

// partition chooses who is parted from whom.
func partition(shape string, all []string, primary string, random *rand.Rand) (choice, error) {
	if len(all) < leastNodes(shape) {
		return choice{}, fmt.Errorf("partition %s takes at least %d nodes", shape, leastNodes(shape))
	}
	single := primary
	if single == "" {
		single = all[random.IntN(len(all))]
	}
	switch shape {
	case ShapeHalves:
		var few []string
		for _, i := range random.Perm(len(all))[:len(all)/2] {
			few = append(few, all[i])
		}
		return parted(all, few), nil
	case ShapeOne:
		return parted(all, []string{single}), nil
	case ShapeOneway:
		others := without(all, []string{single})
		return choice{nodes: []string{single}, cuts: []cut{{node: single, from: others, inOnly: true}},
			detail: fmt.Sprintf("%s hears nothing of %s, but is heard", single, strings.Join(others, ", "))}, nil
	case ShapeRing:
		return ring(all), nil
	}
	return choice{}, fmt.Errorf("there is no partition %s", shape)
}

// leastNodes is how many nodes a partition needs to part any.
func leastNodes(shape string) int {
	if shape == ShapeRing {
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

func without(all, some []string) []string {
	var rest []string
	for _, name := range all {
		if !slices.Contains(some, name) {
			rest = append(rest, name)
		}
	}
	return rest
}
