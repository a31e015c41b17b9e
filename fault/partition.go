package fault

import (
	"assay/cluster/machine"
)

// separate cuts nodes off from other nodes; assay still reaches all of them.
func separate(s servers, cuts []cut, take taker) (deed, error) {
	d := &dropping{take: take}
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
		d.rules = append(d.rules, &dropRule{node: node[0], rule: rule, dial: fromPeers(node[0], peers)})
	}
	return d, nil
}
