package fault

import (
	"net/netip"

	"assay/cluster"
	"assay/cluster/machine"
)

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
