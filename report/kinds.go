package report

import "assay/check"

// Kind is what the operations of one kind came to.
type Kind struct {
	// Name is the kind's, such as read.
	Name string `json:"kind"`
	Flow
}

// kindTable shows the kinds of operations one below the other.
func kindTable(kinds []Kind) Table {
	t := Table{Title: "Kinds of operations", Head: []string{"kind", "/s", "mean", "p50", "p95", "p99", "max", "not done"}}
	for _, k := range kinds {
		row := []string{k.Name, figure(k.PerSecond), none, none, none, none, none, check.Count(k.Outcomes.Total() - k.Outcomes.Committed)}
		if k.Longest > 0 {
			copy(row[2:], []string{millis(k.Mean), millis(k.P50), millis(k.P95), millis(k.P99), millis(k.Longest)})
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
