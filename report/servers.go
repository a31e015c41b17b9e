package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"assay/check"
	"assay/internal/quantity"
	"assay/measure/servers"
)

// ServerCharts are what the servers were doing over the time of a run. At is where
// the intervals end, in seconds since its start.
type ServerCharts struct {
	At     []float64       `json:"at"`
	Charts []servers.Chart `json:"charts"`
}

// drawn is nil where there is nothing to draw. Figures that are 0 all the time stand in
// the tables alone.
func (s ServerCharts) drawn() *ServerCharts {
	if len(s.At) == 0 || len(s.Charts) == 0 {
		return nil
	}
	return &ServerCharts{s.At, slices.DeleteFunc(slices.Clone(s.Charts), servers.Chart.Nothing)}
}

// Table holds the figures of the charts.
func (s ServerCharts) Table() Table {
	t := Table{Title: "What the servers were doing, over time", Head: []string{"until"}}
	for _, c := range s.Charts {
		for _, l := range c.Lines {
			t.Head = append(t.Head, c.Title+": "+l.Name)
		}
	}
	for i, at := range s.At {
		row := []string{seconds(at)}
		for _, c := range s.Charts {
			for _, l := range c.Lines {
				row = append(row, serverFigure(l.Values[i], c.Unit))
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// serverFigure writes a value in a chart's unit.
func serverFigure(v float64, unit string) string {
	switch {
	case math.IsNaN(v):
		return none
	case unit == "share":
		return strconv.FormatFloat(100*v, 'f', 1, 64) + nbsp + "%"
	case unit == "bytes":
		return size(int64(v))
	case unit == "bytes/s":
		return size(int64(v)) + "/s"
	case unit == "s":
		return seconds(v)
	}
	return short(v) + unit
}

// knownFigure writes a value that may not be known.
func knownFigure(v *float64, unit string) string {
	if v == nil {
		return none
	}
	return serverFigure(*v, unit)
}

// nodeTable shows what each node used over the measured part.
func nodeTable(s *servers.Summary) Table {
	t := Table{Title: "Servers and tester over the measured part", Head: []string{"node", "processors", "in use, median", "in use, most",
		"memory, most", "written to disk", "read from disk", "network in", "network out", "seen"}}
	for _, n := range s.Nodes {
		cpus := short(n.CPUs)
		if n.Shared {
			cpus += ", shared"
		}
		t.Rows = append(t.Rows, []string{n.Name, cpus, knownFigure(n.CPUMedian, "share"), knownFigure(n.CPUMax, "share"),
			knownFigure(n.MemoryMax, "bytes"), knownFigure(n.Written, "bytes/s"), knownFigure(n.Read, "bytes/s"),
			knownFigure(n.Received, "bytes/s"), knownFigure(n.Sent, "bytes/s"), fmt.Sprintf("%d of %d", n.Samples, n.Of)})
	}
	return t
}

// accountTable shows the database's own account over the measured part.
func accountTable(s *servers.Summary) Table {
	t := Table{Title: "The database's own account over the measured part", Head: []string{"figure", "median", "mean", "most"}}
	for _, f := range s.Account {
		t.Rows = append(t.Rows, []string{f.Chart + ": " + f.Name, serverFigure(f.Median, f.Unit), serverFigure(f.Mean, f.Unit), serverFigure(f.Max, f.Unit)})
	}
	return t
}

// serverReasons says what transactions waited for, and what is not known of the servers, and why.
func serverReasons(s *servers.Summary) (reasons []string) {
	if s.Waits != "" {
		reasons = append(reasons, s.Waits)
	}
	if s.NoNodes != "" {
		reasons = append(reasons, "What the servers used of their machines is not known: "+s.NoNodes+".")
	}
	if s.NoAccount != "" {
		reasons = append(reasons, "There is no account of the database's own: "+s.NoAccount+".")
	}
	if s.Missed > 0 {
		text := fmt.Sprintf("The database's account is missing of %d of %s", s.Missed, check.Counted(int64(s.Looks), "look", "looks"))
		if s.Problem != "" {
			text += "; the last reason: " + s.Problem
		}
		reasons = append(reasons, text+".")
	}
	return reasons
}

// nodeLine is a node in the terminal's summary.
func nodeLine(n *servers.NodeSummary) string {
	cpus := check.Counted(int64(n.CPUs), "processor", "processors")
	if n.CPUs != math.Trunc(n.CPUs) {
		cpus = short(n.CPUs) + " processors"
	}
	memory := ""
	if n.MemoryMax != nil {
		memory = "memory " + unbroken(quantity.Memory(int64(*n.MemoryMax)))
	}
	return n.Name + ": " + joined(", ", fmt.Sprintf("%s of %s in use in the median second", knownFigure(n.CPUMedian, "share"), cpus), memory,
		when(n.Written != nil, knownFigure(n.Written, "bytes/s")+" written to disk"),
		when(n.Sent != nil, knownFigure(n.Sent, "bytes/s")+" sent"),
		when(n.Samples < n.Of, fmt.Sprintf("not seen in %d of %d", n.Of-n.Samples, n.Of)))
}

// servers writes a line a node, and what the limit was. Of a database inside of assay,
// whose use is the tester's, only a limit that is clear is worth a line.
func (t *textWriter) servers(r *Result) {
	s := r.Servers
	if s == nil {
		return
	}
	label, others := "servers", false
	for i := range s.Nodes {
		if !s.Nodes[i].Tester && s.Nodes[i].Samples > 0 {
			t.field(label, nodeLine(&s.Nodes[i]))
			label, others = "", true
		}
	}
	if others || s.Limit.Kind != servers.LimitUnclear {
		t.field("limit", s.Limit.Text)
	}
	if s.Waits != "" {
		t.field("waits", s.Waits)
	}
}
