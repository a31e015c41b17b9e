package cluster

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"assay/cluster/machine"
	"assay/cluster/server"
)

// The roles of servers that stand beside a cluster's nodes: clients come through them, or
// they decide who is the primary. The only server of a role goes by the role's name, each of
// several by that and a number: dcs2.
const (
	// RolePooler shares connections, such as PgBouncer.
	RolePooler = "pooler"
	// RoleProxy leads clients to the node that is meant, such as HAProxy.
	RoleProxy = "proxy"
	// RoleDCS keeps who is the primary (distributed configuration store), such as etcd.
	RoleDCS = "dcs"
	// RoleMonitor watches the nodes and chooses the primary, as that of pg_auto_failover does.
	RoleMonitor = "monitor"
)

// Roles are all roles, in the order of lists.
func Roles() []string { return []string{RolePooler, RoleProxy, RoleDCS, RoleMonitor} }

// RoleOf is the role of the server of this name; empty for a node.
func RoleOf(name string) string {
	if role := strings.TrimRight(name, "0123456789"); slices.Contains(Roles(), role) {
		return role
	}
	return ""
}

// Decides reports whether servers of the role decide who is the primary.
func Decides(role string) bool { return role == RoleDCS || role == RoleMonitor }

// role is which servers of one role a product's clusters have.
type role struct {
	name string // one of Roles
	// count is how many there are in a cluster of this spec.
	count func(Spec) int
	// apart is true if each lives on a machine of its own, without the limits of the nodes;
	// else they are processes of this machine and have no network that can be cut.
	apart bool
	// example is a spec that has them.
	example string
}

// names are the servers' names in a cluster of this spec.
func (r role) names(s Spec) (all []string) {
	n := r.count(s)
	for i := range n {
		name := r.name
		if n > 1 {
			name += strconv.Itoa(i + 1)
		}
		all = append(all, name)
	}
	return all
}

// ExampleOf is a spec of a cluster that has servers of the role; empty if none can have any.
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
	// Beside are those servers, in the order of the topology's roles. Restart knows them by
	// numbers behind those of the nodes, in the same order.
	Beside() []*server.Node
}

// Member is a server of a cluster: a node, or one of a role beside the nodes.
type Member struct {
	Name, Role string
	Arbiter    bool
}

// Members are the servers that a cluster of this spec starts with.
func (s Spec) Members() (all []Member) {
	for i, name := range s.names() {
		all = append(all, Member{Name: name, Arbiter: i >= s.Nodes})
	}
	t, _ := topologyOf(s.Product)
	for _, r := range t.roles {
		for _, name := range r.names(s) {
			all = append(all, Member{Name: name, Role: r.name})
		}
	}
	return all
}

// numberOf is the number of the first server of a role in a cluster of this spec.
func (t topology) numberOf(s Spec, role string) int {
	n := s.Nodes + s.Arbiters
	for _, r := range t.roles {
		if r.name == role {
			break
		}
		n += r.count(s)
	}
	return n
}

// namesApart are the servers beside the nodes that live on machines of their own.
func (t topology) namesApart(s Spec) (all []string) {
	for _, r := range t.roles {
		if r.apart {
			all = append(all, r.names(s)...)
		}
	}
	return all
}

// machinesByRole are the machines of the nodes, and by their roles those of the servers beside
// them.
func (c *Cluster) machinesByRole() (nodes []*machine.Machine, beside map[string][]*machine.Machine) {
	beside = map[string][]*machine.Machine{}
	for _, m := range c.machines.All() {
		if role := RoleOf(m.Name()); role != "" {
			beside[role] = append(beside[role], m)
		} else {
			nodes = append(nodes, m)
		}
	}
	return nodes, beside
}

// enterBeside gives the servers beside the nodes their places.
func (c *Cluster) enterBeside(t topology) error {
	var servers []*server.Node
	if p, is := c.product.(accompanied); is {
		servers = p.Beside()
	}
	_, apart := c.machinesByRole()
	number := c.spec.Nodes + c.spec.Arbiters
	for _, r := range t.roles {
		at := apart[r.name]
		if !r.apart { // here, without limits
			here, err := machine.Loopback(machine.Options{ID: c.id, Names: r.names(c.spec)})
			if err != nil {
				return err
			}
			at = here.All()
		}
		if len(servers) < len(at) {
			return fmt.Errorf("%s has %d servers beside its nodes fewer than it was asked for", c.spec, len(at)-len(servers))
		}
		for i, m := range at {
			c.beside = append(c.beside, &Node{cluster: c, server: servers[i], machine: m, number: number + i})
		}
		servers, number = servers[len(at):], number+len(at)
	}
	return nil
}

// Servers are the Nodes, and the servers beside them.
func (c *Cluster) Servers() []*Node { return append(c.Nodes(), c.beside...) }
