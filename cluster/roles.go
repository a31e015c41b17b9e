package cluster

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"assay/cluster/machine"
	"assay/cluster/server"
)

// Roles of servers beside a cluster's nodes: clients connect through them, or they choose the
// primary. A single server of a role has the role's name; several have a number too (dcs2).
const (
	// RolePooler shares connections, such as PgBouncer.
	RolePooler = "pooler"
	// RoleProxy leads clients to the right node, such as HAProxy.
	RoleProxy = "proxy"
	// RoleDCS records who is the primary (distributed configuration store), such as etcd.
	RoleDCS = "dcs"
	// RoleMonitor watches the nodes and chooses the primary, as pg_auto_failover's monitor does.
	RoleMonitor = "monitor"
)

// Roles lists all roles in the order for display.
func Roles() []string { return []string{RolePooler, RoleProxy, RoleDCS, RoleMonitor} }

// RoleOf returns the role of a server by its name; empty for a node.
func RoleOf(name string) string {
	if role := strings.TrimRight(name, "0123456789"); slices.Contains(Roles(), role) {
		return role
	}
	return ""
}

// Decides reports whether servers of the role choose the primary.
func Decides(role string) bool { return role == RoleDCS || role == RoleMonitor }

type role struct {
	name  string // one of Roles
	count func(Spec) int
	// apart is true if each has a machine of its own, without the limits of the nodes. Otherwise
	// they are processes of this machine and their network cannot be cut.
	apart bool
	// example is a spec with such servers.
	example string
}

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

// ExampleOf returns a spec with servers of the role; empty if no product has any.
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

type accompanied interface {
	product
	// Beside are the servers beside the nodes in the order of the roles, and of Restart's numbers.
	Beside() []*server.Node
}

// Member is a node or a server beside the nodes.
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

func (t topology) namesApart(s Spec) (all []string) {
	for _, r := range t.roles {
		if r.apart {
			all = append(all, r.names(s)...)
		}
	}
	return all
}

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

// Servers are the Nodes and the servers beside them.
func (c *Cluster) Servers() []*Node { return append(c.Nodes(), c.beside...) }
