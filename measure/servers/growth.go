package servers

import (
	"fmt"
	"math"
	"strings"

	"assay/internal/quantity"
	"assay/measure"
)

// Growth is steady growth over the measured part, in bytes a second: of a node's files or memory,
// or of the files of all nodes on a shared disk.
type Growth struct {
	Node      string  `json:"node"`
	What      string  `json:"what"` // GrowthFiles or GrowthMemory
	PerSecond float64 `json:"bytes_per_second"`
	Low       float64 `json:"low"`
	High      float64 `json:"high"`
	// Left is how many bytes remain until the disk is full or the node's memory limit is reached;
	// 0 without a limit.
	Left float64 `json:"bytes_left,omitempty"`
}

const (
	GrowthFiles  = "files"
	GrowthMemory = "memory"
)

const allNodes = "all nodes"

const (
	// leastForecast is the shortest measured part, in seconds, that allows a forecast.
	leastForecast = 300.0
	// growthParts is the number of parts of a run. The growths between neighbours count as repeated
	// measurements.
	growthParts = 12
	// leastShare is the smallest growth reported, as a share of the initial value.
	leastShare = 0.01
)

func (r *Record) growths(c Conditions) (all []Growth) {
	if c.To-c.From < leastForecast {
		return nil
	}
	add := func(node, what string, left float64, of func(*Sample) (float64, bool)) {
		if g, is := r.steady(c, of); is {
			g.Node, g.What, g.Left = node, what, left
			all = append(all, g)
		}
	}
	shared, free := []string{}, 0.0
	for _, n := range r.Nodes {
		switch last := r.last(n.Name); {
		case n.Tester || last.Files == 0:
		case n.OwnDisk:
			add(n.Name, GrowthFiles, float64(last.Free), r.filesOf(n.Name))
		default:
			shared, free = append(shared, n.Name), float64(last.Free)
		}
	}
	if len(shared) == 1 {
		add(shared[0], GrowthFiles, free, r.filesOf(shared...))
	} else if len(shared) > 1 {
		add(allNodes, GrowthFiles, free, r.filesOf(shared...))
	}
	for _, n := range r.Nodes {
		left := max(float64(n.MemoryLimit-r.last(n.Name).Memory), 0)
		add(n.Name, GrowthMemory, left, func(s *Sample) (float64, bool) {
			u, there := s.Nodes[n.Name]
			return float64(u.Memory), there
		})
	}
	return all
}

func (r *Record) last(node string) (u Usage) {
	for i := range r.Samples {
		if seen, there := r.Samples[i].Nodes[node]; there {
			if seen.Files == 0 {
				seen.Files, seen.Free = u.Files, u.Free
			}
			u = seen
		}
	}
	return u
}

// filesOf adds up the files of nodes. The sum is unknown if a node was not seen.
func (r *Record) filesOf(nodes ...string) func(*Sample) (float64, bool) {
	return func(s *Sample) (sum float64, known bool) {
		for _, name := range nodes {
			u := s.Nodes[name]
			if u.Files == 0 {
				return 0, false
			}
			sum += float64(u.Files)
		}
		return sum, true
	}
}

// steady is the growth of a figure, if it certainly grows. It compares the means of the parts:
// rising and falling within a part counts little, and a fall between two makes growth uncertain.
func (r *Record) steady(c Conditions, of func(*Sample) (float64, bool)) (Growth, bool) {
	length := (c.To - c.From) / growthParts
	var sums, counts [growthParts]float64
	for i := range r.Samples {
		s := &r.Samples[i]
		value, known := of(s)
		part := int(math.Floor((s.At - c.From) / length))
		if known && part >= 0 && part < growthParts {
			sums[part], counts[part] = sums[part]+value, counts[part]+1
		}
	}
	var steps []float64
	for i := range growthParts {
		if counts[i] == 0 {
			return Growth{}, false
		}
		if i > 0 {
			steps = append(steps, (sums[i]/counts[i]-sums[i-1]/counts[i-1])/length)
		}
	}
	mean, interval := measure.OfRepeats(steps)
	if interval == nil || interval.Low <= 0 || mean*(c.To-c.From) < leastShare*sums[0]/counts[0] {
		return Growth{}, false
	}
	return Growth{PerSecond: mean, Low: interval.Low, High: interval.High}, true
}

// Text describes the growth, and when nothing will be left.
func (g Growth) Text() string {
	rate := func(v float64) string { return quantity.Bytes(int64(v)) + "/s" }
	text := fmt.Sprintf("the %s of %s grow by %s (%s to %s)", g.What, g.Node, rate(g.PerSecond), rate(g.Low), rate(g.High))
	end := "the disk is full"
	if g.What == GrowthMemory {
		text, end = strings.Replace(text, " grow by", " grows by", 1), "its limit is reached"
	}
	if g.Left <= 0 {
		return text
	}
	return fmt.Sprintf("%s: %s in %s at this rate (%s to %s)", text, end, span(g.Left/g.PerSecond), span(g.Left/g.High), span(g.Left/g.Low))
}

// span is a time in the largest unit that gives more than two.
func span(seconds float64) string {
	for _, unit := range []struct {
		name    string
		seconds float64
	}{{"days", 86400}, {"hours", 3600}, {"minutes", 60}} {
		if seconds >= 2*unit.seconds {
			return quantity.Grouped(fmt.Sprintf("%.0f", seconds/unit.seconds)) + " " + unit.name
		}
	}
	return quantity.Seconds(seconds)
}
