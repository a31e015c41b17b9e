package fault

import (
	"cmp"

	"assay/cluster"
	"assay/cluster/machine"
)

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
