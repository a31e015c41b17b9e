package cluster

import (
	"assay/cluster/machine"
)

// where is one node's place in the network.
type where struct {
	machine *machine.Machine // nil: here
	host    string
	port    int
}

// placeNode is the place of node i: on its machine, with the product's usual
// port if the machine has an address of its own, else a free one on 127.0.0.1.
func placeNode(machines []*machine.Machine, i int, ports *Ports, usual int) (where, error) {
	w := where{host: "127.0.0.1", port: usual}
	if i < len(machines) {
		w.machine = machines[i]
		w.host = w.machine.Address().String()
	}
	if w.machine != nil && !w.machine.Address().IsLoopback() {
		return w, nil
	}
	var err error
	w.port, err = ports.Next()
	return w, err
}
