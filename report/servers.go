package report

import (
	"cmp"
	"fmt"
	"math"
	"strconv"

	"assay/check"
	"assay/internal/quantity"
	"assay/measure/servers"
)

// ServerCharts show the servers. At is where intervals end, in seconds since the run's start.
type ServerCharts struct {
	At     []float64
	Charts []servers.Chart
}

// drawn lays the charts out over the whole run, even if the first or the last look is missing.
// Figures that are always 0 are only in the table.
func (s ServerCharts) drawn(c course) (shown []DrawnChart, f Figures) {
	var charts []LineChart
	for _, of := range s.Charts {
		up := map[string]string{"share": "in use", "/s": "per second", "": "number"}[of.Unit]
		chart := LineChart{Title: of.Title, Across: sinceStart, Up: cmp.Or(up, of.Unit), Low: true, Bands: c.bands,
			Format: func(v float64) string { return serverFigure(v, of.Unit) }}
		for _, l := range of.Lines {
			line := ChartLine{Name: l.Name, Head: of.Title + ": " + l.Name, Points: [][2]float64{{0, math.NaN()}}}
			for i, at := range s.At {
				line.Points = append(line.Points, [2]float64{at, l.Values[i]})
			}
			line.Points = append(line.Points, [2]float64{c.axis, math.NaN()})
			chart.Lines = append(chart.Lines, line)
		}
		charts = append(charts, chart)
	}
	all, f := drawTogether("looks", "What the servers were doing, over time", charts)
	for i := range all {
		if !s.Charts[i].Nothing() {
			shown = append(shown, all[i])
		}
	}
	return shown, f
}

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

func knownFigure(v *float64, unit string) string {
	if v == nil {
		return none
	}
	return serverFigure(*v, unit)
}

// nodeTables are of processors and memory, and of disks and networks.
func nodeTables(s *servers.Summary) []Table {
	inside := Table{Title: "Servers and tester over the measured part", Head: []string{"node", "processors", "in use, median", "in use, most", "memory, most", "threads, most", "seen"}}
	outside := Table{Title: "Their disks and networks over the measured part", Head: []string{"node", "written to disk", "read from disk", "network in", "network out"}}
	for _, n := range s.Nodes {
		cpus := short(n.CPUs)
		if n.Shared {
			cpus += ", shared"
		}
		inside.Rows = append(inside.Rows, []string{n.Name, cpus, knownFigure(n.CPUMedian, "share"), knownFigure(n.CPUMax, "share"),
			knownFigure(n.MemoryMax, "bytes"), knownFigure(n.ThreadsMax, ""), fmt.Sprintf("%d of %d", n.Samples, n.Of)})
		outside.Rows = append(outside.Rows, []string{n.Name, knownFigure(n.Written, "bytes/s"), knownFigure(n.Read, "bytes/s"),
			knownFigure(n.Received, "bytes/s"), knownFigure(n.Sent, "bytes/s")})
	}
	return []Table{inside, outside}
}

func accountTable(s *servers.Summary) Table {
	t := Table{Title: "The database's own account over the measured part", Head: []string{"figure", "median", "mean", "most"}}
	for _, f := range s.Account {
		t.Rows = append(t.Rows, []string{f.Chart + ": " + f.Name, serverFigure(f.Median, f.Unit), serverFigure(f.Mean, f.Unit), serverFigure(f.Max, f.Unit)})
	}
	return t
}

func serverReasons(s *servers.Summary) (reasons []string) {
	if s.Waits != "" {
		reasons = append(reasons, s.Waits)
	}
	for _, g := range s.Growth {
		reasons = append(reasons, sentence(g.Text())+".")
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

func nodeLine(n *servers.NodeSummary) string {
	cpus := check.Counted(int64(n.CPUs), "processor", "processors")
	if n.CPUs != math.Trunc(n.CPUs) {
		cpus = short(n.CPUs) + " processors"
	}
	memory := ""
	if n.MemoryMax != nil {
		memory = "memory " + unbroken(quantity.Memory(int64(*n.MemoryMax)))
	}
	return n.Name + ": " + Joined(", ", fmt.Sprintf("%s of %s in use in the median second", knownFigure(n.CPUMedian, "share"), cpus), memory,
		when(n.Written != nil, knownFigure(n.Written, "bytes/s")+" written to disk"),
		when(n.Sent != nil, knownFigure(n.Sent, "bytes/s")+" sent"),
		when(n.Samples < n.Of, fmt.Sprintf("not seen in %d of %d", n.Of-n.Samples, n.Of)))
}

func (t *textWriter) growth(r *Result) {
	for i := 0; r.Servers != nil && i < len(r.Servers.Growth); i++ {
		t.field(when(i == 0, "growth"), r.Servers.Growth[i].Text())
	}
}

// servers writes a line a node, and the limit. An embedded database needs a clear limit for it.
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
	t.growth(r)
	t.field("waits", s.Waits)
}
