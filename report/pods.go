package report

import (
	"cmp"
	"strings"
)

func podTable(c *Cluster) Table {
	t := Table{Title: "Pods", Head: []string{"pod", "address", "machine", "memory", "processors", "volumes"}, Words: []int{0, 1, 2, 5}}
	for _, n := range c.Nodes {
		var volumes []string
		for _, v := range n.Pod.Volumes {
			volumes = append(volumes, strings.TrimSpace(v.Claim+" "+size(v.Bytes)+" "+v.Class))
		}
		t.Rows = append(t.Rows, []string{n.Name, n.Address, n.Pod.Machine, limited(n.Memory > 0, size(n.Memory)),
			limited(n.CPU > 0, processors(n.CPU)), cmp.Or(strings.Join(volumes, ", "), "none")})
	}
	return t
}
