package compare

import (
	"encoding/csv"
	"fmt"
	"io"
	"path/filepath"
	"strconv"

	"assay/check"
	"assay/internal/quantity"
	"assay/report"
)

// Runs has a line for each run: machine, throughput, response times and size on disk.
func Runs(groups []Group) report.Document {
	whole := all(groups)
	d := report.Document{Title: check.Counted(int64(len(whole.Runs)), "run", "runs")}
	speed := report.Table{Title: "Throughput", Head: []string{"run", "database", "clients", "rows", "committed", "per second"}, Words: []int{1}}
	nodes := report.Table{Title: "Machines of the database", Head: []string{"run", "nodes", "shards", "replicas", "vCPU each", "RAM each", "disk each"}}
	times := report.Table{Title: "Response time", Head: []string{"run", "mean", "p50", "p95", "p99", "max"}}
	sizes := report.Table{Title: "Size on disk", Head: []string{"run", "rows", "tables", "indexes", "all"}}
	ends := report.Table{Title: "Verdicts", Head: []string{"run", "verdict", "measurement", "exit"}, Words: []int{1, 2}}
	work := newWorkTables()
	i := 0
	for _, g := range groups {
		for _, r := range g.Runs {
			i++
			x, name := r.Result, fmt.Sprintf("%d %s", i, r.Result.Workload)
			b := &x.Database
			speed.Rows = append(speed.Rows, []string{name, b.Product + " " + b.Version, strconv.Itoa(x.Load.Clients), check.Count(x.Loading.Rows), check.Count(x.Measured.Committed), believed(x, quantity.Figure(x.Throughput.PerSecond))})
			nodes.Rows = append(nodes.Rows, []string{name, quantity.Known(b.Nodes, strconv.Itoa), quantity.Known(b.Shards, strconv.Itoa), quantity.Known(b.Replicas, strconv.Itoa),
				quantity.Known(b.CPUsPerNode, quantity.Short), quantity.Known(b.MemoryPerNode, quantity.Memory), quantity.Known(b.DiskPerNode, quantity.Memory)})
			times.Rows = append(times.Rows, append([]string{name}, responseTimes(x)...))
			sizes.Rows = append(sizes.Rows, []string{name, check.Count(rows(x)), quantity.Bytes(x.Data.Tables), quantity.Bytes(x.Data.Indexes), quantity.Bytes(x.Data.Bytes)})
			ends.Rows = append(ends.Rows, []string{name, x.Verdict.String(), x.Measurement.Verdict, strconv.Itoa(report.ExitOf(x).Code)})
			work.add(name, x)
			d.Notes = append(d.Notes, fmt.Sprintf("%d: %s, of %s", i, r.Folder, g.Name))
		}
	}
	d.Tables = append([]report.Table{speed, nodes, times, sizes, ends}, work.tables()...)
	return d
}

func believed(x *report.Result, figure string) string {
	if x.Measurement.Invalid() {
		return report.Doubtful(figure)
	}
	return figure
}

func responseTimes(x *report.Result) []string {
	var cells []string
	l := &x.Latency
	for _, ms := range []float64{l.Mean, l.P50, l.P95, l.P99, l.Max} {
		if l.Count == 0 {
			cells = append(cells, quantity.None)
		} else {
			cells = append(cells, believed(x, quantity.Milliseconds(ms)))
		}
	}
	return cells
}

func rows(r *report.Result) int64 { return report.RowsOf(r.Data.Rows) }

// RunsCSV writes plain numbers, with units in the first line. Unknown figures are empty.
func RunsCSV(w io.Writer, groups []Group) error {
	head := []string{"folder", "workload", "product", "version", "verdict", "measurement", "exit", "seed", "clients", "nodes", "loaded_rows", "committed", "rejected", "failed", "unknown"}
	columns := metrics()
	for _, m := range columns {
		head = append(head, m.name+" "+m.unit)
	}
	lines := [][]string{append(head, "configuration")}
	for _, g := range groups {
		for _, r := range g.Runs {
			lines = append(lines, append(plainRun(r, columns), g.Name))
		}
	}
	if err := csv.NewWriter(w).WriteAll(lines); err != nil {
		return fmt.Errorf("write the runs: %w", err)
	}
	return nil
}

func plainRun(r Run, columns []metric) []string {
	x := r.Result
	nodes := ""
	if x.Database.Nodes != nil {
		nodes = strconv.Itoa(*x.Database.Nodes)
	}
	line := []string{filepath.ToSlash(r.Folder), x.Workload, x.Database.Product, x.Database.Version, x.Verdict.String(), x.Measurement.Verdict, strconv.Itoa(report.ExitOf(x).Code),
		strconv.FormatUint(x.Seed, 10), strconv.Itoa(x.Load.Clients), nodes, strconv.FormatInt(x.Loading.Rows, 10)}
	for _, n := range []int64{x.Measured.Committed, x.Measured.Rejected, x.Measured.Failed, x.Measured.Unknown} {
		line = append(line, strconv.FormatInt(n, 10))
	}
	for _, m := range columns {
		cell := ""
		if v, ok := m.of(x); ok {
			cell = strconv.FormatFloat(v, 'g', 10, 64)
		}
		line = append(line, cell)
	}
	return line
}
