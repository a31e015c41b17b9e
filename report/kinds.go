package report

import "assay/check"

// Kind sums up the operations of one kind.
type Kind struct {
	Name string `json:"kind"`
	Flow
}

func kindTable(kinds []Kind) Table {
	t := Table{Title: "Kinds of operations", Head: []string{"kind", "/s", "mean", "p50", "p95", "p99", "max", "not done"}}
	for _, k := range kinds {
		row := append([]string{k.Name, figure(k.PerSecond)}, times(k.Longest > 0, k.Mean, k.P50, k.P95, k.P99, k.Longest)...)
		t.Rows = append(t.Rows, append(row, check.Count(k.Outcomes.Total()-k.Outcomes.Committed)))
	}
	return t
}
