package servers

import (
	"math"
	"slices"

	"assay/store"
)

// Chart is lines over the time of the run, with one unit.
type Chart struct {
	Title string
	// Unit is "share" (of 1), "bytes", "bytes/s", "s", "%", "/s" or empty.
	Unit  string
	Lines []Line
}

// Line has a value for each of the record's intervals; NaN if unknown.
type Line struct {
	Name   string
	Values []float64
}

// Nothing reports whether all known values are 0.
func (c Chart) Nothing() bool {
	return !slices.ContainsFunc(c.Lines, func(l Line) bool {
		return slices.ContainsFunc(l.Values, func(v float64) bool { return !math.IsNaN(v) && v != 0 })
	})
}

// Intervals are the ends of the intervals between samples, in seconds since the start of the run.
// Growth is seen at the end of an interval.
func (r *Record) Intervals() []float64 {
	var at []float64
	for i := 1; i < len(r.Samples); i++ {
		at = append(at, r.Samples[i].At)
	}
	return at
}

func (r *Record) values(of func(before, now *Sample) (float64, bool)) []float64 {
	all := make([]float64, max(len(r.Samples)-1, 0))
	for i := range all {
		value, known := of(&r.Samples[i], &r.Samples[i+1])
		if all[i] = value; !known {
			all[i] = math.NaN()
		}
	}
	return all
}

// growth is a counter's growth a second. It is unknown if the server was restarted meanwhile.
func (r *Record) growth(node string, counter func(Usage) (float64, bool)) []float64 {
	return r.values(func(before, now *Sample) (float64, bool) {
		first, there := before.Nodes[node]
		last, still := now.Nodes[node]
		from, known := counter(first)
		to, too := counter(last)
		if !there || !still || !known || !too || to < from || now.At <= before.At {
			return 0, false
		}
		return (to - from) / (now.At - before.At), true
	})
}

func (r *Record) cpu(n Node) []float64 {
	all := r.growth(n.Name, func(u Usage) (float64, bool) { return u.CPU, n.CPUs > 0 })
	for i := range all {
		all[i] /= n.CPUs
	}
	return all
}

func (r *Record) memory(n Node) []float64 {
	return r.values(func(_, now *Sample) (float64, bool) {
		u, there := now.Nodes[n.Name]
		return float64(u.Memory), there
	})
}

func (r *Record) threads(n Node) []float64 {
	return r.values(func(_, now *Sample) (float64, bool) {
		u := now.Nodes[n.Name]
		return float64(u.Threads), u.Threads > 0
	})
}

// written, read, received and sent are in bytes a second.
func (r *Record) written(n Node) []float64 {
	return r.growth(n.Name, func(u Usage) (float64, bool) { return float64(u.Written), true })
}

func (r *Record) read(n Node) []float64 {
	return r.growth(n.Name, func(u Usage) (float64, bool) { return float64(u.Read), true })
}

func (r *Record) received(n Node) []float64 {
	return r.growth(n.Name, func(u Usage) (float64, bool) { return known(u.Received) })
}

func (r *Record) sent(n Node) []float64 {
	return r.growth(n.Name, func(u Usage) (float64, bool) { return known(u.Sent) })
}

func known(n *int64) (float64, bool) {
	if n == nil {
		return 0, false
	}
	return float64(*n), true
}

// figure is a figure of the database's statistics: its value or, for a counter, its growth a second
// by the server's own time. It is unknown if another server answered meanwhile.
func (r *Record) figure(s store.Statistic) []float64 {
	return r.values(func(before, now *Sample) (float64, bool) {
		if now.Account == nil {
			return 0, false
		}
		value, there := now.Account.Values[s.Name]
		if !s.Counter || !there {
			return value, there
		}
		if before.Account == nil || before.Account.Server != now.Account.Server || now.Account.At <= before.Account.At {
			return 0, false
		}
		from, was := before.Account.Values[s.Name]
		return (value - from) / (now.Account.At - before.Account.At), was && value >= from
	})
}

// Charts are the charts of nodes and statistics. Lines without known values and charts without
// lines are left out.
func (r *Record) Charts() []Chart {
	all := []Chart{
		{Title: "Processors in use, of those that each may use", Unit: "share"}, {Title: "Memory", Unit: "bytes"}, {Title: "Threads"},
		{Title: "Written to disk", Unit: "bytes/s"}, {Title: "Read from disk", Unit: "bytes/s"},
		{Title: "Network, received", Unit: "bytes/s"}, {Title: "Network, sent", Unit: "bytes/s"},
	}
	for _, n := range r.Nodes {
		for i, values := range [][]float64{r.cpu(n), r.memory(n), r.threads(n), r.written(n), r.read(n), r.received(n), r.sent(n)} {
			all[i].Lines = append(all[i].Lines, Line{Name: n.Name, Values: values})
		}
	}
	first := len(all)
	for _, s := range r.Statistics {
		at := slices.IndexFunc(all[first:], func(c Chart) bool { return c.Title == s.Chart })
		if at < 0 {
			at = len(all) - first
			all = append(all, Chart{Title: s.Chart, Unit: unitOf(s)})
		}
		all[first+at].Lines = append(all[first+at].Lines, Line{Name: s.Name, Values: r.figure(s)})
	}
	for i := range all {
		all[i].Lines = slices.DeleteFunc(all[i].Lines, func(l Line) bool { return len(knownOf(l.Values)) == 0 })
	}
	return slices.DeleteFunc(all, func(c Chart) bool { return len(c.Lines) == 0 })
}

// unitOf is the unit drawn. Seconds a second are a number.
func unitOf(s store.Statistic) string {
	switch {
	case s.Means == store.Paused:
		return "share"
	case !s.Counter:
		return s.Unit
	case s.Means != "" || s.Unit == "s":
		return ""
	}
	return s.Unit + "/s"
}

func knownOf(values []float64) []float64 {
	return slices.DeleteFunc(slices.Clone(values), math.IsNaN)
}
