package compare

import (
	"cmp"
	"strconv"

	"assay/check"
	"assay/internal/quantity"
	"assay/report"
)

// facts are columns that are no metrics: what a configuration ran on and with.
func facts() map[string]func(*report.Result) string {
	known := func(get func(*report.Database) *int) func(*report.Result) string {
		return func(r *report.Result) string { return quantity.Known(get(&r.Database), strconv.Itoa) }
	}
	return map[string]func(*report.Result) string{
		"database":  func(r *report.Result) string { return r.Database.Product + " " + r.Database.Version },
		"cluster":   spec,
		"settings":  func(r *report.Result) string { return cmp.Or(report.Pairs(r.Database.Settings, ", "), quantity.None) },
		"nodes":     known(func(d *report.Database) *int { return d.Nodes }),
		"shards":    known(func(d *report.Database) *int { return d.Shards }),
		"replicas":  known(func(d *report.Database) *int { return d.Replicas }),
		"vcpu":      func(r *report.Result) string { return quantity.Known(r.Database.CPUsPerNode, quantity.Short) },
		"ram":       func(r *report.Result) string { return quantity.Known(r.Database.MemoryPerNode, quantity.Memory) },
		"disk":      func(r *report.Result) string { return quantity.Known(r.Database.DiskPerNode, quantity.Memory) },
		"bandwidth": func(r *report.Result) string { return quantity.Known(bandwidth(r), quantity.FormatBits) },
		"clients":   func(r *report.Result) string { return strconv.Itoa(r.Load.Clients) },
		"loaded":    func(r *report.Result) string { return check.Count(r.Loading.Rows) },
	}
}

func spec(r *report.Result) string {
	if r.Cluster == nil {
		return quantity.None
	}
	return r.Cluster.Spec
}

// bandwidth is in bits a second; nil if there is no limit.
func bandwidth(r *report.Result) *int64 {
	if r.Cluster == nil || len(r.Cluster.Nodes) == 0 || r.Cluster.Nodes[0].Bandwidth == 0 {
		return nil
	}
	return &r.Cluster.Nodes[0].Bandwidth
}
