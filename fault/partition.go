package fault

import (
	"assay/cluster/machine"
)

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
