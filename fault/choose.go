package fault

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// member is a node or a server beside the nodes.
type member struct {
	name    string
	role    string // of a server beside the nodes; empty for a node
	arbiter bool
	primary bool              // as far as that is known
	labels  map[string]string // of a pod
}

func (m member) Name() string { return m.name }

// cut drops one node's packets from the nodes in from and, without inOnly, to them.
type cut struct {
	node   string
	from   []string
	inOnly bool
}

type choice struct {
	// seed is for the fault's own random choices.
	seed   uint64
	start  time.Time
	nodes  []string
	cuts   []cut // of a partition
	detail string
}

// affected are the nodes that a fault is done to, and those that a partition separates them from.
func (c choice) affected() []string {
	all := slices.Clone(c.nodes)
	for _, cut := range c.cuts {
		all = append(all, without(cut.from, all)...)
	}
	return all
}

// randomness returns the source of one occurrence's choices. Each occurrence has its own, so that
// their order does not matter.
func randomness(seed uint64, o Occurrence) *rand.Rand {
	return rand.New(rand.NewPCG(seed, uint64(o.Fault)<<32|uint64(o.Round)))
}

// choose picks the nodes. primary is empty if there is none or it is unknown.
func choose(f Fault, members []member, primary string, random *rand.Rand) (choice, error) {
	if a, _ := Lookup(f.Action); a.choose != nil {
		return a.choose(f.Target, members, primary, random)
	}
	all, oneway := sides(f.Target)
	switch len(all) {
	case 1:
	case 2:
		c, err := choosePair(all, oneway, members, primary, random)
		if oneway && err == nil {
			c.detail = "what " + joined(c.cuts[0].from) + " sends to " + joined(cutNodes(c.cuts))
		}
		return c, err
	default:
		return choice{}, fmt.Errorf("%s knows no target %q", f.Action, f.Target)
	}
	nodes, err := all[0].choose(members, primary, random)
	return choice{nodes: nodes}, err
}

func cutNodes(cuts []cut) (all []string) {
	for _, c := range cuts {
		all = append(all, c.node)
	}
	return all
}

// ofRole are the members of a role. The empty role means the nodes.
func ofRole(role string, members []member) []member {
	return slices.DeleteFunc(slices.Clone(members), func(m member) bool { return m.role != role })
}

// marked returns the members with these marked as primaries.
func marked(members []member, primaries []string) []member {
	members = slices.Clone(members)
	for i := range members {
		members[i].primary = slices.Contains(primaries, members[i].name)
	}
	return members
}

func primaries(members []member) (all []string) {
	for _, m := range members {
		if m.primary {
			all = append(all, m.name)
		}
	}
	return all
}

func holders(members []member) (all []string) {
	for _, m := range members {
		if !m.arbiter {
			all = append(all, m.name)
		}
	}
	return all
}

func names[N named](nodes []N) (all []string) {
	for _, n := range nodes {
		all = append(all, n.Name())
	}
	return all
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
