package report

import "strings"

// podTable shows the pods that the run was attached to.
func podTable(c *Cluster) Table {
	t := Table{Title: "Pods", Head: []string{"pod", "address", "machine", "memory", "processors", "volumes"}, Words: []int{0, 1, 2, 5}}
	for _, n := range c.Nodes {
		row := []string{n.Name, n.Address, n.Pod.Machine, "no limit", "no limit", "none"}
		if n.Memory > 0 {
			row[3] = size(n.Memory)
		}
		if n.CPU > 0 {
			row[4] = processors(n.CPU)
		}
		var volumes []string
		for _, v := range n.Pod.Volumes {
			volumes = append(volumes, strings.TrimSpace(v.Claim+" "+size(v.Bytes)+" "+v.Class))
		}
		if len(volumes) > 0 {
			row[5] = strings.Join(volumes, ", ")
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
