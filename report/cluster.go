package report

import (
	"slices"

	"assay/internal/quantity"
)

// Cluster describes the servers started for the run, or the pods that it was attached to.
type Cluster struct {
	Spec string `json:"spec"`
	// Network is "own", or why the nodes use loopback.
	Network      string        `json:"network"`
	StartSeconds float64       `json:"start_s"`
	Nodes        []ClusterNode `json:"nodes"`
	// Beside lists servers that clients came through or that chose the primary.
	Beside []BesideServer `json:"beside,omitempty"`
	// Pooler and Proxy are null if assay started none.
	Pooler *Pooler `json:"pooler,omitempty"`
	Proxy  *Proxy  `json:"proxy,omitempty"`
	// TookOver takes writes at the end, though no fault was seen to cause that; empty otherwise.
	TookOver string `json:"took_over,omitempty"`
	// Events are the cluster's own acts, such as restarting a group.
	Events []ClusterEvent `json:"events"`
	// Settled says how long after the last fault all nodes were equal, or what prevented it.
	Settled string `json:"settled"`
	// TwoPrimaries is true if two nodes took writes at the end; Settled names the second.
	TwoPrimaries bool `json:"two_primaries,omitempty"`
}

// Pooler is the connection pooler between the clients and the primary.
type Pooler struct {
	// Program is its name and version, such as PgBouncer 1.18.0; Address is host:port.
	Program string `json:"program"`
	Address string `json:"address"`
	// Mode is how long a client keeps a connection: a transaction or a session.
	Mode        string `json:"mode"`
	Connections int    `json:"connections"`
}

// Proxy sent clients to the node that took writes.
type Proxy struct {
	// Program is its name and version, such as HAProxy 2.6.12; Address is host:port.
	Program string `json:"program"`
	Address string `json:"address"`
	Check   string `json:"check"`
}

// BesideServer is a server beside the nodes, without limits.
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
	// Bandwidth holds each way.
	Bandwidth int64 `json:"network_limit_bits_per_second,omitempty"`
	Pod       *Pod  `json:"pod,omitempty"`
}

// Pod is a node of Kubernetes.
type Pod struct {
	// Machine is the Kubernetes node at the start of the run.
	Machine string `json:"machine,omitempty"`
	// CPURequest and MemoryRequest are reserved for it; 0 is nothing.
	CPURequest    float64     `json:"cpu_request"`
	MemoryRequest int64       `json:"memory_request_bytes"`
	Volumes       []PodVolume `json:"volumes"`
}

// PodVolume is a volume that outlives the pod.
type PodVolume struct {
	Claim string `json:"claim"`
	// Class is its storage class; Bytes is 0 if unknown.
	Class string `json:"class,omitempty"`
	Bytes int64  `json:"bytes"`
}

// ClusterEvent is something that the cluster did by itself.
type ClusterEvent struct {
	Second float64 `json:"at_s"`
	Text   string  `json:"text"`
}

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

func eventTable(c *Cluster) Table {
	t := Table{Title: "What the cluster did by itself", Head: []string{"at", "what"}, Words: []int{1}}
	for _, e := range c.Events {
		t.Rows = append(t.Rows, []string{seconds(e.Second), e.Text})
	}
	return t
}
