package servers

import (
	"fmt"
	"math"
	"strings"

	"assay/internal/quantity"
	"assay/measure"
)

// Growth is what grew steadily over the measured part, in bytes a second: the files or the memory of
// a node, or the files of all nodes that share a disk.
type Growth struct {
	Node      string  `json:"node"`
	What      string  `json:"what"` // GrowthFiles or GrowthMemory
	PerSecond float64 `json:"bytes_per_second"`
	Low       float64 `json:"low"`
	High      float64 `json:"high"`
	// Left is how many bytes there are until the disk is full, or the node's limit of memory is
	// reached; 0 where there is no limit.
	Left float64 `json:"bytes_left,omitempty"`
}

// What grows.
const (
	GrowthFiles  = "files"
	GrowthMemory = "memory"
)

// allNodes is who has the files on a disk that nodes share.
const allNodes = "all nodes"

const (
	// leastForecast is how long must be measured before anything is said of the time after.
	leastForecast = 300.0
	// growthParts is in how many parts a run is cut: each pair of neighbours has a growth of its own,
	// which are taken for measurements of one thing.
	growthParts = 12
	// leastShare is the least growth that is told, of what was there.
	leastShare = 0.01
)

// growths are what grew, the files first.
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

// last is what was seen of a node at last.
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

// filesOf adds up the files of nodes; it is not known where one is not seen.
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

// steady is the growth of a figure, if it certainly grows: the means of the parts are compared, so that
// what rises and falls within a part counts for little, and a fall between two makes it uncertain.
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

// Text says it, and when there is nothing left at this rate.
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

// span is a long time in the largest unit that it has more than two of.
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
