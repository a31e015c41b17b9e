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
	// From and To enclose the measured part, in seconds since the start of the run.
	// Faults are left out when the limit is looked for; nothing is as usual then.
	From, To float64
	Faults   [][2]float64
	// OpenLoop is whether arrivals come at a rate; Unserved arrivals found no client.
	OpenLoop bool
	Unserved int64
	Clients  int
	// TesterShare is assay's use of its TesterCPUs, 0 to 1; negative if not known.
	TesterShare float64
	TesterCPUs  int
	// Embedded is the database if it runs inside assay, else empty.
	Embedded string
	// Machine is what worked on assay's machine; nil if that is not known.
	Machine *Machine
}

// Machine is what worked on assay's machine, as shares of all its processors.
type Machine struct {
	CPUs                           int
	Tester, Servers, Others, Steal float64
}

// Limit is what kept the throughput from being higher.
type Limit struct {
	// Kind is one of the constants below.
	Kind string `json:"kind"`
	// Text says it in one sentence, with the figure that shows it.
	Text string `json:"text"`
	// Figure is that figure, a share of 1; nil where there is none.
	Figure *float64 `json:"figure,omitempty"`
}

// The kinds of limits.
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

// The rules follow the USE method (B. Gregg, "Thinking Methodically about
// Performance", ACM Queue 10/12, 2012; brendangregg.com/usemethod.html): of each
// resource its utilization and its saturation are looked at. A resource that is busy
// all the time is a limit; below 60 to 70 % it mostly is none, and in between queues
// may build up within a second without that the mean over the second shows it. So a
// limit is named from 90 % on, and its absence below 70 %, with nothing said between.
// For locks, which have no utilization, it is who waits (K. Kant, "Introduction to
// Computer System Performance Evaluation", 1992, chapter 2: in a closed system the
// clients queue at the bottleneck): a limit if most of the sessions at work do.
const (
	busy = 0.9
	idle = 0.7
	// mostWait is the share of sessions from which on what they wait for is the
	// limit, and fewWait that below which it is none.
	mostWait = 0.5
	fewWait  = 0.25
	// enough is the least number of intervals, and enoughSessions the least number of sessions
	// seen at work in all of them.
	enough         = 5
	enoughSessions = 20
	// muchSteal is what a host takes away that makes utilizations meaningless.
	muchSteal = 0.1
)

// evidence collects what was found.
type evidence struct {
	found []Limit
	// seen are the figures for when nothing is clear; known is true if it would have
	// been seen that no resource is busy, and all are idle.
	seen        []string
	known, idle bool
}

func (e *evidence) limit(kind string, figure float64, text string) {
	e.found = append(e.found, Limit{Kind: kind, Text: text, Figure: &figure})
}

// consider takes a share: a limit from most on, and none below least.
func (e *evidence) consider(kind string, share, least, most float64, text, figure string) {
	e.seen = append(e.seen, figure)
	if share >= most {
		e.limit(kind, share, text)
	}
	e.idle = e.idle && share < least
}

// limit says what the limit was, if the evidence is clear.
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

// nodes looks at each server's processor and disk.
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

// machine looks at processors that are shared by all.
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

// waits looks at what sessions waited for.
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

// conclude names the only limit that was found, or says that there was none.
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
