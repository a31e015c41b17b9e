package servers

import (
	"fmt"
	"slices"
	"strings"

	"assay/internal/quantity"
	"assay/store"
)

// Conditions are what is known of a run beside the record.
type Conditions struct {
	// From and To bound the measured part, in seconds since the start of the run. The search for
	// the limit leaves out Faults.
	From, To float64
	Faults   [][2]float64
	// OpenLoop has arrivals at a rate. Unserved arrivals found no client.
	OpenLoop bool
	Unserved int64
	Clients  int
	// TesterShare is assay's use of its TesterCPUs, 0 to 1; negative if unknown.
	TesterShare float64
	TesterCPUs  int
	// Embedded names the database if it runs inside assay; otherwise empty.
	Embedded string
	Machine  *Machine
}

// Machine is the work on assay's machine, in shares of all its processors.
type Machine struct {
	CPUs                           int
	Tester, Servers, Others, Steal float64
}

// Limit is what kept the throughput from being higher.
type Limit struct {
	Kind string `json:"kind"`
	// Text is one sentence with the figure that shows the limit.
	Text string `json:"text"`
	// Figure is that figure, a share of 1; nil if there is none.
	Figure *float64 `json:"figure,omitempty"`
}

const (
	LimitTester      = "tester"
	LimitProcessor   = "processor"
	LimitMachine     = "machine"
	LimitDisk        = "disk"
	LimitLocks       = "locks"
	LimitReplication = "replication"
	LimitLoad        = "load"
	LimitUnclear     = "not clear"
)

// The rules follow the USE method: the utilization and saturation of each resource (B. Gregg,
// "Thinking Methodically about Performance", ACM Queue 10/12, 2012;
// brendangregg.com/usemethod.html). A resource that is always busy is a limit. Below 60 to 70 % it
// mostly is none. Between, queues may build up within a second unseen by its mean. So a limit is
// named from 90 % on, and excluded below 70 %. Locks have no utilization: they are the limit if
// most working sessions wait for them (K. Kant, "Introduction to Computer System Performance
// Evaluation", 1992, chapter 2: clients of a closed system queue at the bottleneck).
const (
	busy = 0.9
	idle = 0.7
	// mostWait is the share of sessions from which their wait is the limit. Below fewWait it is
	// none.
	mostWait = 0.5
	fewWait  = 0.25
	// enough is the fewest intervals, enoughSessions the fewest working sessions seen in total.
	enough         = 5
	enoughSessions = 20
	// muchSteal is the host's share at which utilizations mean nothing.
	muchSteal = 0.1
)

type evidence struct {
	found []Limit
	// seen are the figures to show if nothing is clear. known means that a busy resource would
	// have been seen, idle that all are idle.
	seen        []string
	known, idle bool
}

func (e *evidence) limit(kind string, figure float64, text string) {
	e.found = append(e.found, Limit{Kind: kind, Text: text, Figure: &figure})
}

func (e *evidence) consider(kind string, share, least, most float64, text, figure string) {
	e.seen = append(e.seen, figure)
	if share >= most {
		e.limit(kind, share, text)
	}
	e.idle = e.idle && share < least
}

func (r *Record) limit(c Conditions) Limit {
	e := &evidence{known: true, idle: true}
	if c.TesterShare >= busy {
		text := fmt.Sprintf("the tester itself: %s of its %s", percent(c.TesterShare), processors(float64(c.TesterCPUs)))
		if c.Embedded != "" {
			text = fmt.Sprintf("the processor: assay, in which %s runs, used %s of %s", c.Embedded, percent(c.TesterShare), processors(float64(c.TesterCPUs)))
		}
		return Limit{Kind: LimitTester, Text: "The limit was most likely " + text + ".", Figure: &c.TesterShare}
	}
	if c.TesterShare >= 0 {
		e.seen = append(e.seen, fmt.Sprintf("assay used %s of %s", percent(c.TesterShare), processors(float64(c.TesterCPUs))))
	}
	e.idle = e.idle && c.TesterShare >= 0 && c.TesterShare < idle
	if m := c.Machine; m != nil && m.Steal >= muchSteal {
		return e.unclear(fmt.Sprintf("the host of this machine gave %s of its processors to others", percent(m.Steal)))
	}
	chosen := r.intervalsWithin(c.From, c.To, c.Faults)
	if n := count(chosen); n < enough {
		where := "in the measured part"
		if len(c.Faults) > 0 {
			where += " outside of faults"
		}
		return e.unclear(fmt.Sprintf("intervals %s: %d, and %d are needed", where, n, enough))
	}
	r.nodes(e, chosen)
	if c.Machine != nil {
		e.machine(c.Machine, r.Nodes)
	}
	r.waits(e, chosen)
	return e.conclude(c)
}

func (r *Record) nodes(e *evidence, chosen []bool) {
	servers := 0
	for _, n := range r.Nodes {
		if n.Tester {
			continue
		}
		servers++
		cpu := selected(r.cpu(n), chosen)
		if len(cpu) < enough {
			e.known = false
			continue
		}
		share := quantity.Median(cpu)
		figure := fmt.Sprintf("%s used %s of %s", n.Name, percent(share), processors(n.CPUs))
		e.consider(LimitProcessor, share, idle, busy,
			fmt.Sprintf("the processor of %s: %s of its %s in the median second", n.Name, percent(share), processors(n.CPUs)), figure)
		if written := selected(r.written(n), chosen); n.DiskWriteLimit > 0 && len(written) >= enough {
			share := quantity.Median(written) / float64(n.DiskWriteLimit)
			e.consider(LimitDisk, share, idle, busy, fmt.Sprintf("the disk of %s: it wrote %s of what it may in the median second", n.Name, percent(share)),
				fmt.Sprintf("%s wrote %s of what it may to disk", n.Name, percent(share)))
		}
	}
	e.known = e.known && servers > 0
}

func (e *evidence) machine(m *Machine, nodes []Node) {
	shared := slices.ContainsFunc(nodes, func(n Node) bool { return n.Shared && !n.Tester })
	all := m.Tester + m.Servers + m.Others
	if !shared || slices.ContainsFunc(e.found, func(l Limit) bool { return l.Kind == LimitProcessor }) {
		return
	}
	text := fmt.Sprintf("the processors of the machine that assay and the servers share: servers %s, assay %s, others %s of %s",
		percent(m.Servers), percent(m.Tester), percent(m.Others), processors(float64(m.CPUs)))
	e.consider(LimitMachine, all, idle, busy, text, fmt.Sprintf("all together %s of the machine", percent(all)))
}

func (r *Record) waits(e *evidence, chosen []bool) {
	shares, known := r.waited(chosen)
	e.known = e.known && known
	for _, w := range shares {
		text := fmt.Sprintf("%s of the sampled sessions at work waited for %s", percent(w.share), w.what)
		e.consider(w.kind, w.share, fewWait, mostWait, w.limit+": "+text, text)
	}
	if paused, told := r.meaning(store.Paused); told {
		if values := selected(paused, chosen); len(values) >= enough {
			share := mean(values)
			text := fmt.Sprintf("flow control held writers back for %s of the time", percent(share))
			e.consider(LimitReplication, share, fewWait, mostWait, "replication: "+text, text)
		}
	}
}

// conclude names the only limit found, or says that there was none.
func (e *evidence) conclude(c Conditions) Limit {
	switch {
	case len(e.found) == 1:
		l := e.found[0]
		l.Text = "The limit was most likely " + l.Text + "."
		return l
	case len(e.found) > 1:
		return e.unclear("more than one thing was at its limit")
	case !e.known || !e.idle:
		return e.unclear("")
	case c.OpenLoop && c.Unserved == 0:
		return Limit{Kind: LimitLoad, Text: "No limit seen: all arrivals were served, and " + listed(e.seen) + ". A higher rate may be served too."}
	case c.OpenLoop:
		return e.unclear("")
	}
	clients := "clients"
	if c.Clients == 1 {
		clients = "client"
	}
	return Limit{Kind: LimitLoad, Text: fmt.Sprintf("No limit seen: a closed loop of %d %s, and %s. More clients may give more.", c.Clients, clients, listed(e.seen))}
}

func (e *evidence) unclear(why string) Limit {
	text := "What the limit was is not clear"
	if why != "" {
		text += ": " + why
	}
	if len(e.seen) > 0 {
		text += "; " + listed(e.seen)
	}
	return Limit{Kind: LimitUnclear, Text: text + "."}
}

func listed(texts []string) string { return strings.Join(texts, ", ") }

func count(chosen []bool) (n int) {
	for _, in := range chosen {
		if in {
			n++
		}
	}
	return n
}

func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }

func processors(n float64) string {
	if n == 1 {
		return "1 processor"
	}
	return fmt.Sprintf("%g processors", n)
}
