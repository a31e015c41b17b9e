package fault

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// member is a node as far as the choice goes.
type member struct {
	name    string
	role    string // of a server beside the nodes; empty for a node
	arbiter bool
	primary bool              // as far as that is known
	labels  map[string]string // of a pod
}

// Name implements named.
func (m member) Name() string { return m.name }

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
	seed uint64
	// start is time zero of the schedule.
	start  time.Time
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

// cutNodes are the nodes of cuts.
func cutNodes(cuts []cut) (all []string) {
	for _, c := range cuts {
		all = append(all, c.node)
	}
	return all
}

// ofRole are the members of a role, those of the empty one the nodes.
func ofRole(role string, members []member) []member {
	return slices.DeleteFunc(slices.Clone(members), func(m member) bool { return m.role != role })
}

// marked are the members, of which these are the primaries.
func marked(members []member, primaries []string) []member {
	members = slices.Clone(members)
	for i := range members {
		members[i].primary = slices.Contains(primaries, members[i].name)
	}
	return members
}

// primaries are the names of the nodes that take writes.
func primaries(members []member) (all []string) {
	for _, m := range members {
		if m.primary {
			all = append(all, m.name)
		}
	}
	return all
}

// holders are the names of the nodes that hold data.
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
