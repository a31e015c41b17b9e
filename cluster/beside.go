package cluster

import (
	"fmt"
	"slices"

	"assay/cluster/machine"
	"assay/cluster/server"
)

// RolePooler is the role of a server beside a cluster's nodes that shares connections, such as
// PgBouncer. A server beside the nodes goes by its role's name.
const RolePooler = "pooler"

// Roles are all roles, in the order of lists.
func Roles() []string { return []string{RolePooler} }

// RoleOf is the role of the server of this name; empty for a node.
func RoleOf(name string) string {
	if slices.Contains(Roles(), name) {
		return name
	}
	return ""
}

// role is a server beside the nodes that a product's clusters may have. It is a process of this
// machine, without the limits of the nodes and without a network that can be cut.
type role struct {
	name string // one of Roles
	// present reports whether a cluster of this spec has it.
	present func(Spec) bool
	// example is a spec that has it.
	example string
}

// ExampleOf is a spec of a cluster that has a server of the role; empty if none can have one.
func ExampleOf(role string) string {
	for _, name := range Products() {
		t, _ := topologyOf(name)
		for _, r := range t.roles {
			if r.name == role {
				return r.example
			}
		}
	}
	return ""
}

// accompanied is a product with servers beside its nodes.
type accompanied interface {
	product
	// Beside are those servers, in the order of the topology's roles. They have the numbers
	// behind those of the nodes, in the same order, by which Restart knows them.
	Beside() []*server.Node
}

// enterBeside gives the servers beside the nodes their places.
func (c *Cluster) enterBeside(t topology) error {
	var servers []*server.Node
	if p, is := c.product.(accompanied); is {
		servers = p.Beside()
	}
	for _, r := range t.roles {
		if !r.present(c.spec) {
			continue
		}
		here, err := machine.Loopback(machine.Options{ID: c.id, Names: []string{r.name}})
		if err != nil {
			return err
		}
		if len(servers) == 0 {
			return fmt.Errorf("%s was started without its %s", c.spec, r.name)
		}
		c.beside = append(c.beside, &Node{cluster: c, server: servers[0], machine: here.All()[0]})
		servers = servers[1:]
	}
	return nil
}

// Servers are the Nodes, and the servers beside them.
func (c *Cluster) Servers() []*Node { return append(c.Nodes(), c.beside...) }
