package report

import (
	"slices"

	"assay/internal/quantity"
)

// Cluster is the servers that were started for the run, or the pods that it was
// attached to.
type Cluster struct {
	Spec string `json:"spec"`
	// Network describes where the nodes live: "own", or why it is loopback.
	Network string `json:"network"`
	// StartSeconds is how long it took to start until it took work.
	StartSeconds float64       `json:"start_s"`
	Nodes        []ClusterNode `json:"nodes"`
	// Beside are the servers beside the nodes: what clients came through, and what decided who
	// was the primary.
	Beside []BesideServer `json:"beside,omitempty"`
	// Pooler is null where clients reach the nodes without one of assay's.
	Pooler *Pooler `json:"pooler,omitempty"`
	// Proxy is null where clients reach the nodes without one of assay's.
	Proxy *Proxy `json:"proxy,omitempty"`
	// TookOver is the node that takes writes in the end, if no fault was seen to bring it: it came
	// without one, or after one was over. Empty else.
	TookOver string `json:"took_over,omitempty"`
	// Events are what the cluster did by itself, such as beginning a group anew.
	Events []ClusterEvent `json:"events"`
	// Settled describes how long after the last fault all nodes held the same data
	// again, or what stood in the way.
	Settled string `json:"settled"`
	// TwoPrimaries is true if a node took writes in the end beside the primary; Settled names it.
	TwoPrimaries bool `json:"two_primaries,omitempty"`
}

// Pooler is the connection pooler that stood between the clients and the primary.
type Pooler struct {
	// Program is its name and version, such as PgBouncer 1.18.0; Address is host:port.
	Program string `json:"program"`
	Address string `json:"address"`
	// Mode is for how long a client has a connection: a transaction or a session.
	Mode string `json:"mode"`
	// Connections is how many there are to the primary at most.
	Connections int `json:"connections"`
}

// Proxy is what stood between the clients and the nodes and sent them to the one that took
// writes.
type Proxy struct {
	// Program is its name and version, such as HAProxy 2.6.12; Address is host:port.
	Program string `json:"program"`
	Address string `json:"address"`
	// Check is what it asked the nodes.
	Check string `json:"check"`
}

// BesideServer is one server beside the nodes. It has no limits.
type BesideServer struct {
	Name string `json:"name"`
	// Role is pooler, proxy, dcs or monitor.
	Role    string `json:"role"`
	Address string `json:"address"`
}

// ClusterNode is one node; limits of 0 are none.
type ClusterNode struct {
	Name      string  `json:"name"`
	Address   string  `json:"address"`
	Arbiter   bool    `json:"arbiter,omitempty"`
	Memory    int64   `json:"memory_limit_bytes"`
	CPU       float64 `json:"cpu_limit"`
	DiskWrite int64   `json:"disk_write_limit_bytes_per_second"`
	// Bandwidth is of its link, each way.
	Bandwidth int64 `json:"network_limit_bits_per_second,omitempty"`
	// Pod has what a node that is a pod was given beside its limits; null for others.
	Pod *Pod `json:"pod,omitempty"`
}

// Pod is a node of Kubernetes.
type Pod struct {
	// Machine is the Kubernetes node that it ran on when the run began.
	Machine string `json:"machine,omitempty"`
	// CPURequest and MemoryRequest are set aside for it; 0 is nothing.
	CPURequest    float64     `json:"cpu_request"`
	MemoryRequest int64       `json:"memory_request_bytes"`
	Volumes       []PodVolume `json:"volumes"`
}

// PodVolume is a volume that outlives the pod.
type PodVolume struct {
	Claim string `json:"claim"`
	// Class is its storage class; Bytes 0 is not known.
	Class string `json:"class,omitempty"`
	Bytes int64  `json:"bytes"`
}

// ClusterEvent is one thing that the cluster did by itself.
type ClusterEvent struct {
	Second float64 `json:"at_s"`
	Text   string  `json:"text"`
}

// clusterTable shows the servers that were started for the run.
func clusterTable(c *Cluster) Table {
	if len(c.Nodes) > 0 && c.Nodes[0].Pod != nil {
		return podTable(c)
	}
	t := Table{Title: "Nodes", Head: []string{"node", "address", "memory", "processors", "disk writes"}, Words: []int{0, 1}}
	for _, n := range c.Nodes {
		t.Rows = append(t.Rows, []string{n.Name + when(n.Arbiter, " (arbiter)"), n.Address, limited(n.Memory > 0, size(n.Memory)),
			limited(n.CPU > 0, processors(n.CPU)), limited(n.DiskWrite > 0, size(n.DiskWrite)+"/s")})
	}
	if slices.ContainsFunc(c.Nodes, func(n ClusterNode) bool { return n.Bandwidth > 0 }) {
		t.Head = append(t.Head, "network, each way")
		for i, n := range c.Nodes {
			t.Rows[i] = append(t.Rows[i], limited(n.Bandwidth > 0, quantity.FormatBits(n.Bandwidth)+"/s"))
		}
	}
	for _, s := range c.Beside {
		row := []string{s.Name, s.Address}
		for range t.Head[len(row):] {
			row = append(row, limited(false, ""))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// eventTable shows what the cluster did by itself.
func eventTable(c *Cluster) Table {
	t := Table{Title: "What the cluster did by itself", Head: []string{"at", "what"}, Words: []int{1}}
	for _, e := range c.Events {
		t.Rows = append(t.Rows, []string{seconds(e.Second), e.Text})
	}
	return t
}
